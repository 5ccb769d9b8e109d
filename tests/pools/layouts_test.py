"""What BlockPool makes of tensors: regions, or an error that names the tensor."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy
import pytest

import kvswap
from kvswap.memory_layout import Region
from kvswap.testing.cuda_driver import CudaDriver

torch = pytest.importorskip("torch")


def parts_of(pool: kvswap.BlockPool) -> list[tuple[int, int, int]]:
    """Stride, size and layer of each region."""
    return [(r.stride, r.block_bytes, r.layer) for r in pool.regions]


def bytes_of(pool: kvswap.BlockPool, block: int) -> bytes:
    """A block of a pool in host memory, region after region."""
    import ctypes

    return b"".join(
        ctypes.string_at(region.address + block * region.stride, region.block_bytes)
        for region in pool.regions
    )


def test_one_tensor_a_layer() -> None:
    tensors = [torch.zeros(6, 16, 8, dtype=torch.float16) for _ in range(3)]
    pool = kvswap.BlockPool(tensors)
    assert pool.block_count == len(pool) == 6
    assert pool.block_bytes == 3 * 256
    assert parts_of(pool) == [(256, 256, layer) for layer in range(3)]
    assert [r.address for r in pool.regions] == [t.data_ptr() for t in tensors]
    assert pool.layers == (0, 1, 2)
    assert pool.device is None


def test_k_and_v_in_one_tensor() -> None:
    """As vLLM's FlashAttention has it: (2, blocks, tokens, heads, head size)."""
    tensor = torch.arange(2 * 5 * 4 * 2 * 8, dtype=torch.int16).view(2, 5, 4, 2, 8)
    pool = kvswap.BlockPool({"layer.0": tensor, "layer.1": tensor}, block_dim=1)
    assert parts_of(pool) == [(128, 128, layer) for layer in (0, 0, 1, 1)]
    k, v = (tensor[half, 3].contiguous().numpy().tobytes() for half in (0, 1))
    assert bytes_of(pool, 3) == (k + v) * 2


def test_k_and_v_apart() -> None:
    pairs = [
        (torch.zeros(5, 16), torch.zeros(5, 8)),
        (torch.zeros(5, 16), torch.zeros(5, 8)),
    ]
    pool = kvswap.BlockPool(pairs)
    assert parts_of(pool) == [(64, 64, 0), (32, 32, 0), (64, 64, 1), (32, 32, 1)]


def test_a_permuted_view_of_contiguous_blocks() -> None:
    """Heads before tokens in memory, and the view the other way round."""
    stored = torch.arange(3 * 4 * 2 * 8, dtype=torch.int32).view(3, 2, 4, 8)
    pool = kvswap.BlockPool(stored.permute(0, 2, 1, 3))
    assert parts_of(pool) == [(256, 256, 0)]
    assert bytes_of(pool, 2) == stored[2].numpy().tobytes()


def test_heads_apart() -> None:
    """Each head has all its blocks together."""
    stored = torch.arange(2 * 6 * 4 * 8, dtype=torch.int32).view(2, 6, 4, 8)
    pool = kvswap.BlockPool(stored, block_dim=1)
    assert parts_of(pool) == [(128, 128, 0)] * 2
    assert bytes_of(pool, 5) == stored[:, 5].contiguous().numpy().tobytes()


@pytest.mark.parametrize("transposed", [False, True])
def test_regions_come_in_the_order_of_dimensions(transposed: bool) -> None:
    """Whatever their order in memory: views in the same order correspond."""
    stored = torch.arange(2 * 3 * 4 * 8, dtype=torch.int32).view(2, 3, 4, 8)
    view = stored.transpose(0, 1) if transposed else stored
    pool = kvswap.BlockPool(view, block_dim=2)
    assert len(pool.regions) == 6
    assert bytes_of(pool, 1) == view[:, :, 1].contiguous().numpy().tobytes()


def test_blocks_with_gaps() -> None:
    tensor = torch.arange(4 * 32, dtype=torch.int32).view(4, 32)[:, 4:20]
    pool = kvswap.BlockPool(tensor)
    assert parts_of(pool) == [(128, 64, 0)]
    assert bytes_of(pool, 1) == tensor[1].numpy().tobytes()


