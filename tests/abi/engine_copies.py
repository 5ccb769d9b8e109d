"""Bodies of engine_matrix_test, run in child processes by tests.child_process.

One process is one driver: in it, every engine copies between every kind of memory and
memory of the other side, on every kind of stream.
"""

from __future__ import annotations

import ctypes
import mmap
import random
from collections.abc import Callable
from typing import Any

import numpy

import kvswap
from kvswap.testing.cuda_driver import CudaDriver
from kvswap_sim import Simulator
from tests.blocks import UNTOUCHED

ENGINES = ("auto", "batch", "loop", "kernel", "bridge")
STREAMS = ("null", "legacy", "per_thread", "created", "blocking", "capturing")
# What the driver functions that submit copies are called, by engine.
COPY_CALLS = {
    "batch": "cuMemcpyBatchAsync",
    "loop": "cuMemcpyAsync",
    "kernel": "cuLaunchKernel",
    "bridge": "cuMemcpyBatchAsync",
}

COUNT = 64
_BLOCK = 4096
# Blocks lie apart, and those of the one side in the other's reverse order: copy engines
# get each by itself.
_SLOT = _BLOCK + 48
_SIZE = COUNT * _SLOT
_BLANK = bytes([UNTOUCHED]) * _SIZE


class Area:
    """Memory of a kind, its first byte at an odd multiple of 8."""

    def __init__(
        self, address: int, owners: list[Any], driver: CudaDriver | None
    ) -> None:
        self.address = address
        self._owners = owners
        # Through which its content is read and written; None: it is host memory.
        self._driver = driver

    def read(self) -> bytes:
        """What it holds."""
        if self._driver is None:
            return ctypes.string_at(self.address, _SIZE)
        return self._driver.read(self.address, _SIZE)

    def write(self, data: bytes) -> None:
        """Gives it content, all of it."""
        if self._driver is None:
            ctypes.memmove(self.address, data, _SIZE)
        else:
            self._driver.write(self.address, data)

    def blocks(self) -> list[int]:
        """Addresses of the blocks."""
        return [self.address + index * _SLOT for index in range(COUNT)]


def _device(driver: CudaDriver) -> Area:
    memory = driver.device_memory(_SIZE + 8)
    return Area(memory.address + 8, [memory], driver)


def _managed(driver: CudaDriver) -> Area:
    memory = driver.managed_memory(_SIZE + 8)
    return Area(memory.address + 8, [memory], driver)


def _pinned(driver: CudaDriver) -> Area:
    memory = driver.pinned_memory(_SIZE + 8)
    return Area(memory.address + 8, [memory], None)


def _virtual(driver: CudaDriver) -> Area:
    """Two mappings whose border lies in the middle of a block."""
    granularity = driver.mapping_granularity()
    virtual = driver.virtual_memory(2 * granularity)
    for piece in (0, 1):
        virtual.map(piece * granularity, granularity, 0)
    start = virtual.address + granularity - COUNT // 2 * _SLOT - _BLOCK // 2 - 8
    return Area(start, [virtual], driver)


