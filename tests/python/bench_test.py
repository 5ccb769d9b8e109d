"""``python -m kvswap bench --host``: that it measures and says what; not how much."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests import child_process

WITHOUT_TORCH = ("torch",)


def run(*arguments: str, missing: tuple[str, ...] = WITHOUT_TORCH) -> dict[str, Any]:
    """Runs the program with one round more than the least of each call."""
    outcome: dict[str, Any] = child_process.run(
        "tests.python.child_bodies",
        "run_program",
        ["bench", "--host", "--seconds=0", *arguments],
        list(missing),
        None,
        environment={},
    )
    return outcome


def test_json() -> None:
    outcome = run("--json")
    assert outcome["status"] == 0, outcome["errors"]
    found = json.loads(outcome["output"])
    assert found["arrays"].startswith("NumPy ")
    copies = [call["copies"] for call in found["calls"]]
    assert copies == [1, 1, 8192, 8192, 81920, 81920]
    for call in found["calls"]:
        assert call["rounds"] == 3
        assert 0 < call["least_host_microseconds"] <= call["host_microseconds"]
        # The driver's part was counted, and is not the whole of the call.
        assert call["driver_microseconds"] > 0


def test_table() -> None:
    outcome = run(missing=("torch", "numpy"))
    assert outcome["status"] == 0, outcome["errors"]
    output = outcome["output"]
    assert "host cost of calls, arrays of Python" in output
    assert "which is simulated" in output
    assert re.search(r"swap_blocks_batch, 8,192 blocks +8,192 +[\d,.]+ us", output)


@pytest.mark.parametrize("arguments", [("--nohost",)])
def test_nothing_to_measure(arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert outcome["status"] == 1
    assert "nothing to measure without --host" in outcome["errors"]
