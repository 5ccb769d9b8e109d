"""Pinned pools: memory of their own, buffers and files, registered in chunks."""

from __future__ import annotations

import gc
import mmap
import pathlib
import random
import threading

import numpy
import pytest

import kvswap
import kvswap_sim
from kvswap.testing import cuda_driver
from kvswap.testing.cuda_driver import CudaDriver
from tests.pools.model import ModelPool, make_pool

_PAGE = mmap.PAGESIZE


@pytest.fixture
def gpu(driver: CudaDriver, context: None) -> ModelPool:
    """8 blocks of 1536 bytes in three regions on GPU 0."""
    return make_pool(
        driver,
        "gpu",
        "tensors",
        [512, 256, 768],
        [0, 1, 2],
        8,
        random.Random(1),
        content=True,
    )


def registrations(simulator: kvswap_sim.Simulator) -> list[tuple[int, int, int]]:
    """Address, size and flags of each call that registered memory."""
    return [
        (call.arguments["pointer"], call.arguments["size"], call.arguments["flags"])
        for call in simulator.trace("cuMemHostRegister_v2")
    ]


def block_of(pool: ModelPool, block: int) -> bytes:
    """The content of a block, region after region."""
    return b"".join(
        pool.memory.content[pool.span(region, block, 0, 1)]
        for region in range(len(pool.pool.regions))
    )


def test_memory_of_its_own(simulator: kvswap_sim.Simulator, gpu: ModelPool) -> None:
    host = kvswap.pinned_pool(gpu.pool, 5)
    assert len(registrations(simulator)) == 1
    assert (host.block_count, host.block_bytes) == (5, 1536)
    assert host.layers == gpu.pool.layers
    base = host.regions[0].address
    assert [(r.address - base, r.stride) for r in host.regions] == [
        (0, 1536),
        (512, 1536),
        (768, 1536),
    ]
    out = kvswap.swap_out(gpu.pool, host, [(7, 2), (0, 4)], stream=2)
    assert out.result.pageable == 0
    kvswap.swap_in(host, gpu.pool, [(2, 1), (4, 3)], stream=2).wait()
    content = gpu.memory.read()
    for block, original in ((1, 7), (3, 0)):
        held = b"".join(content[gpu.span(r, block, 0, 1)] for r in range(3))
        assert held == block_of(gpu, original)
    assert simulator.live()["registrations"] == 1
    del host, out
    gc.collect()
    kvswap.copy_blocks(gpu.pool, gpu.pool, [], stream=2)
    simulator.run()


def test_larger_blocks(gpu: ModelPool) -> None:
    host = kvswap.pinned_pool(gpu.pool, 2, blocks_per_block=3)
    kvswap.swap_out(gpu.pool, host, [(7, 4)], stream=2).wait()
    kvswap.swap_in(host, gpu.pool, [(4, 0)], stream=2).wait()
    content = gpu.memory.read()
    held = b"".join(content[gpu.span(r, 0, 0, 1)] for r in range(3))
    assert held == block_of(gpu, 7)


def test_a_buffer(gpu: ModelPool) -> None:
    buffer = bytearray(6 * 1536 + 100)
    host = kvswap.pinned_pool(gpu.pool, 6, buffer=buffer)
    kvswap.swap_out(gpu.pool, host, [(2, 5)], stream=2).wait()
    assert bytes(buffer[5 * 1536 : 6 * 1536]) == block_of(gpu, 2)
    with pytest.raises(BufferError):
        buffer.clear()  # its memory is lent
    host.invalidate()
    buffer.clear()


def test_an_array(gpu: ModelPool) -> None:
    array = numpy.zeros((6, 1536), dtype=numpy.uint8)
    host = kvswap.pinned_pool(gpu.pool, 6, buffer=array)
    kvswap.swap_out(gpu.pool, host, [(2, 5)], stream=2).wait()
    assert array[5].tobytes() == block_of(gpu, 2)


