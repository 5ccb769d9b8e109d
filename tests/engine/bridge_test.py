"""The bridge engine, coalescing, and copies across registration seams."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator

import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver, Stream
from tests.engine.calls import arrays, swap

_PAGE = mmap.PAGESIZE
_BLOCK = 4096
_COUNT = 40


@pytest.fixture
def context(driver: CudaDriver) -> Iterator[CudaDriver]:
    """The driver with GPU 0's primary context current."""
    with driver.primary_context():
        yield driver


def blocks(base: int, count: int = _COUNT, size: int = _BLOCK) -> list[int]:
    """Addresses in an order in which neighbours are not contiguous."""
    return [base + (count - 1 - n) * size for n in range(count)]


def batch_sizes(simulator: kvswap_sim.Simulator) -> list[int]:
    """The sizes that copy engines were given, of batches and single copies."""
    sizes: list[int] = []
    for call in simulator.trace():
        if call.name == "cuMemcpyBatchAsync":
            sizes += call.arguments["sizes"]
        elif call.name == "cuMemcpyAsync":
            sizes.append(call.arguments["size"])
    return sizes


def names_of(simulator: kvswap_sim.Simulator) -> list[str]:
    """The calls since the trace was cleared that submit something."""
    kept = ("cuEventRecord", "cuStreamWaitEvent", "cuMemcpyBatchAsync", "cuMemcpyAsync")
    return [call.name for call in simulator.trace() if call.name in kept]


