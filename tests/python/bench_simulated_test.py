"""The benchmark as a whole, on the simulated driver: it runs, compares bytes, and tells.

Its times are the simulation's, so nothing is said of them.
"""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

import kvswap_sim
from tests import child_process

SMALL = ("--pool-bytes=4M", "--limit-bytes=1M", "--rounds=3", "--seconds=60")


def run_outcome(*arguments: str, version: str = "13.0") -> dict[str, Any]:
    """What came of a run."""
    outcome: dict[str, Any] = child_process.run(
        "tests.python.simulated_gpu",
        "run_benchmark",
        *SMALL,
        *arguments,
        environment=kvswap_sim.environment(version),
    )
    return outcome


def run(*arguments: str, version: str = "13.0") -> dict[str, Any]:
    """The benchmark's results; it has to succeed."""
    outcome = run_outcome(*arguments, version=version)
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


def test_model(tmp_path: pathlib.Path) -> None:
    found = run(
        "--model=gpt-oss-20b",
        "--tensor-parallel=8",
        "--block-tokens=4,8",
        "--tokens=10",
        "--layout=split",
        f"--csv={tmp_path / 'run.csv'}",
    )
    assert found["preset"] == "model"
    assert {"limit", "auto", "batch", "loop", "copy_loop"} <= measured(found)
    # 1 head x 64 x 2 bytes of keys, as many of values; 24 layers, 3 or 2 blocks.
    assert {
        (row["size"], row["count"], row["request_copies"]) for row in found["rows"]
    } == {(512, 3 * 48, 3 * 48), (1024, 2 * 48, 2 * 48)}
    for row in found["rows"]:
        assert (row["request_ms"] is None) == (row["method"] == "limit")
        if row["request_ms"]:
            # What was measured is the whole request. Both are rounded.
            assert row["request_ms"] == pytest.approx(row["median_us"] / 1e3, rel=0.02)
    assert (tmp_path / "run.csv").stat().st_size > 1000


def test_part_of_a_model() -> None:
    # 2 MiB of the pool of 4 MiB are room for 128 copies of 16 KiB of the 2,048.
    found = run("--model=llama-3-8b", "--tensor-parallel=4", "--tokens=1024")
    for row in found["rows"]:
        assert (row["count"], row["request_copies"]) == (128, 2048)
        if row["request_ms"]:
            assert row["request_ms"] == pytest.approx(
                16 * row["median_us"] / 1e3, rel=0.02
            )


def test_plot(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "plot.svg"
    outcome = run_outcome(
        "--sizes=1K,2K", "--counts=4", "--engines=auto,loop", f"--plot={path}"
    )
    assert outcome["status"] == 0
    assert f"wrote {path}\n" in outcome["errors"]
    text = path.read_text(encoding="utf-8")
    assert "kvswap auto" in text and "Simulated" in text and "2 KiB" in text


def test_quiet() -> None:
    outcome = run_outcome("--sizes=1K", "--counts=4", "--engines=auto", "--quiet")
    assert outcome["status"] == 0 and outcome["errors"] == ""
    outcome = run_outcome("--sizes=1K", "--counts=4", "--engines=auto")
    assert "[1/2, at most" in outcome["errors"]


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
