"""Two saved runs beside each other: what is said of them, and the exit status."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from kvswap import bench
from kvswap.benchmark import compare
from kvswap.benchmark.results import Results, ResultsError, read
from tests.python import bench_results


def results(document: dict[str, Any], name: str = "a.json") -> Results:
    return Results(
        document["preset"],
        document["environment"],
        document["rows"],
        document["problems"],
        name,
    )


def save(path: pathlib.Path, document: dict[str, Any]) -> str:
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def compared(first: dict[str, Any], second: dict[str, Any]) -> compare.Comparison:
    return compare.compare(results(first), results(second, "b.json"))


def verdicts(comparison: compare.Comparison, method: str) -> set[str]:
    return {
        change.verdict
        for change in comparison.changes
        if change.row["method"] == method
    }


def test_equal_runs() -> None:
    found = compared(bench_results.speed_table(), bench_results.speed_table())
    assert {change.ratio for change in found.changes} == {1.0}
    assert {change.verdict for change in found.changes} == {compare.SAME}
    assert len(found.changes) == 2 * 8 * 10
    assert (found.only_first, found.only_second, found.warnings) == ([], [], [])
    assert found.below(1.0) == []


def test_a_slower_and_a_faster_run() -> None:
    before, after = bench_results.speed_table(), bench_results.speed_table(0.9)
    slower, faster = compared(before, after), compared(after, before)
    assert verdicts(slower, "auto") == {compare.SLOWER}
    assert verdicts(slower, "kernel") == {compare.SAME}
    assert verdicts(faster, "auto") == {compare.FASTER}
    means = {row["direction"]: row for row in compare.means(slower)}
    assert means["h2d"]["auto"] == pytest.approx(0.9, abs=1e-3)
    # Of auto, kernel, batch and loop one is slower.
    assert means["h2d"]["kvswap"] == pytest.approx(0.9**0.25, abs=1e-3)
    assert means["h2d"]["alternatives"] == means["d2h"]["limit"] == 1.0
    assert means["h2d"]["cells"] == 80
    assert len(slower.below(0.95)) == 16
    assert slower.below(0.89) == []


def test_what_is_within_the_noise_is_no_change() -> None:
    noisy = compared(
        bench_results.speed_table(spread=0.06),
        bench_results.speed_table(0.9, spread=0.06),
    )
    assert verdicts(noisy, "auto") == {compare.SAME}
    # The noise of one of them is enough.
    noisy = compared(
        bench_results.speed_table(spread=0.001),
        bench_results.speed_table(0.95, spread=0.06),
    )
    assert verdicts(noisy, "auto") == {compare.SAME}
    assert len(noisy.below(0.96)) == 16, "which --fail-below does not ask for"


def test_no_spread_no_verdict() -> None:
    after = bench_results.speed_table(0.5)
    for row in after["rows"]:
        row["p90_us"] = None
    found = compared(bench_results.speed_table(), after)
    assert verdicts(found, "auto") == {compare.UNKNOWN}
    assert "160 without a spread" in "\n".join(compare.lines(found))


def test_what_is_only_in_one() -> None:
    before = bench_results.speed_table(methods=("auto", "kernel"))
    after = bench_results.speed_table(methods=("auto", "gather"))
    # A row without a number is none.
    after["rows"].append({**after["rows"][0], "method": "kernel", "median_us": None})
    found = compared(before, after)
    assert {row["method"] for row in found.only_first} == {"kernel"}
    assert {row["method"] for row in found.only_second} == {"gather"}
    assert len(found.only_first) == len(found.only_second) == 16
    text = "\n".join(compare.lines(found))
    assert "Only in a.json: 16" in text and "Only in b.json: 16" in text
    assert "h2d 8,192 x 2 KiB, created, throughput: gather" in text


def test_other_machines_are_told() -> None:
    after = bench_results.speed_table()
    after["environment"].update(device="NVIDIA H100", driver_build="570.1", date="x")
    after["environment"].pop("cpu")  # an older file: no reason to warn
    after["problems"] = ["a wrong byte"]
    found = compared(bench_results.speed_table(), after)
    assert found.warnings == [
        "device differs: NVIDIA H200 in a.json, NVIDIA H100 in b.json",
        "driver_build differs: 580.159.04 in a.json, 570.1 in b.json",
        "b.json had 1 problems",
    ]
    assert "WARNING: device differs" in "\n".join(compare.lines(found))


def test_a_limit_of_other_bytes_is_compared_by_the_byte() -> None:
    after = bench_results.speed_table(methods=("auto",))
    for row in after["rows"]:
        if row["method"] == "limit":
            for name in ("bytes", "median_us", "p10_us", "p90_us"):
                row[name] /= 2
    found = compared(bench_results.speed_table(), after)
    assert verdicts(found, "limit") == {compare.SAME}
    assert compare.means(found)[0]["limit"] == pytest.approx(1.0)


def test_runs_of_other_kinds_are_not_compared() -> None:
    table = bench_results.speed_table()
    with pytest.raises(ResultsError, match="runs of the same kind"):
        compared(table, bench_results.document("grid", table["rows"]))
    with pytest.raises(ResultsError, match="no cell in common"):
        compared(table, bench_results.speed_table(streams=("legacy",)))


@pytest.mark.parametrize(
    ("preset", "column", "low", "high"),
    [
        ("host", "host_us", "host_p10_us", "host_p90_us"),
        ("submission", "submit_median_us", "submit_p10_us", "submit_p90_us"),
        ("compute", "gemm_ratio", "gemm_ratio_p10", "gemm_ratio_p90"),
    ],
)
def test_each_kind_has_its_number(
    preset: str, column: str, low: str, high: str
) -> None:
    place = {
        "direction": "d2h",
        "size": 64,
        "count": 8,
        "stream": "created",
        "priority": "throughput",
        "method": "auto",
    }

    def one(cost: float) -> dict[str, Any]:
        row = {**place, column: cost, low: cost * 0.99, high: cost * 1.01}
        return bench_results.document(preset, [row])

    (change,) = compared(one(2.0), one(4.0)).changes
    assert (change.ratio, change.verdict) == (0.5, compare.SLOWER)


def test_geometric_mean() -> None:
    assert compare.geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert compare.geometric_mean([1.0, 4.0, 2.0]) == pytest.approx(2.0)


# As a program -----------------------------------------------------------------


def run(*arguments: str) -> int:
    return bench.main(arguments)


def test_exit_statuses(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = save(tmp_path / "before.json", bench_results.speed_table())
    after = save(tmp_path / "after.json", bench_results.speed_table(0.9))
    assert run("--compare", before, after) == 0
    text = capsys.readouterr().out
    assert "0 faster, 16 slower, 144 the same" in text
    assert "h2d" in text and "0.900" in text
    assert run("--compare", before, after, "--fail-below", "0.95") == 4
    assert "16 of kvswap's cells are under it" in capsys.readouterr().out
    assert run("--compare", before, after, "--fail-below", "0.85") == 0
    assert run("--compare", before, before, "--fail-below", "1") == 0
    assert run("--compare", before, str(tmp_path / "none.json")) == 1
    assert "cannot read" in capsys.readouterr().err


def test_as_json(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = save(tmp_path / "before.json", bench_results.speed_table())
    after = save(tmp_path / "after.json", bench_results.speed_table(1.2))
    assert run("--compare", before, after, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["preset"]) == (1, "compare")
    assert found["compared"] == "table"
    autos = [row for row in found["rows"] if row["method"] == "auto"]
    assert len(autos) == 16
    assert {row["verdict"] for row in autos} == {"faster"}
    assert all(row["ratio"] == pytest.approx(1.2, abs=1e-3) for row in autos)
    # It is no run.
    wrong = save(tmp_path / "comparison.json", found)
    assert run("--from", wrong) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "it is no object"),
        ('{"preset": "table"}', "there is no 'environment'"),
        ('{"preset": "table", "environment": {}, "rows": [{}]}', "has no 'method'"),
        (
            '{"schema": 99, "preset": "table", "environment": {}, "rows": []}',
            "update kvswap",
        ),
    ],
)
def test_files_that_hold_no_results(
    tmp_path: pathlib.Path, text: str, message: str
) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultsError, match=message):
        read(str(path))
