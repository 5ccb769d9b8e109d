"""Streams of a kind, and the time that something takes on them."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence

from kvswap.benchmark.cells import LEGACY, PER_THREAD
from kvswap.benchmark.gpu import Gpu
from kvswap.benchmark.samples import Sample
from kvswap.testing.cuda_driver import STREAM_PER_THREAD

_LEGACY_HANDLE = 0


def open_stream(gpu: Gpu, kind: str) -> int:
    """The handle of a stream; a created one lives as long as the process."""
    if kind == LEGACY:
        return _LEGACY_HANDLE
    if kind == PER_THREAD:
        return STREAM_PER_THREAD
    return gpu.stream().handle


class Stopwatch:
    """Measures calls that submit work to streams."""

    def __init__(self, gpu: Gpu, streams: Sequence[int], events: bool) -> None:
        self._gpu = gpu
        self._synchronize = gpu.driver.library.cuStreamSynchronize
        self._streams = [ctypes.c_void_p(stream) for stream in streams]
        self._first = streams[0]
        # Of two streams, no pair of events tells the time.
        self._events = (
            (gpu.timing_event(), gpu.timing_event())
            if events and len(streams) == 1
            else None
        )

    def synchronize(self) -> None:
        """Waits for the streams."""
        for stream in self._streams:
            code = self._synchronize(stream)
            if code != 0:
                raise RuntimeError(
                    "cuStreamSynchronize: " + self._gpu.driver.error_name(code)
                )

    def measure(self, submit: Callable[[], object]) -> Sample:
        """Calls it and waits."""
        self.synchronize()
        if self._events:
            self._gpu.record(self._events[0], self._first)
        begin = time.perf_counter_ns()
        submit()
        submitted = time.perf_counter_ns()
        if self._events:
            self._gpu.record(self._events[1], self._first)
        self.synchronize()
        end = time.perf_counter_ns()
        return Sample(
            (end - begin) / 1e9,
            (submitted - begin) / 1e9,
            self._gpu.seconds_between(*self._events) if self._events else None,
        )