@pytest.mark.parametrize("handle", [0, 1])
@pytest.mark.parametrize("seed", range(6))
def test_copies_lie_between_what_the_legacy_stream_does(
    simulator: kvswap_sim.Simulator, context: CudaDriver, handle: int, seed: int
) -> None:
    simulator.seed = seed
    host = context.pinned_memory(_COUNT * _BLOCK)
    device = context.device_memory(_COUNT * _BLOCK)
    back = context.pinned_memory(_COUNT * _BLOCK)
    blocking = context.stream()
    host.view[:] = b"\x01" * host.size
    context.synchronize()
    # Earlier work of a blocking stream and of the legacy stream, the swap, and later
    # work of both: the legacy stream is ordered with blocking ones.
    context.fill_async(device.address, 7, device.size, blocking)
    context.fill_async(device.address, 9, device.size // 2, 0)
    result = swap(
        [host.address + n * _BLOCK for n in range(_COUNT)],
        blocks(device.address),
        [_BLOCK] * _COUNT,
        stream=handle,
        engine="bridge",
    )
    assert result.copies["bridge"] == _COUNT
    assert result.engine == "bridge"
    context.copy_async(back.address, device.address, device.size, blocking)
    context.fill_async(device.address, 0, device.size, 0)
    context.synchronize()
    assert bytes(back.view) == b"\x01" * back.size
    assert device.read() == bytes(device.size)


def test_the_bridge_is_opened_once(
    simulator: kvswap_sim.Simulator, context: CudaDriver
) -> None:
    host = context.pinned_memory(_COUNT * _BLOCK)
    device = context.device_memory(_COUNT * _BLOCK)
    before = simulator.live()
    for _ in range(3):
        swap(
            blocks(host.address),
            [device.address + n * _BLOCK for n in range(_COUNT)],
            [_BLOCK] * _COUNT,
            stream=0,
            engine="bridge",
        )
    context.synchronize()
    after = simulator.live()
    assert after["streams"] - before["streams"] == 1
    assert after["events"] - before["events"] == 2


@pytest.mark.parametrize("failed_chunk", [1, 2, 3])
def test_the_join_is_recorded_where_a_chunk_fails(
    simulator: kvswap_sim.Simulator, context: CudaDriver, failed_chunk: int
) -> None:
    host = context.pinned_memory(_COUNT * _BLOCK)
    device = context.device_memory(_COUNT * _BLOCK)
    simulator.clear_trace()
    simulator.fail("cuMemcpyBatchAsync", 2, failed_chunk, index=5)
    with pytest.raises(kvswap.SwapError) as raised:
        swap(
            blocks(host.address),
            [device.address + n * _BLOCK for n in range(_COUNT)],
            [_BLOCK] * _COUNT,
            stream=0,
            engine="bridge",
            max_batch=10,
        )
    assert raised.value.index == (failed_chunk - 1) * 10 + 5
    assert raised.value.submitted == (failed_chunk - 1) * 10
    assert names_of(simulator) == [
        "cuEventRecord",
        "cuStreamWaitEvent",
        *["cuMemcpyBatchAsync"] * failed_chunk,
        "cuEventRecord",
        "cuStreamWaitEvent",
    ]
    context.synchronize()


@pytest.mark.parametrize(
    ("entry", "call", "submitted"),
    [
        ("cuEventRecord", 1, 0),
        ("cuStreamWaitEvent", 1, 0),
        ("cuEventRecord", 2, _COUNT),
        ("cuStreamWaitEvent", 2, _COUNT),
    ],
)
def test_a_fork_or_join_that_is_refused_is_an_error(
    simulator: kvswap_sim.Simulator,
    context: CudaDriver,
    entry: str,
    call: int,
    submitted: int,
) -> None:
    host = context.pinned_memory(_COUNT * _BLOCK)
    device = context.device_memory(_COUNT * _BLOCK)
    simulator.fail(entry, 2, call)
    with pytest.raises(kvswap.SwapError) as raised:
        swap(
            blocks(host.address),
            [device.address + n * _BLOCK for n in range(_COUNT)],
            [_BLOCK] * _COUNT,
            stream=0,
            engine="bridge",
        )
    assert raised.value.cuda_error == 2
    assert raised.value.submitted == submitted
    assert ("joining" if submitted else "forking") in str(raised.value)
    context.synchronize()


@pytest.mark.parametrize("entry", ["cuStreamCreate", "cuEventCreate"])
def test_a_bridge_that_cannot_be_opened(
    simulator: kvswap_sim.Simulator, context: CudaDriver, entry: str
) -> None:
    host = context.pinned_memory(_COUNT * _BLOCK)
    device = context.device_memory(_COUNT * _BLOCK)
    before = simulator.live()
    simulator.fail(entry, 2, every=True)
    arguments = (
        blocks(host.address),
        [device.address + n * _BLOCK for n in range(_COUNT)],
        [_BLOCK] * _COUNT,
    )
    result = swap(*arguments, stream=0, engine="bridge")
    assert result.copies["loop"] == _COUNT
    assert result.unavailable["bridge"] == "no_bridge"
    with pytest.raises(kvswap.UnsupportedError):
        swap(*arguments, stream=0, engine="bridge", strict=True)
    assert simulator.live()["events"] == before["events"]
    simulator.clear_faults()
    assert swap(*arguments, stream=0, engine="bridge").copies["bridge"] == _COUNT
    context.synchronize()


def test_a_stream_that_needs_no_bridge(
    simulator: kvswap_sim.Simulator, context: CudaDriver
) -> None:
    host = context.pinned_memory(_COUNT * _BLOCK)
    device = context.device_memory(_COUNT * _BLOCK)
    stream: Stream = context.stream(non_blocking=True)
    result = swap(
        blocks(host.address),
        [device.address + n * _BLOCK for n in range(_COUNT)],
        [_BLOCK] * _COUNT,
        stream=stream,
        engine="bridge",
    )
    assert result.copies["batch"] == _COUNT
    assert result.unavailable == {"bridge": "not_legacy_stream"}
    context.synchronize()


@pytest.mark.parametrize("engine", ["batch", "loop"])
def test_neighbours_are_put_together(
    simulator: kvswap_sim.Simulator, context: CudaDriver, engine: str
) -> None:
    host = context.pinned_memory(16 * _BLOCK)
    device = context.device_memory(16 * _BLOCK)
    stream = context.stream(non_blocking=True)
    host.view[:] = bytes(range(256)) * (host.size // 256)
    # Blocks 0 to 3, 5 and 6, and 8: three pieces of memory.
    order = [0, 1, 2, 3, 5, 6, 8]
    columns = arrays(
        [host.address + n * _BLOCK for n in order],
        [device.address + n * _BLOCK for n in order],
        [_BLOCK] * len(order),
    )
    simulator.clear_trace()
    plan = kvswap.plan(*columns, stream=stream, engine=engine)
    assert plan.coalesced == 4
    assert plan.driver_calls == (1 if engine == "batch" else 3)
    result = kvswap.swap_blocks_batch(*columns, stream=stream, engine=engine)
    assert result.submitted == result.copies[engine] == len(order)
    assert batch_sizes(simulator) == [4 * _BLOCK, 2 * _BLOCK, _BLOCK]
    context.synchronize()
    content = device.read()
    for n in order:
        part = slice(n * _BLOCK, (n + 1) * _BLOCK)
        assert content[part] == bytes(host.view[part])


@pytest.mark.parametrize("kind", ["mapping", "registration", "pageable"])
def test_nothing_is_put_together_across_a_border(
    simulator: kvswap_sim.Simulator, context: CudaDriver, kind: str
) -> None:
    stream = context.stream(non_blocking=True)
    granularity = context.mapping_granularity()
    device_memory = context.virtual_memory(2 * granularity)
    device_memory.map(0, granularity, 0)
    device_memory.map(granularity, granularity, 0)
    host_memory = mmap.mmap(-1, 4 * _PAGE)
    host = ctypes.addressof(ctypes.c_char.from_buffer(host_memory))
    device = device_memory.address
    if kind == "mapping":
        context.register(host, 4 * _PAGE)
        device += granularity - 2 * _PAGE
    elif kind == "registration":
        context.register(host, 2 * _PAGE)
        context.register(host + 2 * _PAGE, 2 * _PAGE)
    simulator.clear_trace()
    swap(
        [host + n * _PAGE for n in range(4)],
        [device + n * _PAGE for n in range(4)],
        [_PAGE] * 4,
        stream=stream,
        engine="batch",
    )
    expected = [_PAGE] * 4 if kind == "pageable" else [2 * _PAGE] * 2
    assert batch_sizes(simulator) == expected
    context.synchronize()


@pytest.mark.parametrize("engine", ["batch", "loop", "kernel", "bridge", "auto"])
@pytest.mark.parametrize("to_device", [True, False])
def test_a_copy_across_seams(
    simulator: kvswap_sim.Simulator,
    context: CudaDriver,
    engine: str,
    to_device: bool,
) -> None:
    mapping = mmap.mmap(-1, 6 * _PAGE)
    mapping[:] = bytes(n % 251 for n in range(6 * _PAGE))
    host = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    for start, end in ((0, 1), (1, 3), (3, 6)):
        context.register(host + start * _PAGE, (end - start) * _PAGE)
    content = bytes(mapping)
    device = context.device_memory(6 * _PAGE)
    device.write(bytes(6 * _PAGE) if to_device else content[::-1])
    context.synchronize()
    stream = 0 if engine == "bridge" else context.stream(non_blocking=True)
    # The middle one crosses two seams, the others lie beside it.
    ranges = [(10, 100), (200, 3 * _PAGE + 500), (4 * _PAGE, 2 * _PAGE)]
    hosts = [host + start for start, _ in ranges]
    devices = [device.address + start for start, _ in ranges]
    sizes = [size for _, size in ranges]
    simulator.clear_trace()
    result = swap(
        *((hosts, devices) if to_device else (devices, hosts)),
        sizes,
        stream=stream,
        engine=engine,
    )
    assert result.submitted == 3
    assert result.submitted_bytes == sum(sizes)
    if engine in ("batch", "loop", "bridge"):
        assert batch_sizes(simulator) == [
            100,
            _PAGE - 200,
            2 * _PAGE,
            700,
            2 * _PAGE,
        ]
    context.synchronize()
    expected = bytearray(bytes(6 * _PAGE) if to_device else content)
    source = content if to_device else content[::-1]
    for start, size in ranges:
        expected[start : start + size] = source[start : start + size]
    assert (device.read() if to_device else bytes(mapping)) == bytes(expected)


def test_a_range_that_ends_in_pageable_memory_is_no_seam(
    simulator: kvswap_sim.Simulator, context: CudaDriver
) -> None:
    mapping = mmap.mmap(-1, 2 * _PAGE)
    host = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    context.register(host, _PAGE)
    device = context.device_memory(2 * _PAGE)
    with pytest.raises(kvswap.SwapError) as raised:
        swap([host + 16], [device.address], [_PAGE], stream=0)
    assert raised.value.status == "memory"
    assert "16 bytes past the end" in str(raised.value)
