"""What pointers may point to: accepted with the right bytes, or an error that names
the descriptor, before anything is submitted."""

from __future__ import annotations

import ctypes
import mmap
import os
import pathlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import (
    CudaDriver,
    DeviceMemory,
    PinnedMemory,
    Registration,
    Stream,
)
from tests.engine.calls import COPY_CALLS, swap

_PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


@pytest.fixture
def stream(driver: CudaDriver) -> Iterator[Stream]:
    """A created stream in the current context of GPU 0."""
    with driver.primary_context():
        yield driver.stream(non_blocking=True)


@pytest.fixture(
    params=[
        ("created", "batch"),
        ("created", "kernel"),
        ("null", "loop"),
        ("null", "bridge"),
    ],
    ids=" ".join,
)
def how(request: pytest.FixtureRequest, stream: Stream) -> dict[str, Any]:
    """That stream, or the legacy one, and an engine for it: all check alike."""
    kind, engine = request.param
    return {"stream": stream.handle if kind == "created" else 0, "engine": engine}


def address_of(buffer: mmap.mmap | bytearray) -> int:
    """Where a writable buffer lies."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def refused(
    simulator: kvswap_sim.Simulator,
    sources: list[int],
    destinations: list[int],
    sizes: list[int],
    how: dict[str, Any],
) -> kvswap.SwapError:
    """The error of a call that must be refused with nothing submitted."""
    simulator.clear_trace()
    with pytest.raises(kvswap.SwapError) as raised:
        swap(sources, destinations, sizes, **how)
    called = {call.name for call in simulator.trace()}
    assert not called & COPY_CALLS
    assert raised.value.status == "memory"
    assert raised.value.submitted == 0
    assert "Nothing was submitted" in str(raised.value)
    return raised.value


def test_pageable_memory_both_ways(driver: CudaDriver, how: dict[str, Any]) -> None:
    source, target = bytearray(range(200)), bytearray(200)
    device = driver.device_memory(200)
    swap([address_of(source)], [device.address], [200], **how)
    driver.synchronize()
    swap([device.address], [address_of(target)], [200], **how)
    driver.synchronize()
    assert target == source


def test_managed_memory_both_ways(driver: CudaDriver, how: dict[str, Any]) -> None:
    managed, host = driver.managed_memory(64), driver.pinned_memory(64)
    host.view[:] = bytes(range(64))
    swap([host.address], [managed.address], [64], **how)
    driver.synchronize()
    assert bytes(managed.view) == bytes(range(64))


def test_device_to_device(driver: CudaDriver, how: dict[str, Any]) -> None:
    first, second = driver.device_memory(64), driver.device_memory(64)
    first.write(bytes(range(64)))
    swap([first.address], [second.address], [64], **how)
    driver.synchronize()
    assert second.read() == bytes(range(64))


@pytest.mark.parametrize("side", ["source", "destination"])
@pytest.mark.parametrize("kind", ["wild", "no_access", "unmapped", "noncanonical"])
def test_an_address_that_is_no_memory(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    how: dict[str, Any],
    kind: str,
    side: str,
) -> None:
    good = driver.device_memory(256)
    mapping = mmap.mmap(-1, 4 * _PAGE)
    address = address_of(mapping)
    if kind == "no_access":
        assert _LIBC.mprotect(address + _PAGE, _PAGE, 0) == 0
        bad, size, fault = address + _PAGE - 16, 64, address + _PAGE
    elif kind == "unmapped":
        gap = ctypes.c_void_p(address + 2 * _PAGE)
        assert _LIBC.munmap(gap, ctypes.c_size_t(_PAGE)) == 0
        bad, size, fault = address + _PAGE, _PAGE + 1, address + 2 * _PAGE
        good = driver.device_memory(2 * _PAGE)
    else:
        bad = 0x10000 if kind == "wild" else 0x4000_0000_0000_0000
        size, fault = 64, bad
    host = driver.pinned_memory(2 * _PAGE)
    sources = [host.address, host.address + 64, bad]
    destinations = [good.address, 0, good.address]
    if side == "destination":
        sources, destinations = destinations, sources
        sources[1], destinations[1] = destinations[1], sources[1]
    error = refused(simulator, sources, destinations, [64, 0, size], how)
    assert error.index == 2
    name = "src_ptrs" if side == "source" else "dst_ptrs"
    assert f"{name}[2] = {bad:#x}" in str(error)
    verb, gerund = ("read", "reading") if side == "source" else ("written", "writing")
    assert (
        f"host memory that can be {verb}: address {fault:#x} is not mapped for {gerund} "
        "in this process. Check that its tensor or buffer still lives"
    ) in str(error)
    memory = error.source_memory if side == "source" else error.destination_memory
    assert memory is not None
    assert memory.kind == "none"
    if kind == "no_access":
        _LIBC.mprotect(address + _PAGE, _PAGE, mmap.PROT_READ | mmap.PROT_WRITE)


def test_memory_that_may_only_be_read(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, how: dict[str, Any]
) -> None:
    mapping = mmap.mmap(-1, _PAGE)
    mapping[:64] = bytes(range(64))
    address = address_of(mapping)
    assert _LIBC.mprotect(address, _PAGE, mmap.PROT_READ) == 0
    device = driver.device_memory(64)
    swap([address], [device.address], [64], **how)
    driver.synchronize()
    assert device.read() == bytes(range(64))
    error = refused(simulator, [device.address], [address], [64], how)
    assert f"dst_ptrs[0] = {address:#x}" in str(error)
    assert "can be written" in str(error)
    _LIBC.mprotect(address, _PAGE, mmap.PROT_READ | mmap.PROT_WRITE)


@pytest.mark.parametrize("side", ["source", "destination"])
def test_a_mapping_past_the_end_of_its_file(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    how: dict[str, Any],
    side: str,
    tmp_path: pathlib.Path,
) -> None:
    """Permissions allow it; touching it would raise SIGBUS."""
    path = tmp_path / "file"
    path.write_bytes(bytes(3 * _PAGE))
    with path.open("r+b") as file:
        mapping = mmap.mmap(file.fileno(), 3 * _PAGE)
        os.ftruncate(file.fileno(), _PAGE)
    address = address_of(mapping)
    device = driver.device_memory(2 * _PAGE)
    sources, destinations = [address], [device.address]
    if side == "destination":
        sources, destinations = destinations, sources
    error = refused(simulator, sources, destinations, [2 * _PAGE], how)
    assert error.index == 0
    assert f"{address + _PAGE:#x}" in str(error) or side == "destination"


@pytest.mark.parametrize("side", ["source", "destination"])
@pytest.mark.parametrize("kind", ["device", "pinned", "managed", "registered"])
def test_a_range_past_its_end(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    how: dict[str, Any],
    kind: str,
    side: str,
) -> None:
    mapping = mmap.mmap(-1, 4 * _PAGE)
    makers: dict[str, Callable[[], DeviceMemory | PinnedMemory | Registration]] = {
        "device": lambda: driver.device_memory(1000),
        "pinned": lambda: driver.pinned_memory(1000),
        "managed": lambda: driver.managed_memory(1000),
        "registered": lambda: driver.register(address_of(mapping) + 100, 1000),
    }
    memory = makers[kind]()
    other = driver.device_memory(4096)
    sources = [memory.address, memory.address + 900]
    destinations = [other.address, other.address + 999]
    if side == "destination":
        sources, destinations = destinations, sources
    assert swap(sources, destinations, [1000, 100], **how).submitted == 2
    driver.synchronize()
    error = refused(simulator, sources, destinations, [1000, 101], how)
    assert error.index == 1
    assert "1 bytes past the end" in str(error)
    blamed = error.source_memory if side == "source" else error.destination_memory
    assert blamed is not None
    assert (blamed.range_start, blamed.range_size) == (memory.address, 1000)
    expected = "pinned" if kind == "registered" else kind
    assert blamed.kind == expected


@pytest.mark.parametrize("side", ["source", "destination"])
def test_a_seam_between_registrations(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    how: dict[str, Any],
    side: str,
) -> None:
    """The driver refuses a copy across a seam: copy engines get it in two pieces."""
    mapping = mmap.mmap(-1, 4 * _PAGE)
    address = address_of(mapping)
    driver.register(address, _PAGE)
    driver.register(address + _PAGE, _PAGE)
    device = driver.device_memory(2 * _PAGE)
    content = random.Random(side).randbytes(2 * _PAGE)
    # Up to the seam, from it on, and across it in the middle and at either end.
    starts = [0, _PAGE, 16, 1, _PAGE - 1]
    for start in starts:
        mapping[: 4 * _PAGE] = bytes(4 * _PAGE)
        device.write(bytes(2 * _PAGE))
        columns = [address + start], [device.address + 7], [_PAGE]
        if side == "source":
            mapping[: 2 * _PAGE] = content
            arrived = swap(*columns, **how)
            driver.synchronize()
            expected = bytes(7) + content[start : start + _PAGE]
            assert device.read() == expected.ljust(2 * _PAGE, b"\0")
        else:
            device.write(content)
            arrived = swap(columns[1], columns[0], columns[2], **how)
            driver.synchronize()
            expected = bytes(start) + content[7 : 7 + _PAGE]
            assert mapping[: 4 * _PAGE] == expected.ljust(4 * _PAGE, b"\0")
        assert (arrived.submitted, arrived.submitted_bytes) == (1, _PAGE)
        assert arrived.copies[how["engine"]] == 1


def test_no_copy_engine_copies_across_a_seam(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    mapping = mmap.mmap(-1, 4 * _PAGE)
    address = address_of(mapping)
    for page in range(4):
        driver.register(address + page * _PAGE, _PAGE)
    device = driver.device_memory(4 * _PAGE)
    simulator.clear_trace()
    # Neighbours on both sides, too: what is put together stays within a registration.
    swap(
        [address + 16, address + _PAGE + 16],
        [device.address + 16, device.address + _PAGE + 16],
        [_PAGE, 2 * _PAGE + 100],
        stream=stream,
        engine="batch",
    )
    pieces = [
        piece
        for call in simulator.trace("cuMemcpyBatchAsync")
        for piece in zip(
            call.arguments["sources"], call.arguments["sizes"], strict=True
        )
    ]
    position = address + 16
    for source, size in pieces:
        assert source == position
        assert (source - address) // _PAGE == (source + size - 1 - address) // _PAGE
        position += size
    assert position == address + 3 * _PAGE + 116
    stream.synchronize()


@pytest.mark.parametrize("engine", ["batch", "loop", "kernel"])
def test_memory_behind_the_last_registration_is_past_the_end(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream, engine: str
) -> None:
    mapping = mmap.mmap(-1, 4 * _PAGE)
    address = address_of(mapping)
    driver.register(address, _PAGE)
    driver.register(address + _PAGE, _PAGE)
    device = driver.device_memory(4 * _PAGE)
    how = {"stream": stream, "engine": engine}
    error = refused(simulator, [address + 9], [device.address], [2 * _PAGE], how)
    assert "9 bytes past the end" in str(error)


def test_a_read_only_registration_as_destination_is_the_drivers_to_refuse(
    driver: CudaDriver, how: dict[str, Any]
) -> None:
    mapping = mmap.mmap(-1, _PAGE)
    driver.register(address_of(mapping), _PAGE, read_only=True)
    device = driver.device_memory(64)
    with pytest.raises(kvswap.SwapError) as raised:
        swap([device.address], [address_of(mapping)], [64], **how)
    assert raised.value.status == "driver"
    assert raised.value.cuda_error == 1
    assert raised.value.submitted == 0


def test_virtual_memory(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, how: dict[str, Any]
) -> None:
    """Mappings beside each other are one memory; what is not mapped is none."""
    granularity = driver.mapping_granularity()
    virtual = driver.virtual_memory(4 * granularity)
    for piece in (0, 1):
        virtual.map(piece * granularity, granularity, device=0)
    host = driver.pinned_memory(2 * granularity)
    host.view[:256] = bytes(range(256))
    border = virtual.address + granularity
    swap([host.address], [border - 128], [256], **how)
    swap([host.address], [virtual.address], [64], **how)
    driver.synchronize()
    assert simulator.peek(border - 128, 256) == bytes(range(256))

    whole = swap([host.address], [virtual.address], [2 * granularity], **how)
    assert whole.submitted == 1
    driver.synchronize()
    error = refused(simulator, [host.address], [border + 1], [granularity], how)
    assert "1 bytes past the end" in str(error)
    error = refused(simulator, [host.address], [border + granularity], [1], how)
    assert error.destination_memory is not None
    assert error.destination_memory.kind == "none"


def test_one_question_a_range(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    """Not one a block: 1,000 blocks in three ranges are three questions."""
    host = driver.pinned_memory(64000)
    devices = [driver.device_memory(32000) for _ in range(2)]
    destinations = [
        devices[index % 2].address + index // 2 * 64 for index in range(1000)
    ]
    simulator.clear_trace()
    swap(
        [host.address + index * 64 for index in range(1000)],
        destinations,
        [64] * 1000,
        stream=stream,
    )
    assert len(simulator.trace("cuPointerGetAttributes")) == 3
    stream.synchronize()


def test_freed_memory_is_noticed_by_the_next_call(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, how: dict[str, Any]
) -> None:
    """Nothing is remembered across calls that freeing could falsify."""
    host, device = driver.pinned_memory(64), driver.device_memory(64)
    swap([host.address], [device.address], [64], **how)
    driver.synchronize()
    device.close()
    error = refused(simulator, [host.address], [device.address], [64], how)
    assert error.index == 0
