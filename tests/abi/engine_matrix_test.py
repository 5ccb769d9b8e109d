"""Every engine on every driver, kind of stream and kind of memory: bytes, engine, reason.

Each driver is one process; engine_expectations.py is the table of what must come of it.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import pytest

import kvswap_sim
from tests import child_process
from tests.abi import drivers
from tests.abi.engine_copies import COPY_CALLS, COUNT, ENGINES, MEMORY, STREAMS
from tests.abi.engine_expectations import LARGE_ROWS, ROWS, expect

_BYTES = COUNT * 4096

# The list of tests.abi.drivers that is named; all: every driver.
_DRIVERS = getattr(drivers, os.environ.get("MATRIX_DRIVERS", "ALL"))


def _run(scenario: str, version: str, *arguments: Any, seed: int) -> dict[str, Any]:
    outcome = child_process.run(
        "tests.abi.engine_copies",
        scenario,
        *arguments,
        environment=kvswap_sim.environment(version, seed=seed),
    )
    assert isinstance(outcome, dict)
    return outcome


@functools.cache
def _outcomes(version: str) -> dict[str, Any]:
    # Another order of work on each driver.
    return _run("copy_everything", version, seed=drivers.number(version))


def _mistakes(outcome: dict[str, Any], ran: str, reasons: dict[str, str]) -> list[str]:
    """What a call came to that it should not have."""
    expected = {
        "engine": ran,
        "unavailable": reasons,
        "copies": {ran: COUNT},
        "submitted": [COUNT, _BYTES],
        "is_as_planned": True,
        "calls": [COPY_CALLS[ran]],
        # The bridge has a stream of its own.
        "is_on_the_stream": ran != "bridge",
        "is_right": True,
    }
    assert outcome.keys() == expected.keys()
    return [
        f"{name} is {outcome[name]}, not {value}"
        for name, value in expected.items()
        if outcome[name] != value
    ]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", _DRIVERS)
def test_bytes_engine_and_reason(version: str, engine: str) -> None:
    outcomes = _outcomes(version)
    assert len(outcomes) == len(ENGINES) * len(STREAMS) * len(MEMORY)
    mistakes: dict[str, list[str]] = {}
    for stream in STREAMS:
        for memory in MEMORY:
            ran, reasons = expect(ROWS, engine, version, stream, memory)
            key = f"{engine} {stream} {memory}"
            for way, outcome in zip(("into", "out of"), outcomes[key], strict=True):
                if found := _mistakes(outcome, ran, reasons):
                    mistakes[f"{way} {key}"] = found
    assert mistakes == {}


@pytest.mark.parametrize("version", _DRIVERS)
def test_auto_by_size_and_count(version: str) -> None:
    plans = _run("plan_everything", version, 1, seed=1)
    expected: dict[str, tuple[int, str, dict[str, str]]] = {}
    for stream in STREAMS:
        # A copy by itself: one call of the driver, and no reason why nothing else.
        for size in (64, 1 << 23):
            expected[f"1 {size} {stream}"] = (1, "loop", {})
        for size, rows in ((4096, ROWS), (1 << 22, LARGE_ROWS)):
            expected[f"{COUNT} {size} {stream}"] = (
                COUNT,
                *expect(rows, "auto", version, stream, "pinned"),
            )
    assert plans == {
        key: {"engine": ran, "unavailable": reasons, "copies": {ran: count}}
        for key, (count, ran, reasons) in expected.items()
    }
