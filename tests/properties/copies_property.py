"""Bodies of copies_property_test, run in child processes: one driver in each."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import hypothesis

import kvswap
from kvswap.testing.cuda_driver import Context, CudaDriver, Stream
from kvswap_sim import Simulator
from tests.engine.calls import COPY_CALLS, arrays
from tests.properties.arena import Arena
from tests.properties.bounds import bounded
from tests.properties.copies_model import Copy, Fault, Model, Place
from tests.properties.copies_strategy import Call, calls

# The copy engines get lists of so many copies: within one, all neighbours are joined.
_LIST = 2048


class Bench:
    """A driver, its memory and streams, and calls on them."""

    def __init__(self) -> None:
        self.simulator = Simulator()
        self.driver = CudaDriver(self.simulator.path)
        self.contexts: list[Context] = [
            self.driver.retain_primary(device) for device in (0, 1)
        ]
        with self.contexts[0].current():
            self.arena = Arena(self.driver, self.simulator)
            self.streams = {
                "created": self.driver.stream(non_blocking=True),
                "capturing": self.driver.stream(non_blocking=True),
                "blocking": self.driver.stream(),
            }
        self.model = Model(self.arena, self.driver.version())
        self._has_peers = False

    def stream(self, kind: str) -> Stream | int:
        """A stream of a kind."""
        if kind in self.streams:
            return self.streams[kind]
        return {"null": 0, "legacy": 1, "per_thread": 2}[kind]

    def synchronize(self) -> None:
        """Waits for both GPUs."""
        for context in self.contexts:
            context.synchronize()

    def _let_peers(self, has_peers: bool) -> None:
        """Gives the context of GPU 0 access to the memory of GPU 1, or takes it back."""
        if has_peers == self._has_peers:
            return
        self._has_peers = has_peers
        with self.contexts[0].current():
            if has_peers:
                self.driver.enable_peer_access(self.contexts[1])
            else:
                self.driver.disable_peer_access(self.contexts[1])

    def check(self, call: Call) -> None:
        """Makes a call, and holds what happens to the model."""
        self.arena.fill(call.content)
        self._let_peers(call.has_peers)
        self.simulator.seed = call.seed
        self.simulator.hold(call.hold)
        self.simulator.clear_violations()
        columns = arrays(
            [copy.source for copy in call.copies],
            [copy.destination for copy in call.copies],
            [copy.size for copy in call.copies],
        )
        options = {**call.options(), "stream": self.stream(call.stream)}
        kept = [copy for copy in call.copies if copy.size != 0]
        fault = self.model.fault(call.copies)
        place = self.model.place(kept, call.stream, call.has_peers)
        with self.contexts[call.current].current() as current, self._captured(call):
            planned = self._attempt(lambda: kvswap.plan(*columns, **options))
            self.simulator.clear_trace()
            swapped = self._attempt(
                lambda: kvswap.swap_blocks_batch(*columns, **options)
            )
            submitted = self._copy_calls()
            assert self.driver.current_context() == current.handle
        refusal = fault or self._unsupported(call, kept, place)
        refused = (
            []
            if refusal
            else [copy for copy in kept if self.model.driver_refuses(copy, place)]
        )
        if refusal is not None:
            for outcome in (planned, swapped):
                assert isinstance(outcome, Exception), outcome
                _check_error(outcome, refusal)
            assert submitted == []
        elif refused:
            if isinstance(planned, Exception):
                raise planned
            self.synchronize()
            self._check_refused(call, kept, swapped, refused[0], place)
        else:
            for outcome in (planned, swapped):
                if isinstance(outcome, Exception):
                    raise outcome
            self._check_result(call, kept, planned, swapped, submitted, place)
            for copy in kept:
                self.arena.copy(copy.source, copy.destination, copy.size)
        self.synchronize()
        assert self.arena.differences() == []
        assert self.simulator.violations() == []

    @staticmethod
    def _attempt(make: Any) -> Any:
        try:
            return make()
        except (kvswap.SwapError, ValueError) as error:
            return error

    @contextlib.contextmanager
    def _captured(self, call: Call) -> Iterator[None]:
        """Captures what a call submits, and launches it later, where it is to be so."""
        if call.stream != "capturing":
            yield
            return
        stream = self.streams["capturing"]
        stream.begin_capture()
        yield
        with stream.end_capture() as graph:
            self.synchronize()
            # Nothing has been copied: the model is as it was.
            assert self.arena.differences() == []
            with graph.instantiate() as executable:
                with self.contexts[0].current():
                    executable.launch(self.streams["created"])
                self.synchronize()

    def _copy_calls(self) -> list[Any]:
        calls = self.simulator.trace()
        return [call for call in calls if call.name in COPY_CALLS]

    def _check_refused(
        self,
        call: Call,
        kept: list[Copy],
        error: Any,
        first: Copy,
        place: Place,
    ) -> None:
        """The driver refuses a copy: it is named, and the model does what was done."""
        assert isinstance(error, kvswap.SwapError), repr(error)
        assert (error.status, error.cuda_error) == ("driver", 1), str(error)
        assert error.index == call.copies.index(first), str(error)
        position = kept.index(first)
        by_kernel = [
            call.engine == "kernel" and self.model.reached(c, place) for c in kept
        ]
        is_done = []
        for number, copy in enumerate(kept):
            before, after = self.arena.states(copy.source, copy.destination, copy.size)
            if not before and not after:
                # Of a batch that it refuses the driver may do what is ahead of the refused
                # one; that can be a part of a copy across a border.
                assert self.model.is_split(copy), (number, "in part")
                assert number < position or call.engine == "auto", number
                self.arena.take_over(copy.source, copy.destination, copy.size)
                is_done.append(False)
                continue
            # Of a copy of what was there already nobody can tell.
            assert after or not by_kernel[number], number
            may_be_done = (
                number < position or by_kernel[number] or call.engine == "auto"
            )
            assert before or may_be_done, number
            assert before or not self.model.driver_refuses(copy, place), number
            is_done.append(after)
            if after:
                self.arena.copy(copy.source, copy.destination, copy.size)
        assert error.submitted <= sum(is_done), str(error)
        if self.model.copy_engine(call.stream, call.engine) == "loop":
            if call.engine != "auto":
                in_turn = [
                    n < position or is_kernel for n, is_kernel in enumerate(by_kernel)
                ]
                assert error.submitted == sum(in_turn), str(error)
            assert all(is_done[:position])

    def _unsupported(self, call: Call, kept: list[Copy], place: Place) -> Fault | None:
        """What no engine can do."""
        if not kept:
            return None
        engines = self.model.engines(kept, call.stream, call.engine, place)
        refused = Fault("unsupported", -1)
        if call.src_access == "during_api_call" and set(engines) != {"batch"}:
            return refused
        if call.strict and call.engine != "auto" and set(engines) != {call.engine}:
            return refused
        return None

    def _check_result(
        self,
        call: Call,
        kept: list[Copy],
        planned: kvswap.Plan,
        swapped: kvswap.SwapResult,
        submitted: list[Any],
        place: Place,
    ) -> None:
        size = sum(copy.size for copy in kept)
        dropped = len(call.copies) - len(kept)
        assert (swapped.submitted, swapped.submitted_bytes) == (len(kept), size)
        assert (planned.copies, planned.bytes) == (len(kept), size)
        assert swapped.dropped == planned.dropped == dropped
        assert swapped.pageable == self.model.pageable(kept)
        ran = {name: count for name, count in swapped.copies.items() if count}
        assert sum(ran.values()) == len(kept)
        assert ran == {n: count for n, count in planned.engine_copies.items() if count}
        assert swapped.engine == planned.engine
        assert swapped.unavailable == planned.unavailable
        assert planned.capturing == (call.stream == "capturing" and bool(kept))
        assert planned.driver_calls == len(submitted)
        for each in submitted:
            if each.name == "cuMemcpyBatchAsync":
                assert each.arguments["count"] <= min(planned.max_batch, 32768)
        if call.engine != "auto" and call.current == 0:
            expected = self.model.engines(kept, call.stream, call.engine, place)
            assert ran == expected
        self._check_joined(kept, planned, ran, submitted)

    def _check_joined(
        self,
        kept: list[Copy],
        planned: kvswap.Plan,
        ran: dict[str, int],
        submitted: list[Any],
    ) -> None:
        """Neighbours are put together where they can be, and nowhere else."""
        if "kernel" in ran:
            return
        elements = sum(
            each.arguments["count"] if each.name == "cuMemcpyBatchAsync" else 1
            for each in submitted
        )
        if any(self.model.is_split(copy) for copy in kept):
            assert elements + planned.coalesced >= len(kept)
            assert planned.coalesced <= self.model.joined(kept)
            return
        assert elements == len(kept) - planned.coalesced
        if len(kept) <= _LIST:
            assert planned.coalesced == self.model.joined(kept)


def _check_error(error: Exception, fault: Fault) -> None:
    if fault.status == "argument":
        assert isinstance(error, ValueError), repr(error)
        named = re.search(r"\[(\d+)\]", str(error))
        assert named is not None and int(named[1]) == fault.index, str(error)
        return
    assert isinstance(error, kvswap.SwapError), repr(error)
    assert error.status == fault.status, str(error)
    assert (error.submitted, error.submitted_bytes) == (0, 0)
    if fault.index >= 0:
        assert error.index == fault.index, str(error)


def try_calls(examples: int, about: str = "all") -> int:
    """Tries random calls on this process's driver; how many.

    Args:
        examples: how many.
        about: one of ABOUT.
    """
    bench = Bench()
    tried = 0

    @bounded(examples)
    @hypothesis.given(calls(bench.arena, about))
    def every_call_is_as_the_model_says(call: Call) -> None:
        nonlocal tried
        tried += 1
        bench.check(call)

    every_call_is_as_the_model_says()
    return tried
