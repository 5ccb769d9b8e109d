"""Methods that are ready to be measured, and what stands against some."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from kvswap.benchmark.cells import REPLAY, Cell
from kvswap.benchmark.gpu import Gpu, UnavailableError
from kvswap.benchmark.method_words import LIMIT
from kvswap.benchmark.methods import METHODS, Maker, Method, OneCopy
from kvswap.benchmark.pools import Blocks, Pools
from kvswap.benchmark.samples import Sample
from kvswap.benchmark.streams import Stopwatch, open_stream
from kvswap.testing.cuda_driver import CAPTURE_THREAD_LOCAL, GraphExecutable

# They wait, or the driver refuses them while a stream captures.
_NEEDS_NO_CAPTURE = ("cuda_core", "gather", "one_batch_call", "torch_copy")


class WrongBytesError(Exception):
    """A method did not copy what it should have."""


class TimedMethod:
    """A method on each stream of a cell: one for each direction."""

    def __init__(
        self,
        name: str,
        methods: Sequence[Method],
        blocks: Sequence[Blocks],
        stopwatch: Stopwatch,
    ) -> None:
        self.name = name
        self._methods = list(methods)
        self._blocks = blocks
        self._stopwatch = stopwatch
        self.engines_text = ""

    def submit(self) -> None:
        """Submits all."""
        for method in self._methods:
            method.submit()

    def check(self) -> None:
        """Runs once, and looks at every block.

        Raises:
            WrongBytesError: one is wrong.
            UnavailableError: the method cannot run here.
        """
        for blocks in self._blocks:
            blocks.clear()
        self.submit()
        self._stopwatch.synchronize()
        for blocks in self._blocks:
            wrong = blocks.wrong()
            if wrong is not None:
                raise WrongBytesError(f"{self.name}: {wrong}")
        engines = [method.engines() for method in self._methods]
        self._stopwatch.synchronize()
        self.engines_text = "; ".join(filter(None, engines))

    def measure(self) -> Sample:
        """One round."""
        return self._stopwatch.measure(self.submit)


class Replayed:
    """A graph that a method was captured to."""

    def __init__(self, gpu: Gpu, method: Method, stream: int) -> None:
        self._gpu = gpu
        self._method = method
        self._stream = stream
        self._executable = self._capture()

    def _capture(self) -> GraphExecutable:
        driver, stream = self._gpu.driver, ctypes.c_void_p(self._stream)
        driver.call(
            "cuStreamBeginCapture_v2", stream, ctypes.c_int(CAPTURE_THREAD_LOCAL)
        )
        graph, error = ctypes.c_void_p(), None
        try:
            self._method.submit()
        except Exception as problem:  # the capture has to end first
            error = problem
        code = driver.result("cuStreamEndCapture", stream, ctypes.byref(graph))
        if error is not None:
            raise error
        if code != 0:
            raise UnavailableError(f"its capture ended with {driver.error_name(code)}")
        executable = ctypes.c_void_p()
        driver.call(
            "cuGraphInstantiateWithFlags",
            ctypes.byref(executable),
            graph,
            ctypes.c_ulonglong(0),
        )
        driver.call("cuGraphDestroy", graph)
        return GraphExecutable(driver, executable.value or 0)

    def submit(self) -> None:
        self._executable.launch(self._stream)

    def engines(self) -> str:
        return self._method.engines()

    def __del__(self) -> None:
        executable = getattr(self, "_executable", None)
        if executable is not None:
            executable.close()


class Workshop:
    """Makes contenders."""

    def __init__(self, pools: Pools, limit_bytes: int, events: bool) -> None:
        self.pools = pools
        self.gpu = pools.gpu
        self.limit_bytes = min(limit_bytes, pools.pool_bytes)
        self._events = events
        self._streams: dict[tuple[str, int], int] = {}

    def stream(self, kind: str, number: int = 0) -> int:
        """A stream of a kind; the same for the same number."""
        if kind == REPLAY:
            kind, number = "created", number + 100
        key = (kind, number)
        if key not in self._streams:
            self._streams[key] = open_stream(self.gpu, kind)
        return self._streams[key]

    def contender(
        self,
        label: str,
        maker: Maker,
        cell: Cell,
        blocks: Sequence[Blocks],
        stream: int | None = None,
    ) -> TimedMethod:
        """A method for a cell, checked.

        Raises:
            UnavailableError: it cannot run there.
            WrongBytesError: it copies wrongly.
        """
        streams = self._streams_of(cell, len(blocks), stream)
        methods = []
        for part, handle in zip(blocks, streams, strict=True):
            method = maker(part, handle, cell.priority)
            if cell.stream == REPLAY:
                method = Replayed(self.gpu, method, handle)
            methods.append(method)
        stopwatch = Stopwatch(self.gpu, streams, self._events)
        contender = TimedMethod(label, methods, blocks, stopwatch)
        contender.check()
        return contender

    def _streams_of(self, cell: Cell, parts: int, stream: int | None) -> list[int]:
        if stream is not None:
            return [stream]
        return [self.stream(cell.stream, number) for number in range(parts)]

    def method(self, name: str, cell: Cell, blocks: Sequence[Blocks]) -> TimedMethod:
        """A method of METHODS for a cell; raises as `contender`."""
        if cell.stream == REPLAY and name in _NEEDS_NO_CAPTURE:
            raise UnavailableError("capturing")
        return self.contender(name, METHODS[name], cell, blocks)

    def limit(self, cell: Cell, blocks: Sequence[Blocks]) -> TimedMethod:
        """The limit of a cell's directions, on created streams."""
        streams = [self.stream("created", number) for number in range(len(blocks))]
        copies = [
            OneCopy(part, handle, self.limit_bytes)
            for part, handle in zip(blocks, streams, strict=True)
        ]
        return TimedMethod(
            LIMIT, copies, [], Stopwatch(self.gpu, streams, self._events)
        )
