"""The benchmark as a whole, on the simulated driver: it runs, compares bytes, and tells.

Its times are the simulation's, so nothing is said of them.
"""

from __future__ import annotations

from typing import Any

import pytest

import kvswap_sim
from tests import child_process

SMALL = ("--pool-bytes=4M", "--limit-bytes=1M", "--rounds=3", "--seconds=60")


def run(*arguments: str, version: str = "13.0") -> dict[str, Any]:
    """The benchmark's results; it has to succeed."""
    outcome: dict[str, Any] = child_process.run(
        "tests.python.simulated_gpu",
        "run_benchmark",
        *SMALL,
        *arguments,
        environment=kvswap_sim.environment(version),
    )
    found: dict[str, Any] = outcome["json"]
    assert outcome["status"] == 0, found["problems"]
    assert found["problems"] == []
    assert found["environment"]["device"].startswith("Simulated")
    return found


def measured(found: dict[str, Any]) -> set[str]:
    """The methods that have a number."""
    return {row["method"] for row in found["rows"] if row.get("gb_per_s")}


def test_speed_table_on_all_streams() -> None:
    found = run(
        "--sizes=1000",
        "--counts=8",
        "--directions=h2d,d2h,d2d,both",
        "--stream=created,legacy,per_thread,replay",
    )
    assert {"limit", "auto", "batch", "loop", "one_batch_call", "copy_loop"} <= (
        measured(found)
    )
    assert {"torch_copy", "gather"} <= measured(found)
    cells = {(row["direction"], row["stream"]) for row in found["rows"]}
    assert len(cells) == 3 * 4 + 2
    for row in found["rows"]:
        if row["method"] == "auto":
            assert row["engines"] and row["share_of_limit"] > 0
            assert "batch" not in row["engines"] or row["stream"] not in (
                "legacy",
                "replay",
            )


def test_grid() -> None:
    found = run("--grid", "--sizes=512,4K", "--counts=1,16")
    autos = [row for row in found["rows"] if row["method"] == "auto"]
    assert len(autos) == 3 * 2 * 2
    assert all(row["ratio_to_best"] > 0 for row in autos)


@pytest.mark.parametrize("version", ["12.4", "13.0"])
def test_streams(version: str) -> None:
    found = run("--streams", "--sizes=2K", "--counts=16", version=version)
    assert {"auto, created", "auto, legacy", "auto, replay", "auto, no batch call"} <= (
        measured(found)
    )
    assert ("batch, created" in measured(found)) == (version == "13.0")
    for row in found["rows"]:
        if row["method"] == "auto, no batch call":
            assert "batch" not in row["engines"]


def test_submission() -> None:
    found = run("--submission", "--sizes=2K", "--counts=50")
    assert "C ABI, auto, 20 mappings" in measured(found)
    rows = {(row["method"], row["count"]): row for row in found["rows"]}
    assert rows["C ABI, auto", 50]["submit_ns_per_block"] > 0
    assert rows["Python, auto", 1]["ratio_to_bare"] > 0


def test_bytes_are_looked_at() -> None:
    directions: dict[str, Any] = child_process.run(
        "tests.python.simulated_gpu",
        "look_at_blocks",
        environment=kvswap_sim.environment("13.0"),
    )
    assert list(directions) == ["h2d", "d2h", "d2d"]
    for found in directions.values():
        assert "10 of 10 blocks" in found["cleared"]
        assert found["copied"] is None
        assert "1 of 10 blocks" in found["spoilt"] and "number 7" in found["spoilt"]
