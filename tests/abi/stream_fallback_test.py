"""Where the batch engine cannot run, why, and that every byte is right.

engine_matrix_test has the other engines, and more kinds of memory.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest

import kvswap_sim
from tests import child_process
from tests.abi import drivers
from tests.abi.engine_expectations import ROWS, expect

# Two seeds: the simulated driver runs work in another order with each.
_SEEDS = (1, 20)
_KINDS = ("null", "legacy", "per_thread", "created", "blocking")
_ENGINES = ("batch", "loop")


def _run(scenario: str, version: str, *arguments: Any, seed: int = 1) -> dict[str, Any]:
    outcome = child_process.run(
        "tests.abi.scenarios",
        scenario,
        *arguments,
        environment=kvswap_sim.environment(version, seed=seed),
    )
    assert isinstance(outcome, dict)
    return outcome


@functools.cache
def _rounds(version: str, seed: int) -> dict[str, Any]:
    return _run("swap_rounds", version, _KINDS, _ENGINES, seed=seed)


def _reason(version: str, kind: str) -> str | None:
    """Why the batch engine cannot run; None: it can."""
    if version in drivers.BEFORE_BATCH:
        return "no_batch_symbol"
    return "legacy_stream" if kind in ("null", "legacy") else None


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("engine", _ENGINES)
@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("version", ["11.4", "12.4", "12.8", "13.5"])
def test_bytes_engine_and_reason(
    version: str, kind: str, engine: str, seed: int
) -> None:
    outcome = _rounds(version, seed)[f"{kind} {engine}"]
    reason = _reason(version, kind)
    runs = "batch" if engine != "loop" and reason is None else "loop"
    expected_reasons = {} if engine == "loop" or reason is None else {"batch": reason}
    assert outcome["engine"] == [runs] * 3
    assert outcome["unavailable"] == [expected_reasons] * 3
    assert outcome["device_differences"] == 0
    assert outcome["host_differences"] == 0

    function = "cuMemcpyBatchAsync" if runs == "batch" else "cuMemcpyAsync"
    assert {call["name"] for call in outcome["calls"]} == {function}
    assert {call["arguments"]["stream"] for call in outcome["calls"]} == {
        outcome["stream"]
    }
    assert len(outcome["calls"]) == outcome["planned_driver_calls"]
    assert outcome["planned_calls_made"] == 0
    assert outcome["submitted"] == outcome["kept"]
    assert outcome["dropped"] > 0
    assert outcome["submitted_bytes"] == outcome["bytes"]
    assert not outcome["leaked"]
    assert outcome["violations"] == []


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize(
    ("version", "kind", "engine"),
    [
        ("12.4", "null", "loop"),
        ("12.4", "created", "loop"),
        ("12.4", "legacy", "kernel"),
        ("12.4", "per_thread", "kernel"),
        ("13.0", "null", "bridge"),
        ("13.0", "legacy", "bridge"),
        ("13.0", "legacy", "kernel"),
        ("13.0", "per_thread", "batch"),
        ("13.0", "created", "batch"),
        ("13.0", "created", "kernel"),
    ],
)
def test_sources_are_read_in_stream_order(
    version: str, kind: str, engine: str, seed: int
) -> None:
    outcome = _run("swap_reads_in_stream_order", version, kind, engine, seed=seed)
    ran, _ = expect(ROWS, engine, version, kind, "pinned")
    assert outcome == {"engine": ran, "differences": 0}


@pytest.mark.parametrize("engine", [*_ENGINES, "kernel", "auto"])
@pytest.mark.parametrize("version", ["11.4", "12.4", "12.8", "13.5"])
def test_captured_copies_become_nodes(version: str, engine: str) -> None:
    outcome = _run("capture_and_replay", version, engine)
    ran, reasons = expect(ROWS, engine, version, "capturing", "pinned")
    assert (outcome["engine"], outcome["unavailable"]) == (ran, reasons)
    assert outcome["plan_capturing"]
    assert outcome["capture_active"]
    assert outcome["nodes"] == outcome["planned_driver_calls"]
    if ran == "loop":
        assert outcome["nodes"] == outcome["kept"]
    else:
        assert 0 < outcome["nodes"] < outcome["kept"]
    assert outcome["untouched_before_launch"]
    assert outcome["differences"] == [0, 0]
    assert outcome["batch_calls"] == 0


@pytest.mark.parametrize("version", ["11.4", "13.5"])
def test_an_invalidated_capture_is_an_error_before_any_other_call(
    version: str,
) -> None:
    outcome = _run("swap_on_invalidated_capture", version)
    assert outcome["status_before"] == 2
    assert outcome["error"]["status"] == "capture"
    assert outcome["error"]["submitted"] == 0
    assert "invalidated" in outcome["error"]["message"]
    assert outcome["calls"] == ["cuStreamIsCapturing"]


@pytest.mark.parametrize("version", ["11.4", "13.5"])
def test_a_capture_elsewhere_stays_valid(version: str) -> None:
    outcome = _run("swap_on_legacy_stream_during_a_capture", version)
    error = outcome["error"]
    assert (error["status"], error["cuda_error"], error["submitted"]) == (
        "capture",
        906,
        0,
    )
    assert "non-blocking stream" in error["message"]
    # Questions only: nothing that could disturb the capture.
    assert set(outcome["calls"]) <= {
        "cuCtxGetCurrent",
        "cuCtxGetDevice",
        "cuPointerGetAttributes",
        "cuStreamIsCapturing",
        "cuGetErrorName",
    }
    assert "cuStreamIsCapturing" in outcome["calls"]
    assert outcome["capture_status"] == 1
    assert outcome["differences"] == 0
