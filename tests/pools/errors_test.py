"""Bad input: what is said of it, and that nothing is submitted."""

from __future__ import annotations

import mmap
import random
import re
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests.pools.model import ModelPool, make_pool

_COPIES = {"cuMemcpyAsync", "cuMemcpyBatchAsync", "cuLaunchKernel", "cuEventRecord"}


@pytest.fixture
def gpu(driver: CudaDriver, context: None) -> ModelPool:
    """8 blocks of three regions on GPU 0."""
    return make_pool(
        driver,
        "gpu",
        "tensors",
        [32, 16, 48],
        [0, 1, 2],
        8,
        random.Random(1),
        content=True,
    )


@pytest.fixture
def host(driver: CudaDriver, context: None) -> ModelPool:
    """5 blocks of the same in host memory."""
    return make_pool(
        driver,
        "pinned",
        "pages",
        [32, 16, 48],
        [0, 1, 2],
        5,
        random.Random(2),
        content=True,
    )


@pytest.fixture(autouse=True)
def nothing_is_submitted(simulator: kvswap_sim.Simulator) -> Iterator[None]:
    """No test here may submit a copy."""
    yield
    assert not _COPIES & {call.name for call in simulator.trace()}


def refused(
    error: type[Exception],
    message: str,
    source: kvswap.BlockPool,
    destination: kvswap.BlockPool,
    pairs: Any = ((0, 0),),
    **options: Any,
) -> Any:
    """The error of a call that must raise it with that text in it."""
    with pytest.raises(error, match=re.escape(message)) as raised:
        kvswap.copy_blocks(source, destination, pairs, stream=2, **options)
    return raised.value


@pytest.mark.parametrize("block", [8, -1, 2**62, -(2**63)])
def test_source_block_out_of_range(gpu: ModelPool, host: ModelPool, block: int) -> None:
    refused(
        ValueError,
        f"pairs[1] = ({block}, 1): block {block} is out of range in the source pool, "
        "which has 8 blocks (ids 0 to 7)",
        gpu.pool,
        host.pool,
        [(7, 0), (block, 1), (100, 100)],
    )


@pytest.mark.parametrize("block", [5, -1])
def test_destination_block_out_of_range(
    gpu: ModelPool, host: ModelPool, block: int
) -> None:
    refused(
        ValueError,
        f"block {block} is out of range in the destination pool, which has 5 blocks",
        gpu.pool,
        host.pool,
        numpy.array([[7, 4], [0, block]]),
    )


def test_id_of_larger_blocks_out_of_range(driver: CudaDriver, context: None) -> None:
    small, large = (
        make_pool(
            driver, "gpu", "tensors", [size], [0], 3, random.Random(1), content=True
        )
        for size in (8, 24)
    )
    kvswap.copy_blocks(small.pool, large.pool, [], stream=2)
    refused(
        ValueError,
        "block 9 is out of range in the destination pool, which has 3 blocks, each 3 "
        "blocks of the size that ids count (ids 0 to 8)",
        small.pool,
        large.pool,
        [(0, 9)],
    )
    refused(ValueError, "block 3 is out of range", small.pool, large.pool, [(3, 8)])


def test_an_empty_pool(gpu: ModelPool) -> None:
    empty = kvswap.BlockPool.from_regions(
        [(r.address, r.stride, r.block_bytes) for r in gpu.pool.regions], 0
    )
    refused(ValueError, "which has 0 blocks", gpu.pool, empty)


def test_pools_without_blocks() -> None:
    """As of an empty tensor, which has no address: nothing can be copied."""
    source = kvswap.BlockPool(numpy.zeros((0, 16), dtype=numpy.uint8))
    destination = kvswap.BlockPool.from_regions([(0, 16, 16)], 0)
    assert kvswap.copy_blocks(source, destination, [], stream=2).done()
    refused(ValueError, "which has 0 blocks", source, destination)


@pytest.mark.parametrize("spread", [1, 10**9], ids=["dense", "sparse"])
def test_two_pairs_that_write_one_block(spread: int) -> None:
    """Also where ids are so far apart that a bit for each would be too many."""
    source, destination = (
        kvswap.BlockPool.from_regions([(address, 4, 4)], 1 << 36)
        for address in (1 << 44, 1 << 45)
    )
    pairs = [(i, (i % 5) * spread) for i in range(8)]
    refused(
        ValueError,
        "pairs[0] and pairs[5] both write block 0 of the destination pool",
        source,
        destination,
        pairs,
    )


