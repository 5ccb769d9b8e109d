"""Signals whose handlers raise, at every point of a call; faulthandler beside calls."""

from __future__ import annotations

import functools
import os
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import kvswap
import kvswap_sim
from kvswap import in_flight
from tests import child_process
from tests.faults.verdict import COPY_ENTRIES
from tests.faults.world import World

_PACKAGE = str(Path(kvswap.__file__).parent)


class _Interrupted(BaseException):
    """What a signal's handler raises."""


def _interrupt(call: Callable[[], object], point: int) -> bool:
    """Makes a call, and raises at the `point`-th place where a handler could run.

    Handlers run between any two instructions of Python code.

    Returns:
        Whether the call has so many places.
    """
    passed = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal passed
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event in ("call", "opcode"):
            passed += 1
            if passed == point:
                raise _Interrupted
        return trace

    sys.settrace(trace)
    try:
        call()
    except _Interrupted:
        return True
    finally:
        sys.settrace(None)
    return False


class _Owner:
    """Stands for the tensors of a pool."""


def _pools(world: World) -> tuple[kvswap.BlockPool, kvswap.BlockPool]:
    host, device = (
        kvswap.BlockPool.from_regions([(memory.address, 4096, 4096)], 2, owner=_Owner())
        for memory in (world.host, world.device)
    )
    return host, device


def _owners(pools: tuple[kvswap.BlockPool, ...]) -> list[weakref.ref[object]]:
    return [weakref.ref(owner) for pool in pools for owner in pool._owners]


def test_what_copies_need_is_kept_wherever_a_call_is_interrupted(
    simulator: kvswap_sim.Simulator,
) -> None:
    """Memory whose copies are under way is not let go of: neither that of the call that a
    handler interrupts, nor that of earlier ones, which it looks at."""
    world = World(simulator, "non_blocking", "current")
    in_flight._calls.clear()
    submitted = 0
    point = 0
    is_interrupted = True
    with world.calling_thread():
        while is_interrupted:
            point += 1
            kept: list[weakref.ref[object]] = []
            for _ in range(3):
                pools = _pools(world)
                kvswap.copy_blocks(*pools, [(0, 0)], stream=world.stream)
                kept += _owners(pools)
            simulator.clear_trace()
            pools = _pools(world)
            own = _owners(pools)
            call = functools.partial(
                kvswap.copy_blocks, *pools, [(0, 1)], stream=world.stream
            )
            is_interrupted = _interrupt(call, point)
            if COPY_ENTRIES & {call.name for call in simulator.trace()}:
                submitted += is_interrupted
                kept += own
            del pools, call
            assert simulator.pending() != 0
            assert all(owner() is not None for owner in kept), point
            world.synchronize()
            while in_flight.count():
                in_flight.release_done()
            assert all(owner() is None for owner in kept), point
    assert simulator.violations() == []
    # Many places before the copies, and some after them.
    assert point > 50
    assert submitted > 5


def test_copies_are_over_where_nothing_can_be_kept(
    simulator: kvswap_sim.Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(entry: object) -> None:
        raise MemoryError

    monkeypatch.setattr(in_flight, "keep", fail)
    world = World(simulator, "non_blocking", "current")
    with world.calling_thread():
        with pytest.raises(MemoryError):
            kvswap.copy_blocks(*_pools(world), [(0, 0)], stream=world.stream)
        assert [call for call in simulator.trace() if call.name in COPY_ENTRIES]
        assert simulator.pending() == 0
        assert simulator.live()["events"] == 0


def _run(function: str, *arguments: object, signal: int) -> Any:
    environment = kvswap_sim.environment("13.0")
    environment["SLOW_DRIVER_OF"] = environment["KVSWAP_LIBCUDA"]
    environment["KVSWAP_LIBCUDA"] = os.path.abspath(os.environ["SLOW_DRIVER"])
    environment["SLOW_DRIVER_SIGNAL"] = str(signal)
    return child_process.run(
        "tests.faults.interrupt_bodies",
        function,
        *arguments,
        environment=environment,
    )


@pytest.mark.parametrize("logs", [False, True])
@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "SystemExit", "TimeoutError"])
def test_a_handler_that_raises_inside_of_a_call(kind: str, logs: bool) -> None:
    """The call is made to its end, the exception comes out of it, and the next calls go
    well; also where Python code of the log is what the handler interrupts."""
    if logs and kind == "TimeoutError":
        pytest.skip("logging's own handlers take an Exception for a failure of theirs")
    assert _run("raise_in_handler", kind, logs, signal=10) == {
        "raised": [kind, kind],
        "is_back": True,
        "later": True,
        "unraisable": 0,
        "violations": [],
    }


def test_faulthandler_tells_of_a_thread_inside_of_a_call() -> None:
    outcome = _run("dump_inside", signal=12)
    assert "in into" in outcome["dump"], outcome
    assert outcome["is_back"]


def test_faulthandler_beside_many_threads() -> None:
    outcome = _run("dump_beside", 4, signal=0)
    assert outcome["wrong"] == 0
    assert outcome["dumps"] > 0