def test_a_file_that_may_only_be_read(
    simulator: kvswap_sim.Simulator, gpu: ModelPool, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "blocks"
    content = random.Random(2).randbytes(4 * 1536)
    path.write_bytes(content)
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    host = kvswap.pinned_pool(gpu.pool, 4, buffer=mapped)
    assert host.read_only
    ((_, _, flags),) = registrations(simulator)
    assert flags & cuda_driver.REGISTER_READ_ONLY
    kvswap.swap_in(host, gpu.pool, [(3, 6)], stream=2).wait()
    held = b"".join(gpu.memory.read()[gpu.span(r, 6, 0, 1)] for r in range(3))
    assert held == content[3 * 1536 :]
    with pytest.raises(ValueError, match="may only be read"):
        kvswap.swap_out(gpu.pool, host, [(0, 0)], stream=2)


def test_a_device_that_cannot_register_read_only_memory(
    simulator: kvswap_sim.Simulator, gpu: ModelPool
) -> None:
    simulator.set_device_attribute(0, 113, 0)
    with pytest.raises(kvswap.UnsupportedError, match="may only be read"):
        kvswap.pinned_pool(gpu.pool, 1, buffer=bytes(1536))


@pytest.mark.parametrize("chunk", [3 * _PAGE, 4 * _PAGE + 5, 100 * _PAGE])
def test_chunks_end_where_blocks_end(
    simulator: kvswap_sim.Simulator, gpu: ModelPool, chunk: int
) -> None:
    """And where pages end: 1536 bytes and 4096 have that in common every 12288."""
    blocks = 50
    host = kvswap.pinned_pool(gpu.pool, blocks, max_chunk_bytes=chunk)
    base = host.regions[0].address
    calls = registrations(simulator)
    assert sum(size for _, size, _ in calls) == blocks * 1536
    end = base
    for address, size, _ in calls:
        assert address == end
        assert size <= chunk
        assert (address - base) % 1536 == address % _PAGE == 0
        end = address + size
    assert len(calls) == {3 * _PAGE: 7, 4 * _PAGE + 5: 6}.get(chunk, 1)
    # Blocks on both sides of every border can be copied.
    kvswap.swap_out(
        gpu.pool, host, [(block % 8, block) for block in range(blocks)], stream=2
    ).wait()


def test_no_border_to_cut_at(gpu: ModelPool) -> None:
    with pytest.raises(ValueError, match="no border between blocks of 1536 bytes"):
        kvswap.pinned_pool(gpu.pool, 50, max_chunk_bytes=2 * _PAGE)


def test_it_is_registered_whole_or_not_at_all(
    simulator: kvswap_sim.Simulator, gpu: ModelPool
) -> None:
    live = simulator.live()
    simulator.fail("cuMemHostRegister", 2, call=3)
    with pytest.raises(kvswap.SwapError, match="chunk 2 of 7") as raised:
        kvswap.pinned_pool(gpu.pool, 50, max_chunk_bytes=3 * _PAGE)
    assert "Nothing is registered" in str(raised.value)
    assert (raised.value.status, raised.value.cuda_error) == ("driver", 2)
    assert len(simulator.trace("cuMemHostUnregister")) == 2
    assert simulator.live() == live


def test_memory_that_is_registered_already(driver: CudaDriver, gpu: ModelPool) -> None:
    host = kvswap.pinned_pool(gpu.pool, 50, max_chunk_bytes=3 * _PAGE)
    assert isinstance(host, kvswap.BlockPool)
    buffer = memoryview(mmap.mmap(-1, 50 * 1536))
    first = kvswap.pinned_pool(gpu.pool, 10, buffer=buffer[40 * 1536 :])
    with pytest.raises(kvswap.SwapError, match="registered already"):
        kvswap.pinned_pool(gpu.pool, 50, buffer=buffer, max_chunk_bytes=3 * _PAGE)
    first.invalidate()
    kvswap.pinned_pool(gpu.pool, 50, buffer=buffer, max_chunk_bytes=3 * _PAGE)


def test_no_capture_is_disturbed(driver: CudaDriver, gpu: ModelPool) -> None:
    stream = driver.stream(non_blocking=True)
    stream.begin_capture(cuda_driver.CAPTURE_GLOBAL)
    host = kvswap.pinned_pool(gpu.pool, 5)
    host.invalidate()
    assert stream.capture_status() == cuda_driver.CAPTURE_STATUS_ACTIVE
    stream.end_capture()


def test_a_thread_without_a_context(gpu: ModelPool) -> None:
    outcome: list[bool] = []

    def body() -> None:
        host = kvswap.pinned_pool(gpu.pool, 5)
        kvswap.swap_out(gpu.pool, host, [(0, 0)], stream=2).wait()
        outcome.append(host.valid)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert outcome == [True]


def test_no_context(driver: CudaDriver) -> None:
    like = kvswap.BlockPool.from_regions([(1 << 40, 64, 64)], 4)
    with pytest.raises(kvswap.SwapError) as raised:
        kvswap.pinned_pool(like, 4)
    assert raised.value.status == "no_context"
    with pytest.raises(kvswap.SwapError, match="primary context is not active"):
        kvswap.pinned_pool(like, 4, device=1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"block_count": 0}, ValueError, "must be 1 at least"),
        ({"blocks_per_block": 0}, ValueError, "must be 1 at least"),
        ({"max_chunk_bytes": 0}, ValueError, "max_chunk_bytes must be above zero"),
        ({"allocator": "malloc"}, ValueError, "not 'malloc'"),
        ({"buffer": bytearray(1535)}, ValueError, "has 1535 bytes, and 1 blocks"),
        ({"buffer": 5}, TypeError, "bytes-like"),
    ],
)
def test_arguments(
    gpu: ModelPool, arguments: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        kvswap.pinned_pool(gpu.pool, **{"block_count": 1, **arguments})  # type: ignore[arg-type]