@pytest.mark.parametrize("larger", ["source", "destination"])
def test_a_part_of_a_larger_block_that_is_read_and_written(larger: str) -> None:
    """Two descriptions of one memory: blocks of the one are two of the other's."""
    small, large = (
        kvswap.BlockPool.from_regions([(1 << 44, size, size)], 64 // size)
        for size in (4, 8)
    )
    pools = (large, small) if larger == "source" else (small, large)
    refused(
        ValueError,
        "pairs[1] writes block 5, which pairs[0] reads from the same memory",
        *pools,
        [(5, 9), (2, 5)],
    )


def test_two_pairs_that_write_one_block_unchecked(
    gpu: ModelPool, host: ModelPool, simulator: kvswap_sim.Simulator
) -> None:
    kvswap.swap_out(gpu.pool, host.pool, [(0, 1), (2, 1)], stream=2, check=False).wait()
    simulator.clear_trace()


@pytest.mark.parametrize("pairs", [[(0, 1), (2, 0)], [(3, 3)]])
def test_a_block_that_is_read_and_written(gpu: ModelPool, pairs: Any) -> None:
    refused(
        ValueError,
        "which pairs[0] reads from the same memory",
        gpu.pool,
        gpu.pool,
        pairs,
    )


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        (5, TypeError, "pairs must be a list of pairs, a torch CPU tensor, a NumPy"),
        (None, TypeError, "of int64 or uint64, not None"),
        ([5], TypeError, "pairs[0] must be a pair of ints"),
        ([(0, 0), (0,)], TypeError, "pairs[1] must be a pair of ints"),
        ([(0, 0, 0)], TypeError, "not (0, 0, 0)"),
        ([(0, 1.0)], TypeError, "pairs[0] must be a pair of ints"),
        ([(True, 1)], TypeError, "pairs[0] must be a pair of ints"),
        ([(0, "1")], TypeError, "pairs[0] must be a pair of ints"),
        ([(2**63, 0)], ValueError, "an id is below 2**63"),
        (
            numpy.zeros((3, 3), dtype=numpy.int64),
            ValueError,
            "must have the shape (N, 2)",
        ),
        (
            numpy.zeros(4, dtype=numpy.int64),
            ValueError,
            "pairs has 1 dimensions; it must have 2",
        ),
        (numpy.zeros((2, 2), dtype=numpy.int32), TypeError, "pairs has dtype int32"),
        (numpy.zeros((2, 2)), TypeError, "pairs has dtype float64"),
        (
            numpy.zeros((2, 4), dtype=numpy.int64)[:, ::2],
            ValueError,
            "pairs is not contiguous",
        ),
        (
            numpy.zeros((2, 3), dtype=numpy.int64).T[:2].T,
            ValueError,
            "pairs is not contiguous",
        ),
        (numpy.full((1, 2), 2**64 - 1, dtype=numpy.uint64), ValueError, "out of range"),
    ],
)
def test_pairs(
    gpu: ModelPool, host: ModelPool, pairs: Any, error: type[Exception], message: str
) -> None:
    refused(error, message, gpu.pool, host.pool, pairs)


def test_pairs_of_torch(gpu: ModelPool, host: ModelPool) -> None:
    torch = pytest.importorskip("torch")
    for pairs, error, message in [
        (
            torch.zeros((2, 2), dtype=torch.int32),
            TypeError,
            "pairs has dtype torch.int32",
        ),
        (torch.zeros((2, 3), dtype=torch.int64), ValueError, "rows of 3"),
        (torch.zeros((2, 4), dtype=torch.int64)[:, ::2], ValueError, "not contiguous"),
        (
            torch.zeros((2, 2), dtype=torch.int64, device="meta"),
            TypeError,
            "on device meta",
        ),
    ]:
        refused(error, message, gpu.pool, host.pool, pairs)


def test_pools_of_other_numbers_of_regions(gpu: ModelPool) -> None:
    other = kvswap.BlockPool.from_regions([(1 << 40, 32, 32)], 8)
    refused(
        ValueError,
        "the source pool has 3 regions and the destination pool has 1",
        gpu.pool,
        other,
    )


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([32, 16, 40], "in region 2: blocks of 48 bytes in the source pool and of 40"),
        ([32, 32, 48], "in region 1: blocks of 16 bytes in the source pool and of 32"),
        ([64, 16, 48], "are in another ratio than those of region 0 (32 to 64)"),
    ],
)
def test_pools_whose_blocks_cannot_correspond(
    driver: CudaDriver, gpu: ModelPool, sizes: list[int], message: str
) -> None:
    other = make_pool(
        driver, "pinned", "tensors", sizes, [0] * 3, 4, random.Random(3), content=True
    )
    refused(ValueError, message, gpu.pool, other.pool)


