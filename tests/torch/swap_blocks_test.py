"""torch.ops.kvswap.swap_blocks: what is copied, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch

import kvswap.torch_ops  # noqa: F401  # registers the operators
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests.torch.caches import (
    BLOCK_BYTES,
    BLOCKS,
    SIZE,
    Caches,
    make_caches,
    tensor_over,
)

swap_blocks = torch.ops.kvswap.swap_blocks


def pairs(*values: tuple[int, int]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int64).reshape(-1, 2)


def test_blocks_both_ways(caches: Caches) -> None:
    host, gpu = caches.host_tensor, caches.gpu_tensor
    assert swap_blocks(host, gpu, BLOCK_BYTES, pairs((1, 5), (7, 0))) is None
    assert caches.gpu_block(5) == caches.original(1)
    assert caches.gpu_block(0) == caches.original(7)
    untouched = [block for block in range(BLOCKS) if block not in (0, 5)]
    assert [caches.gpu_block(block) for block in untouched] == [bytes(BLOCK_BYTES)] * 6

    swap_blocks(
        src=gpu, dst=host, block_size_in_bytes=BLOCK_BYTES, block_mapping=pairs((5, 2))
    )
    caches.gpu.driver.synchronize()
    assert caches.host_block(2) == caches.original(1)
    assert caches.host_block(3) == caches.original(3)


def test_inside_the_gpu(caches: Caches) -> None:
    swap_blocks(caches.host_tensor, caches.gpu_tensor, BLOCK_BYTES, pairs((1, 5)))
    caches.gpu.driver.synchronize()
    swap_blocks(caches.gpu_tensor, caches.gpu_tensor, BLOCK_BYTES, pairs((5, 6)))
    assert caches.gpu_block(6) == caches.original(1)


SAME_MEMORY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "of another dtype": lambda t: t.view(torch.float16),
    "by block": lambda t: t.view(BLOCKS, BLOCK_BYTES),
    "permuted": lambda t: t.view(2, 4, BLOCK_BYTES).permute(2, 0, 1),
    "with a dimension of size 1": lambda t: t.view(BLOCKS, 1, BLOCK_BYTES)[:, :1],
    "that needs a gradient": lambda t: t.view(torch.float32).requires_grad_(),
}


@pytest.mark.parametrize("kind", SAME_MEMORY)
def test_tensors(caches: Caches, kind: str) -> None:
    view = SAME_MEMORY[kind]
    with torch.no_grad():
        swap_blocks(
            view(caches.host_tensor),
            view(caches.gpu_tensor),
            BLOCK_BYTES,
            pairs((1, 5)),
        )
    assert caches.gpu_block(5) == caches.original(1)


def test_a_tensor_that_begins_inside_its_memory(caches: Caches) -> None:
    swap_blocks(
        caches.host_tensor[BLOCK_BYTES:],
        caches.gpu_tensor[3 * BLOCK_BYTES :],
        BLOCK_BYTES,
        pairs((1, 2)),
    )
    assert caches.gpu_block(5) == caches.original(2)


MAPPINGS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": lambda t: t.t().contiguous().t(),
    "every other row": lambda t: t.repeat_interleave(2, dim=0)[::2],
    "columns of a wider one": lambda t: torch.cat([t, t + 100], dim=1)[:, :2],
}


@pytest.mark.parametrize("kind", MAPPINGS)
def test_mapping_of_any_strides(caches: Caches, kind: str) -> None:
    mapping = MAPPINGS[kind](pairs((1, 5), (2, 6)))
    assert not mapping.is_contiguous()
    swap_blocks(caches.host_tensor, caches.gpu_tensor, BLOCK_BYTES, mapping)
    assert caches.gpu_block(5) == caches.original(1)
    assert caches.gpu_block(6) == caches.original(2)


def test_nothing_to_copy(caches: Caches, simulator: kvswap_sim.Simulator) -> None:
    simulator.clear_trace()
    swap_blocks(caches.host_tensor, caches.gpu_tensor, BLOCK_BYTES, pairs())
    assert [c for c in simulator.trace() if c.name.startswith("cuMemcpy")] == []


@pytest.mark.parametrize("block", [-1, BLOCKS, 2**62])
@pytest.mark.parametrize("column", [0, 1])
def test_block_that_is_not_there(caches: Caches, block: int, column: int) -> None:
    mapping = pairs((1, 5), (2, 6), (3, 7))
    mapping[1, column] = block
    with pytest.raises(RuntimeError) as raised:
        swap_blocks(caches.host_tensor, caches.gpu_tensor, BLOCK_BYTES, mapping)
    assert str(raised.value) == (
        f"swap_blocks: block_mapping[1, {column}] = {block} is no block of "
        f"{('src', 'dst')[column]}, which has {BLOCKS} blocks of {BLOCK_BYTES} bytes"
    )
    assert caches.gpu_block(5) == bytes(BLOCK_BYTES), "something was copied"


def test_a_part_of_a_block_is_none(caches: Caches) -> None:
    with pytest.raises(RuntimeError, match="which has 5 blocks of 100 bytes"):
        swap_blocks(caches.host_tensor, caches.gpu_tensor, 100, pairs((5, 0)))


@pytest.mark.parametrize("size", [0, -64])
def test_block_size(caches: Caches, size: int) -> None:
    with pytest.raises(RuntimeError, match=f"must be positive, not {size}"):
        swap_blocks(caches.host_tensor, caches.gpu_tensor, size, pairs((0, 0)))


WRONG_MAPPINGS: dict[str, tuple[torch.Tensor, str]] = {
    "one dimension": (torch.tensor([0, 1]), r"not \[2\]"),
    "three columns": (torch.zeros(4, 3, dtype=torch.int64), r"not \[4, 3\]"),
    "three dimensions": (torch.zeros(1, 2, 2, dtype=torch.int64), r"not \[1, 2, 2\]"),
    "int32": (torch.zeros(1, 2, dtype=torch.int32), "another dtype than torch.int64"),
    "sparse": (torch.ones(1, 2, dtype=torch.int64).to_sparse(), "not a dense"),
}


@pytest.mark.parametrize("kind", WRONG_MAPPINGS)
def test_wrong_mapping(caches: Caches, kind: str) -> None:
    mapping, message = WRONG_MAPPINGS[kind]
    with pytest.raises(RuntimeError, match=message) as raised:
        swap_blocks(caches.host_tensor, caches.gpu_tensor, BLOCK_BYTES, mapping)
    assert str(raised.value).startswith("swap_blocks: block_mapping ")


WRONG_TENSORS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str]] = {
    "gaps": (lambda t: t.view(BLOCKS, BLOCK_BYTES)[:, :8], "gaps or overlaps"),
    "every other block": (lambda t: t.view(BLOCKS, BLOCK_BYTES)[::2], "gaps"),
    "expanded": (lambda t: t[:1].expand(SIZE), "gaps or overlaps"),
    "sparse": (lambda t: torch.ones(SIZE).to_sparse(), "not a dense"),
}


@pytest.mark.parametrize("argument", ["src", "dst"])
@pytest.mark.parametrize("kind", WRONG_TENSORS)
def test_wrong_tensor(caches: Caches, kind: str, argument: str) -> None:
    make, message = WRONG_TENSORS[kind]
    arguments = {"src": caches.host_tensor, "dst": caches.gpu_tensor}
    arguments[argument] = make(arguments[argument])
    with pytest.raises(RuntimeError, match=re.escape(message)) as raised:
        swap_blocks(
            **arguments, block_size_in_bytes=BLOCK_BYTES, block_mapping=pairs((0, 0))
        )
    assert str(raised.value).startswith(f"swap_blocks: {argument} ")


def test_no_tensor_of_a_gpu(caches: Caches) -> None:
    with pytest.raises(RuntimeError, match="neither src nor dst is in a GPU's memory"):
        swap_blocks(
            caches.host_tensor, torch.zeros(SIZE), BLOCK_BYTES, pairs((0, 0), (1, 1))
        )


def test_errors_of_the_library_name_the_pair(
    caches: Caches, driver: CudaDriver
) -> None:
    """Memory of another GPU: only the driver knows it, as these are CPU tensors."""
    with driver.primary_context(1), make_caches(driver) as others:
        with pytest.raises(RuntimeError) as raised:
            swap_blocks(
                others.gpu_tensor, caches.gpu_tensor, BLOCK_BYTES, pairs((3, 4))
            )
    assert str(raised.value).startswith("swap_blocks: block_mapping[0] = [3, 4]: ")
    assert "GPU" in str(raised.value)


def test_memory_that_was_freed(caches: Caches, driver: CudaDriver) -> None:
    with driver.device_memory(SIZE) as memory:
        tensor = tensor_over(memory.address)
    with pytest.raises(RuntimeError, match="still lives") as raised:
        swap_blocks(caches.gpu_tensor, tensor, BLOCK_BYTES, pairs((0, 0), (1, 1)))
    assert str(raised.value).startswith("swap_blocks: block_mapping[0] = [0, 0]: ")
