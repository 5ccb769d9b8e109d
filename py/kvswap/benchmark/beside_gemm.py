"""Copies and a matrix multiplication that run at the same time, both without a gap."""

from __future__ import annotations

import bisect
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kvswap.benchmark.gpu import Gpu
from kvswap.benchmark.samples import Sample

_PAUSE = 5e-5  # between looks at the GPU
_MOST_CALLS = 4096


@dataclass(frozen=True)
class BesideSample(Sample):
    """`seconds` is of one multiplication.

    Attributes:
        gb_per_s: what the copies reached meanwhile; None where there were none, or too
            few to tell.
    """

    gb_per_s: float | None = None


class Gemm:
    """A graph of many multiplications of one shape, in bf16."""

    def __init__(
        self, gpu: Gpu, shape: tuple[int, int, int], seconds: float, priority: int
    ) -> None:
        """Measures one, and captures as many as take about so long."""
        torch = gpu.torch
        rows, columns, depth = shape
        self._gpu = gpu
        self._torch = torch
        self._stream = torch.cuda.Stream(priority=priority)
        like = {"dtype": torch.bfloat16, "device": gpu.torch_device}
        left = torch.randn(rows, depth, **like)
        right = torch.randn(depth, columns, **like)
        product = torch.empty(rows, columns, **like)
        self.begin, self.end = gpu.timing_event(), gpu.timing_event()
        gpu.synchronize()
        with torch.cuda.stream(self._stream):
            for _ in range(20):
                torch.matmul(left, right, out=product)
            trial = 50
            gpu.record(self.begin, self._stream.cuda_stream)
            for _ in range(trial):
                torch.matmul(left, right, out=product)
            gpu.record(self.end, self._stream.cuda_stream)
        gpu.synchronize()
        once = gpu.seconds_between(self.begin, self.end) / trial
        self.count = max(10, round(seconds / once))
        self._kept = left, right, product
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(
            self._graph, stream=self._stream, capture_error_mode="thread_local"
        ):
            for _ in range(self.count):
                torch.matmul(left, right, out=product)
        self.start()
        gpu.synchronize()

    def start(self) -> None:
        """Submits all of it, between two events."""
        handle = self._stream.cuda_stream
        with self._torch.cuda.stream(self._stream):
            self._gpu.record(self.begin, handle)
            self._graph.replay()
            self._gpu.record(self.end, handle)

    def is_done(self) -> bool:
        """Whether all of it is."""
        return self._gpu.is_done(self.end)


class CopyFlow:
    """Calls on a stream, always several submitted ahead."""

    def __init__(
        self, gpu: Gpu, submit: Callable[[], None], stream: int, call_bytes: int
    ) -> None:
        self._gpu = gpu
        self._submit = submit
        self._stream = stream
        self._call_bytes = call_bytes
        self._free: list[int] = []
        self._origin = gpu.timing_event()
        self._waiting: deque[int] = deque()
        self._finished: list[int] = []

    def start(self, ahead: int) -> None:
        """Submits the first calls, and returns when one of them is done."""
        self._free += self._finished
        self._finished = []
        self._gpu.record(self._origin, self._stream)
        self.top_up(ahead)
        self._gpu.wait(self._waiting[0])

    def top_up(self, ahead: int) -> None:
        """Submits until so many calls are waiting."""
        while self._waiting and self._gpu.is_done(self._waiting[0]):
            self._finished.append(self._waiting.popleft())
        while len(self._waiting) < ahead and len(self._finished) < _MOST_CALLS:
            event = self._free.pop() if self._free else self._gpu.timing_event()
            self._submit()
            self._gpu.record(event, self._stream)
            self._waiting.append(event)

    def finish(self) -> None:
        """Waits for what is waiting."""
        while self._waiting:
            event = self._waiting.popleft()
            self._gpu.wait(event)
            self._finished.append(event)

    def rate_between(self, begin: int, end: int) -> float | None:
        """GB/s between two events; after `finish`."""
        first = self._gpu.seconds_between(self._origin, begin)
        last = self._gpu.seconds_between(self._origin, end)
        times = [
            self._gpu.seconds_between(self._origin, event) for event in self._finished
        ]
        return rate_inside(times, first, last, self._call_bytes)


def rate_inside(
    times: Sequence[float], first: float, last: float, call_bytes: int
) -> float | None:
    """GB/s between two times of calls that run one after another from time 0 on.

    Args:
        times: when they ended, in ascending order.
        first: from when on.
        last: until when; or until the last call ended, if that is earlier.
        call_bytes: of each call, taken to move evenly.

    Returns:
        None where there is nothing between.
    """
    if not times:
        return None
    last = min(last, times[-1])
    if last <= first:
        return None
    return (
        (_moved(times, last) - _moved(times, first)) * call_bytes / (last - first) / 1e9
    )


def _moved(times: Sequence[float], at: float) -> float:
    """How many calls were done at a time, with the part of the one that ran."""
    done = bisect.bisect_right(times, at)
    if done == len(times):
        return float(done)
    begin = times[done - 1] if done else 0.0
    return done + (at - begin) / (times[done] - begin)


class Alone:
    """The multiplication without copies."""

    name = "alone"

    def __init__(self, gpu: Gpu, gemm: Gemm) -> None:
        self._gpu = gpu
        self._gemm = gemm

    def measure(self) -> BesideSample:
        """One round."""
        self._gpu.synchronize()
        self._gemm.start()
        while not self._gemm.is_done():
            time.sleep(_PAUSE)
        seconds = self._gpu.seconds_between(self._gemm.begin, self._gemm.end)
        return BesideSample(seconds / self._gemm.count, 0.0)


class Beside:
    """The multiplication beside copies."""

    def __init__(
        self, name: str, gpu: Gpu, gemm: Gemm, flow: CopyFlow, ahead: int
    ) -> None:
        self.name = name
        self._gpu = gpu
        self._gemm = gemm
        self._flow = flow
        self._ahead = ahead

    def measure(self) -> BesideSample:
        """One round: copies run from before the first multiplication to the last."""
        self._gpu.synchronize()
        self._flow.start(self._ahead)
        self._gemm.start()
        while not self._gemm.is_done():
            self._flow.top_up(self._ahead)
            time.sleep(_PAUSE)
        self._flow.finish()
        self._gpu.synchronize()
        gemm = self._gemm
        seconds = self._gpu.seconds_between(gemm.begin, gemm.end)
        rate = self._flow.rate_between(gemm.begin, gemm.end)
        return BesideSample(seconds / gemm.count, 0.0, gb_per_s=rate)