def test_layers_that_differ(driver: CudaDriver, gpu: ModelPool) -> None:
    other = make_pool(
        driver,
        "pinned",
        "tensors",
        [32, 16, 48],
        [0, 2, 2],
        4,
        random.Random(3),
        content=True,
    )
    refused(
        ValueError,
        "region 1 is of layer 1 in the source pool and of layer 2 in the destination",
        gpu.pool,
        other.pool,
        layers=True,
    )


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ((0, 32, 32), "its base is null"),
        ((1 << 40, 16, 32), "its blocks overlap"),
        ((1 << 40, 32, 0), "its blocks have no bytes"),
        ((2**64 - 64, 32, 32), "it runs past the end of the address space"),
        ((1 << 40, 2**62, 32), "it runs past the end of the address space"),
        ((1 << 40, 32, 32, -1), "its layer is below zero"),
    ],
)
def test_regions(region: tuple[int, ...], message: str) -> None:
    good = kvswap.BlockPool.from_regions([(1 << 40, 32, 32)], 8)
    bad = kvswap.BlockPool.from_regions([region], 8)
    refused(ValueError, f"region 0 of the source pool: {message}", bad, good)
    refused(ValueError, f"region 0 of the destination pool: {message}", good, bad)


@pytest.mark.parametrize(
    ("region", "block_count", "error", "message"),
    [
        ((-1, 32, 32), 8, ValueError, "regions[0].address is -1; it must be from 0"),
        ((1, 2**64, 32), 8, ValueError, "regions[0].stride is 18446744073709551616"),
        ((1, 32, -32), 8, ValueError, "regions[0].block_bytes is -32"),
        ((1, 32, 32, 2**31), 8, ValueError, "regions[0].layer is 2147483648"),
        ((1.0, 32, 32), 8, TypeError, "regions[0].address must be an int, not float"),
        ((1, 32, 32), -1, ValueError, "block_count is -1; it must be from 0 to"),
        ((1, 32, 32), "8", TypeError, "block_count must be an int, not str"),
    ],
)
def test_numbers_of_regions(
    region: Any, block_count: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        kvswap.BlockPool.from_regions([region], block_count)


@pytest.mark.parametrize("no_pool", [None, 5, numpy.zeros((4, 16))])
def test_what_is_no_pool(gpu: ModelPool, no_pool: Any) -> None:
    for copy in (kvswap.copy_blocks, kvswap.swap_out, kvswap.swap_in):
        with pytest.raises(TypeError, match="dst_pool must be a kvswap.BlockPool"):
            copy(kvswap.BlockPool(numpy.zeros((4, 16))), no_pool, [(0, 0)])
        with pytest.raises(TypeError, match="src_pool must be a kvswap.BlockPool"):
            copy(no_pool, kvswap.BlockPool(numpy.zeros((4, 16))), [(0, 0)])


def test_an_invalidated_pool(gpu: ModelPool, host: ModelPool) -> None:
    assert gpu.pool.valid
    gpu.pool.invalidate("the engine sleeps")
    assert not gpu.pool.valid
    assert "invalidated" in repr(gpu.pool)
    refused(
        ValueError,
        "the source pool was invalidated: the engine sleeps. Make a new BlockPool",
        gpu.pool,
        host.pool,
    )
    refused(ValueError, "the destination pool was invalidated", host.pool, gpu.pool)


def test_directions(gpu: ModelPool, host: ModelPool) -> None:
    with pytest.raises(ValueError, match="dst_pool is on GPU 0: swap_in copies"):
        kvswap.swap_out(host.pool, gpu.pool, [(0, 0)])
    with pytest.raises(ValueError, match="src_pool is on GPU 0: swap_out copies"):
        kvswap.swap_in(gpu.pool, host.pool, [(0, 0)])


def test_a_pool_that_may_only_be_read(gpu: ModelPool) -> None:
    array = numpy.zeros((4, 96), dtype=numpy.uint8)
    array.flags.writeable = False
    pool = kvswap.BlockPool(array, like=gpu.pool)
    assert pool.read_only
    refused(ValueError, "dst_pool may only be read", gpu.pool, pool)


@pytest.mark.parametrize("side", ["source", "destination"])
def test_memory_that_was_freed(
    driver: CudaDriver, host: ModelPool, gpu: ModelPool, side: str
) -> None:
    """Of one region of three: the error names block, pair and region."""
    memory = driver.device_memory(48 * 8)
    regions = list(gpu.pool.regions[:2]) + [(memory.address, 48, 48, 2)]
    pool = kvswap.BlockPool.from_regions(regions, 8, device=0)
    memory.close()
    pairs = [(4, 3), (2, 1)]
    if side == "source":
        message = "block 4 of the source pool, region 2 (pairs[0], 48 bytes at"
        error = refused(kvswap.SwapError, message, pool, host.pool, pairs)
    else:
        message = "block 3 of the destination pool, region 2 (pairs[0], 48 bytes at"
        error = refused(kvswap.SwapError, message, host.pool, pool, pairs)
    assert "neither memory that CUDA knows nor host memory" in str(error)
    assert (error.status, error.index, error.region) == ("memory", 0, 2)
    assert error.size == 48
    assert error.submitted == 0


def test_a_pool_larger_than_its_memory(
    driver: CudaDriver, host: ModelPool, gpu: ModelPool
) -> None:
    """Only blocks that are used need be there: these are not."""
    memory = driver.device_memory(48 * 8 - 20)
    regions = list(gpu.pool.regions[:2]) + [(memory.address, 48, 48, 2)]
    pool = kvswap.BlockPool.from_regions(regions, 8, device=0)
    error = refused(
        kvswap.SwapError, "runs 20 bytes past the end of its memory (memory of GPU 0",
        pool, host.pool, [(6, 0), (7, 1)],
    )  # fmt: skip
    assert "block 7 of the source pool, region 2 (pairs[1]" in str(error)
    assert (error.index, error.region) == (1, 2)


def test_regions_on_two_gpus(
    driver: CudaDriver, host: ModelPool, gpu: ModelPool
) -> None:
    with driver.retain_primary(1).current():
        other = driver.device_memory(48 * 8)
    regions = list(gpu.pool.regions[:2]) + [(other.address, 48, 48, 2)]
    pool = kvswap.BlockPool.from_regions(regions, 8)
    error = refused(kvswap.SwapError, "uses memory of GPU 1", pool, host.pool, [(4, 3)])
    assert "pairs[0], block 4 of the source pool to block 3 of" in str(error)
    assert (error.status, error.region) == ("devices", 2)


@pytest.mark.parametrize("engine", ["batch", "loop"])
def test_an_error_of_the_driver(
    simulator: kvswap_sim.Simulator,
    gpu: ModelPool,
    host: ModelPool,
    engine: str,
) -> None:
    """It names pair, blocks and region, and what was submitted before."""
    if engine == "batch":
        simulator.fail("cuMemcpyBatchAsync", 719, call=2, index=1)
        submitted, number = 4, 5
    else:
        simulator.fail("cuMemcpyAsync", 719, call=6)
        submitted, number = 5, 5
    pairs = [(7, 0), (6, 4), (5, 3)]
    with pytest.raises(kvswap.SwapError, match="LAUNCH_FAILED") as raised:
        kvswap.swap_out(
            gpu.pool, host.pool, pairs, stream=2, engine=engine, max_batch=4
        )
    error = raised.value
    assert (error.index, error.region) == (number % 3, number // 3)
    assert error.submitted == submitted
    assert error.submitted_bytes == 3 * 32 + (submitted - 3) * 16
    assert (
        "pairs[2], block 5 of the source pool to block 3 of the destination pool, "
        "region 1: 16 bytes" in str(error)
    )
    assert error.source == gpu.pool.regions[1].address + 5 * 16
    simulator.run()
    simulator.clear_trace()


def test_events_that_cannot_be_made(
    simulator: kvswap_sim.Simulator, gpu: ModelPool, host: ModelPool
) -> None:
    simulator.fail("cuEventCreate", 2, call=2)
    error = refused(kvswap.SwapError, "OUT_OF_MEMORY", gpu.pool, host.pool, layers=True)
    assert error.submitted == 0
    assert simulator.live()["events"] == 0


def _address(memory: mmap.mmap) -> int:
    import ctypes

    return ctypes.addressof(ctypes.c_char.from_buffer(memory))