def _host_pages(driver: CudaDriver, pages: int | None) -> Area:
    """Memory of the process, registered `pages` at a time; None: not registered."""
    length = -(-(_SIZE + 8) // mmap.PAGESIZE) * mmap.PAGESIZE
    mapping = mmap.mmap(-1, length)
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    owners: list[Any] = [mapping]
    if pages is not None:
        step = pages * mmap.PAGESIZE or length
        owners += [
            driver.register(address + start, min(step, length - start))
            for start in range(0, length, step)
        ]
    return Area(address + 8, owners, None)


# Each kind of memory, and whether the other side of its copies is the GPU's.
MEMORY: dict[str, tuple[Callable[[CudaDriver], Area], bool]] = {
    "device": (_device, False),
    "managed": (_managed, False),
    "virtual": (_virtual, False),
    "pinned": (_pinned, True),
    "registered": (lambda driver: _host_pages(driver, 0), True),
    "pageable": (lambda driver: _host_pages(driver, None), True),
    # Every fifth block, about, lies across a seam.
    "seams": (lambda driver: _host_pages(driver, 5), True),
}


def _stream(driver: CudaDriver, kind: str) -> Any:
    special = {"null": 0, "legacy": 1, "per_thread": 2}
    if kind in special:
        return special[kind]
    return driver.stream(non_blocking=kind != "blocking")


def _handle(stream: Any) -> int:
    return stream if isinstance(stream, int) else int(stream.handle)


def _copied(source: bytes, order: list[int]) -> bytes:
    """What memory holds after copies from block i to block order[i]."""
    result = bytearray(_BLANK)
    for start, to in enumerate(order):
        result[to * _SLOT : to * _SLOT + _BLOCK] = source[
            start * _SLOT : start * _SLOT + _BLOCK
        ]
    return bytes(result)


class Matrix:
    """The driver of this process, with memory of every kind."""

    def __init__(self, driver: CudaDriver) -> None:
        self.driver = driver
        self.simulator = Simulator()
        self.streams = {kind: _stream(driver, kind) for kind in STREAMS}
        self.areas = {kind: make(driver) for kind, (make, _) in MEMORY.items()}
        self.others = {True: _device(driver), False: _pinned(driver)}
        self.order = list(reversed(range(COUNT)))
        # Random bytes, none of them UNTOUCHED.
        table = bytes(value if value != UNTOUCHED else 0 for value in range(256))
        self.contents = [
            random.Random(seed).randbytes(_SIZE).translate(table) for seed in (1, 2)
        ]

    def copy(
        self, source: Area, destination: Area, engine: str, stream_kind: str
    ) -> dict[str, Any]:
        """One call, and whether every byte of the destination is right after it."""
        stream = self.streams[stream_kind]
        data = self.contents[source is self.others[True]]
        source.write(data)
        destination.write(_BLANK)
        to = destination.blocks()
        columns = [
            numpy.array(column, dtype=numpy.int64)
            for column in (
                source.blocks(),
                [to[index] for index in self.order],
                [_BLOCK] * COUNT,
            )
        ]
        is_captured = stream_kind == "capturing"
        plan = kvswap.plan(*columns, stream=stream, engine=engine)
        if is_captured:
            stream.begin_capture()
        self.simulator.clear_trace()
        try:
            result = kvswap.swap_blocks_batch(*columns, stream=stream, engine=engine)
        finally:
            calls = [
                call
                for call in self.simulator.trace()
                if call.name in COPY_CALLS.values()
            ]
            graph = stream.end_capture() if is_captured else None
        if graph is not None:
            assert destination.read() == _BLANK, "copied while it was captured"
            with graph, graph.instantiate() as executable:
                executable.launch(stream)
                stream.synchronize()
        self.driver.synchronize()
        return {
            "engine": result.engine,
            "unavailable": result.unavailable,
            "copies": {name: n for name, n in result.copies.items() if n},
            "submitted": [result.submitted, result.submitted_bytes],
            "is_as_planned": is_captured
            or (plan.engine, plan.unavailable, plan.driver_calls)
            == (result.engine, result.unavailable, len(calls)),
            "calls": sorted({call.name for call in calls}),
            "is_on_the_stream": {call.arguments["stream"] for call in calls}
            == {_handle(stream)},
            "is_right": destination.read() == _copied(data, self.order)
            and source.read() == data,
        }


def copy_everything() -> dict[str, list[dict[str, Any]]]:
    """Out of and into each kind of memory, by "engine stream memory"."""
    driver = CudaDriver()
    outcomes: dict[str, list[dict[str, Any]]] = {}
    with driver.primary_context():
        matrix = Matrix(driver)
        for engine in ENGINES:
            for stream in STREAMS:
                for memory, (_, is_host) in MEMORY.items():
                    area, other = matrix.areas[memory], matrix.others[is_host]
                    outcomes[f"{engine} {stream} {memory}"] = [
                        matrix.copy(*sides, engine, stream)
                        for sides in ((other, area), (area, other))
                    ]
        driver.synchronize()
    violations = Simulator().violations()
    assert violations == [], violations
    return outcomes


def plan_everything(seed: int) -> dict[str, dict[str, Any]]:
    """What `auto` would do with copies of clear sizes, by "copies bytes stream"."""
    driver = CudaDriver()
    draw = random.Random(seed)
    outcomes: dict[str, dict[str, Any]] = {}
    with driver.primary_context():
        streams = {kind: _stream(driver, kind) for kind in STREAMS}
        streams["capturing"].begin_capture(mode=2)
        size = 1 << 23
        host, device = driver.pinned_memory(size), driver.device_memory(size)
        for count, block in ((1, 64), (1, size), (COUNT, 4096), (COUNT, size // 2)):
            for kind, stream in streams.items():
                offsets = [
                    [draw.randrange(0, size - block + 1, 64) for _ in range(count)]
                    for _ in range(2)
                ]
                plan = kvswap.plan(
                    numpy.array([host.address + offset for offset in offsets[0]]),
                    numpy.array([device.address + offset for offset in offsets[1]]),
                    numpy.array([block] * count),
                    stream=stream,
                )
                outcomes[f"{count} {block} {kind}"] = {
                    "engine": plan.engine,
                    "unavailable": plan.unavailable,
                    "copies": {k: n for k, n in plan.engine_copies.items() if n},
                }
        streams["capturing"].end_capture()
    return outcomes