def test_every_other_block() -> None:
    tensor = torch.arange(8 * 16, dtype=torch.int32).view(8, 16)[1::2]
    pool = kvswap.BlockPool(tensor)
    assert parts_of(pool) == [(128, 64, 0)]
    assert bytes_of(pool, 2) == tensor[2].numpy().tobytes()


def test_pages_with_all_layers() -> None:
    """A host layout with all layers of a block together, for a GPU's of one a layer."""
    gpu = kvswap.BlockPool(
        [torch.zeros(2, 5, 4, 8, dtype=torch.int16) for _ in range(3)], block_dim=1
    )
    pages = numpy.arange(7 * 6 * 64, dtype=numpy.uint16).view(numpy.uint8)
    pages = pages.reshape(7, -1)[:, : 6 * 64]
    host = kvswap.BlockPool(pages, like=gpu)
    stride = pages.strides[0]
    assert parts_of(host) == [(stride, 64, layer) for layer in (0, 0, 1, 1, 2, 2)]
    assert bytes_of(host, 4) == pages[4].tobytes()


def test_larger_blocks_like_those_of_another() -> None:
    gpu = kvswap.BlockPool([torch.zeros(6, 16), torch.zeros(6, 4)])
    host = kvswap.BlockPool(torch.zeros(2, 60), like=gpu, blocks_per_block=3)
    assert parts_of(host) == [(240, 192, 0), (240, 48, 1)]


def test_numpy_and_torch_agree() -> None:
    array = numpy.arange(2 * 5 * 24, dtype=numpy.float32).reshape(2, 5, 24)
    of_numpy = kvswap.BlockPool(array, block_dim=1)
    of_torch = kvswap.BlockPool(torch.from_numpy(array), block_dim=-2)
    assert of_numpy.regions == of_torch.regions


def test_a_cuda_array_that_is_no_tensor() -> None:
    class Array:
        __cuda_array_interface__ = {
            "data": (0x7000_0000, False),
            "shape": (4, 8),
            "strides": None,
            "typestr": "<f2",
            "version": 3,
        }

    pool = kvswap.BlockPool(Array())
    assert pool.regions == (Region(0x7000_0000, 16, 16, 0),)
    assert pool.device == 0


@pytest.mark.parametrize(
    "dtype", ["<U5", "S5", "M8[ns]", "V12", "c16", ">f4", "?", "i4,f8"]
)
def test_bytes_of_items(dtype: str) -> None:
    array = numpy.zeros((4, 6), dtype)
    assert kvswap.BlockPool(array).block_bytes == array.nbytes // 4


def test_one_block() -> None:
    pool = kvswap.BlockPool(torch.zeros(1, 16))
    assert parts_of(pool) == [(64, 64, 0)]


