"""Every driver call fails in turn; what may come of it is in verdict.py.

FAULTS_ENGINES names the engines (all, if unset); with FAULTS=all every call answers with
every code, else with a few, other ones in each case.
"""

from __future__ import annotations

import os

import pytest

import kvswap
import kvswap_sim
from tests.faults import matrix
from tests.faults.matrix import Case, Summary
from tests.faults.operations import ENGINES
from tests.faults.world import STREAMS

_ENGINES = os.environ.get("FAULTS_ENGINES", " ".join(ENGINES)).split()
_IS_ALL = os.environ.get("FAULTS") == "all"

# Entries of the driver table that no operation calls.
_NOT_CALLED = {
    "cuDriverGetVersion": "as the driver is found: missing_entries_test.py",
    "cuGetErrorString": "never",
}


def _run(simulator: kvswap_sim.Simulator, cases: list[Case], number: int) -> Summary:
    summary = Summary()
    for position, case in enumerate(cases):
        few = 2 if case.operation == "swap" and case.thread == "current" else 1
        code_count = len(matrix.CODES) if _IS_ALL else few
        summary.add(matrix.run_case(simulator, case, number + position, code_count))
    print(summary)
    return summary


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("engine", _ENGINES)
def test_every_call_fails_in_turn(
    simulator: kvswap_sim.Simulator, engine: str, stream: str
) -> None:
    number = len(STREAMS) * ENGINES.index(engine) + STREAMS.index(stream)
    summary = _run(simulator, matrix.cases(engine, stream), number)
    assert summary.problems == []
    assert summary.cases > 100


@pytest.mark.skipif("auto" not in _ENGINES, reason="in the test of the engine auto")
def test_what_has_no_engine(simulator: kvswap_sim.Simulator) -> None:
    summary = _run(simulator, matrix.other_cases(), 0)
    assert summary.problems == []


@pytest.mark.skipif("auto" not in _ENGINES, reason="in the test of the engine auto")
def test_every_entry_of_the_driver_table_fails(
    simulator: kvswap_sim.Simulator,
) -> None:
    """A new entry is in the matrix by itself, or this test says that nothing calls it."""
    cases = [
        Case("swap", "loop", "null", "none"),
        Case("swap", "bridge", "null", "current"),
        Case("pools", "kernel", "blocking", "current"),
        *matrix.other_cases(),
    ]
    summary = Summary()
    for case in cases:
        summary.add(matrix.run_case(simulator, case, 0, 1))
    entries = {entry.name for entry in kvswap.driver_info().entries}
    assert entries - summary.entries == _NOT_CALLED.keys()
    assert summary.problems == []


def test_a_codeless_driver_is_healthy(simulator: kvswap_sim.Simulator) -> None:
    """The matrix's own control: without a failure no case has a problem."""
    for engine in _ENGINES:
        for stream in STREAMS:
            for case in matrix.cases(engine, stream):
                matrix.baseline_of(simulator, case)
