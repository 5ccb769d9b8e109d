"""A fresh simulated driver with memory, streams and a capture of somebody else's.

Everything that a case of the fault matrix works on, and what can be seen of it afterwards:
which copies were made, what is left alive, whether the captures are as they were.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy

from kvswap.testing import cuda_driver
from kvswap.testing.cuda_driver import CudaDriver
from kvswap_sim import Simulator
from tests.blocks import UNTOUCHED

STREAMS = ("null", "legacy", "per_thread", "blocking", "non_blocking", "capturing")
# What is current on the calling thread: the context of the copies, none, or another GPU's.
THREADS = ("current", "none", "other")

_HANDLES = {"null": 0, "legacy": 1, "per_thread": 2}
_GAP = 64
# Sizes of the copies in each direction: for the AUTO engine some for a kernel (both
# kernels, for out of the GPU), and two for a copy engine. Odd ones, and zeros.
_TO_GPU = (700, 0, 1, 333, 1024, 140_001, 135_168)
_FROM_GPU = (*(48 + 16 * n for n in range(12)), 0, *(2048,) * 12, 7, 140_003, 135_168)

# Begins and ends the capture that no call may disturb: on a thread of its own.
_bystander_thread = ThreadPoolExecutor(1)


@dataclass(frozen=True)
class Layout:
    """Descriptors by offsets into a host and a device area of `size` bytes each."""

    size: int
    # (is to the GPU, source offset, destination offset, size)
    copies: tuple[tuple[bool, int, int, int], ...]


@functools.cache
def layout() -> Layout:
    """The descriptors of a call: both directions mixed, gaps between all blocks."""
    draw = random.Random(7)
    sizes = [(True, size) for size in _TO_GPU] + [(False, size) for size in _FROM_GPU]
    draw.shuffle(sizes)
    offsets = {True: 16, False: 16}  # of the host area, of the device area
    copies = []
    for to_gpu, size in sizes:
        places = []
        for host in (to_gpu, not to_gpu):
            places.append(offsets[host])
            offsets[host] += -(-size // 16) * 16 + _GAP
        copies.append((to_gpu, places[0], places[1], size))
    return Layout(max(offsets.values()), tuple(copies))


@functools.cache
def _content(size: int, seed: int) -> bytes:
    # Random bytes, none of them UNTOUCHED.
    table = bytes(value if value != UNTOUCHED else 0 for value in range(256))
    return random.Random(seed).randbytes(size).translate(table)


@functools.cache
def _before(holds_sources_to_gpu: bool) -> bytes:
    """An area before the copies: sources in place, everything else UNTOUCHED."""
    content = bytearray([UNTOUCHED]) * layout().size
    random_bytes = _content(layout().size, int(holds_sources_to_gpu))
    for to_gpu, source, _, size in layout().copies:
        if to_gpu is holds_sources_to_gpu:
            content[source : source + size] = random_bytes[source : source + size]
    return bytes(content)


@functools.cache
def _contents() -> tuple[bytes, ...]:
    """What each copy writes."""
    return tuple(
        _before(to_gpu)[source : source + size]
        for to_gpu, source, _, size in layout().copies
    )


@functools.lru_cache(maxsize=64)
def _after(written: frozenset[int], holds_sources_to_gpu: bool) -> bytes:
    """An area after these copies and no others."""
    content = bytearray(_before(holds_sources_to_gpu))
    for index in written:
        to_gpu, _, destination, size = layout().copies[index]
        if to_gpu is not holds_sources_to_gpu:
            content[destination : destination + size] = _contents()[index]
    return bytes(content)


@dataclass(frozen=True)
class Bytes:
    """What a call wrote.

    Attributes:
        written: positions of the descriptors whose destination holds the source.
        bytes: how many they are.
        is_clean: whether every byte that is in none of those is as it was.
    """

    written: frozenset[int]
    bytes: int
    is_clean: bool


class World:
    """One case: made anew, used for a faulty and a healthy call, and looked at."""

    def __init__(self, simulator: Simulator, stream: str, thread: str) -> None:
        simulator.reset()
        self.simulator = simulator
        self.driver = driver = CudaDriver(simulator.path)
        self.context = driver.retain_primary(0)
        self.other_context = driver.retain_primary(1)
        self.is_capturing = stream == "capturing"
        self._thread = thread
        self._layout = layout()
        size = self._layout.size
        with self.context.current():
            self.host = driver.pinned_memory(size)
            self.device = driver.device_memory(size)
            created = None
            if stream not in _HANDLES:
                created = driver.stream(non_blocking=stream != "blocking")
            self.stream: Any = created if created is not None else _HANDLES[stream]
            self._bystander = driver.stream(non_blocking=True)
            self._bystander_memory = driver.device_memory(64)
        self._created = created
        self.clear()
        # Only what synchronisation needs runs: the worst that a driver may do.
        simulator.hold()

    # Memory ------------------------------------------------------------------

    def clear(self) -> None:
        """Sources get their content, everything else UNTOUCHED."""
        self.simulator.poke(self.host.address, _before(True))
        self.simulator.poke(self.device.address, _before(False))

    def descriptors(self) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
        """The arrays of a call."""
        sources, destinations, sizes = [], [], []
        for to_gpu, source, destination, size in self._layout.copies:
            areas = (self.host, self.device) if to_gpu else (self.device, self.host)
            sources.append(areas[0].address + source)
            destinations.append(areas[1].address + destination)
            sizes.append(size)
        return (
            numpy.array(sources, dtype=numpy.int64),
            numpy.array(destinations, dtype=numpy.int64),
            numpy.array(sizes, dtype=numpy.int64),
        )

    def position_of(self, destination: int) -> int | None:
        """The descriptor that writes to an address."""
        found = numpy.flatnonzero(
            (self.descriptors()[1] == destination) & (self.descriptors()[2] != 0)
        )
        return int(found[0]) if len(found) else None

    @property
    def copy_count(self) -> int:
        """Descriptors that copy something."""
        return sum(size != 0 for *_, size in self._layout.copies)

    def look(self) -> Bytes:
        """What was copied since `clear`, of what has run."""
        actual = {
            True: self.simulator.peek(self.device.address, self._layout.size),
            False: self.simulator.peek(self.host.address, self._layout.size),
        }
        written = frozenset(
            index
            for index, (to_gpu, _, destination, size) in enumerate(self._layout.copies)
            if size and actual[to_gpu].startswith(_contents()[index], destination)
        )
        total = sum(self._layout.copies[index][3] for index in written)
        is_clean = all(actual[to] == _after(written, not to) for to in (True, False))
        return Bytes(written, total, is_clean)

    # Calls -------------------------------------------------------------------

    @contextlib.contextmanager
    def calling_thread(self) -> Iterator[None]:
        """This thread as the case has it: with that context, or without any."""
        if self._thread == "none":
            yield
            return
        context = self.context if self._thread == "current" else self.other_context
        with context.current():
            yield

    def begin_captures(self) -> None:
        """Somebody else's capture begins, in global mode, and the case's own."""

        def begin() -> None:
            self._bystander.begin_capture(cuda_driver.CAPTURE_GLOBAL)
            with self.context.current():
                self.driver.fill_async(
                    self._bystander_memory.address, 1, 64, self._bystander
                )

        _bystander_thread.submit(begin).result()
        if self.is_capturing:
            assert self._created is not None
            self._created.begin_capture(cuda_driver.CAPTURE_GLOBAL)

    def end_captures(self) -> list[str]:
        """Ends them; launches what the case's own holds. Returns what is wrong."""
        problems = []
        graph: cuda_driver.Graph | None = None

        def end() -> str | None:
            if self._bystander.capture_status() != cuda_driver.CAPTURE_STATUS_ACTIVE:
                with contextlib.suppress(cuda_driver.CudaError):
                    self._bystander.end_capture()
                return "another thread's capture was invalidated"
            with self._bystander.end_capture() as other:
                nodes = other.node_count()
            return None if nodes == 1 else f"its graph has {nodes} nodes, not 1"

        if self.is_capturing:
            assert self._created is not None
            if self._created.capture_status() == cuda_driver.CAPTURE_STATUS_ACTIVE:
                graph = self._created.end_capture()
                if self.look().written:
                    problems.append("copied while it was captured")
            else:
                problems.append("the stream's own capture was invalidated")
                with contextlib.suppress(cuda_driver.CudaError):
                    self._created.end_capture()
        if problem := _bystander_thread.submit(end).result():
            problems.append(problem)
        if self._created is not None and graph is not None:
            with graph, graph.instantiate() as executable:
                executable.launch(self._created)
                self.driver.synchronize_stream(self._created)
        return problems

    def exchange_capture_mode(self) -> int:
        """This thread's capture mode; it is what threads begin with from here on."""
        mode = ctypes.c_int(cuda_driver.CAPTURE_GLOBAL)
        self.driver.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
        return mode.value

    def synchronize(self) -> None:
        """Waits for the stream of the case, and for nothing else."""
        with self.context.current():
            self.driver.synchronize_stream(self.stream)

    def live(self) -> dict[str, int]:
        """Objects that are alive, but for work that has not run."""
        counts = self.simulator.live()
        counts.pop("pending")
        return counts