def fake_tensor() -> Any:
    """A tensor that has all but memory."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.zeros(4, 16)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "nothing": (lambda: kvswap.BlockPool([]), ValueError, "tensors is empty"),
    "no tensor": (
        lambda: kvswap.BlockPool([torch.zeros(2, 2), "tensor"]),
        TypeError,
        "tensors[1] must be a torch tensor",
    ),
    "a class": (lambda: kvswap.BlockPool(torch.Tensor), TypeError, "the class"),
    "a meta tensor": (
        lambda: kvswap.BlockPool(torch.zeros(2, 2, device="meta")),
        TypeError,
        "tensors is a tensor on device meta",
    ),
    "a fake tensor": (
        lambda: kvswap.BlockPool(fake_tensor()),
        TypeError,
        "tensors is a tensor without memory",
    ),
    "a sparse tensor": (
        lambda: kvswap.BlockPool([torch.zeros(2, 2).to_sparse()]),
        TypeError,
        "tensors[0] is a tensor without memory",
    ),
    "no such dimension": (
        lambda: kvswap.BlockPool([torch.zeros(2, 2)], block_dim=2),
        ValueError,
        "tensors[0] (shape (2, 2), strides in bytes (8, 4)) has no dimension 2",
    ),
    "a number": (
        lambda: kvswap.BlockPool(torch.tensor(5)),
        ValueError,
        "has no dimension 0",
    ),
    "the wrong dimension": (
        lambda: kvswap.BlockPool({"k": torch.zeros(4, 2, 8)}, block_dim=2),
        ValueError,
        "blocks of tensors['k'] (shape (4, 2, 8), strides in bytes (64, 32, 4)) along "
        "dimension 2 are not contiguous: each would be 8 runs of 4 bytes",
    ),
    "every other element": (
        lambda: kvswap.BlockPool(torch.zeros(4, 16)[:, ::2]),
        ValueError,
        "are not contiguous: each would be 8 runs of 4 bytes",
    ),
    "an expanded tensor": (
        lambda: kvswap.BlockPool(torch.zeros(1, 16).expand(4, 16)),
        ValueError,
        "overlap: elements share memory",
    ),
    "a sliding window": (
        lambda: kvswap.BlockPool(torch.zeros(64).as_strided((4, 16), (8, 1))),
        ValueError,
        "overlap: elements share memory",
    ),
    "empty blocks": (
        lambda: kvswap.BlockPool(torch.zeros(4, 0)),
        ValueError,
        "have no elements",
    ),
    "objects": (
        lambda: kvswap.BlockPool(numpy.zeros((4, 16), object)),
        TypeError,
        "tensors has items of type '|O'",
    ),
    "backwards": (
        lambda: kvswap.BlockPool(numpy.zeros((4, 16))[::-1]),
        ValueError,
        "negative stride",
    ),
    "unequal numbers of blocks": (
        lambda: kvswap.BlockPool([torch.zeros(4, 2), torch.zeros(5, 2)]),
        ValueError,
        "tensors[1] (shape (5, 2), strides in bytes (8, 4)) has 5 blocks",
    ),
    "blocks unlike those of another": (
        lambda: kvswap.BlockPool(
            torch.zeros(4, 17), like=kvswap.BlockPool(torch.zeros(4, 16))
        ),
        ValueError,
        "blocks do not correspond: a block is here 1 runs of 68 bytes",
    ),
    "blocks smaller than those of another": (
        lambda: kvswap.BlockPool(
            torch.zeros(4, 16), like=kvswap.BlockPool([torch.zeros(4, 16)] * 2)
        ),
        ValueError,
        "1 blocks of `like`, which are 2 runs of 64, 64 bytes",
    ),
    "a factor without another pool": (
        lambda: kvswap.BlockPool(torch.zeros(4, 16), blocks_per_block=2),
        ValueError,
        "blocks_per_block",
    ),
}


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    make, error, message = REFUSED[case]
    with pytest.raises(error, match=re.escape(message)):
        make()


def test_the_wrong_dimension_with_many_runs() -> None:
    tensor = torch.zeros(3000, 2, 2)
    with pytest.raises(ValueError, match="each would be 3000 runs of 8 bytes"):
        kvswap.BlockPool(tensor, block_dim=1)


def random_tensor(generator: random.Random) -> tuple[Any, int]:
    """A tensor of random shape, order of dimensions and gaps, and its block_dim."""
    dimensions = generator.randint(1, 4)
    shape = [generator.randint(1, 4) for _ in range(dimensions)]
    order = generator.sample(range(dimensions), dimensions)
    stored = torch.arange(
        1 + generator.randrange(5), dtype=torch.int64
    )  # shifts the address
    padded = [size + generator.randrange(2) for size in shape]
    stored = torch.randint(0, 256, padded, dtype=torch.uint8)
    cut = stored[tuple(slice(0, size) for size in shape)]
    return cut.permute(order), generator.randrange(dimensions)


@pytest.mark.parametrize("seed", range(150))
def test_random_strides(seed: int) -> None:
    """Either an error, or regions that hold a block's elements in the order of memory."""
    generator = random.Random(seed)
    torch.manual_seed(seed)
    tensor, block_dim = random_tensor(generator)
    try:
        pool = kvswap.BlockPool(tensor, block_dim)
    except ValueError as error:
        assert "not contiguous" in str(error)
        return
    assert pool.block_count == tensor.shape[block_dim]
    for block in range(pool.block_count):
        wanted = tensor.select(block_dim, block).flatten().tolist()
        assert sorted(bytes_of(pool, block)) == sorted(wanted)


def test_tensors_are_kept(driver: CudaDriver, context: None) -> None:
    """Also those of a list that the caller changes."""
    import weakref

    tensors = [torch.zeros(4, 16)]
    alive = weakref.ref(tensors[0])
    pool = kvswap.BlockPool(tensors)
    tensors.clear()
    assert alive() is not None
    pool.invalidate()
    assert alive() is None
