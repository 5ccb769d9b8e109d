"""``python -m kvswap bench``, as far as it needs no GPU: that it measures and says what."""

from __future__ import annotations

import argparse
import contextlib
import csv
import dataclasses
import io
import json
import pathlib
import random
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kvswap import bench
from kvswap.benchmark import grid, host, output, presets, shapes, speed_table
from kvswap.benchmark.arguments import parse_arguments, shapes_for
from kvswap.benchmark.beside_gemm import BesideSample, rate_inside
from kvswap.benchmark.cells import Cell, parse_size, size_text, usual_count
from kvswap.benchmark.compute import rows_of
from kvswap.benchmark.contenders import TimedMethod, WrongBytesError
from kvswap.benchmark.gpu import UnavailableError
from kvswap.benchmark.progress import Progress
from kvswap.benchmark.rounds import RoundSettings, TimeBudget, interleave
from kvswap.benchmark.samples import Sample, Summary, quantile
from kvswap.benchmark.session import Session, cell_rows, prepared
from tests import child_process

WITHOUT_TORCH = ("torch",)


# On the host ------------------------------------------------------------------


def run(
    *arguments: str,
    missing: tuple[str, ...] = WITHOUT_TORCH,
) -> dict[str, Any]:
    """Runs the program in a process of its own."""
    outcome: dict[str, Any] = child_process.run(
        "tests.python.child_bodies",
        "run_program",
        ["bench", *arguments],
        list(missing),
        None,
        environment={},
    )
    return outcome


def test_host_json() -> None:
    outcome = run("--host", "--seconds=0", "--json")
    assert outcome["status"] == 0, outcome["errors"]
    found = json.loads(outcome["output"])
    assert (found["schema"], found["preset"]) == (1, "host")
    assert found["environment"]["arrays"].startswith("NumPy ")
    assert [(row["method"], row["count"]) for row in found["rows"]] == [
        ("C ABI, auto", 1),
        ("Python, auto", 1),
        ("C ABI, auto", 8192),
        ("Python, auto", 8192),
        ("pool, no ticket", 81920),
        ("pool, ticket", 81920),
    ]
    for row in found["rows"]:
        assert row["rounds"] == 3
        assert 0 < row["host_least_us"] <= row["host_p10_us"] <= row["host_us"]
        assert row["host_us"] <= row["host_p90_us"]
        # Both are rounded, the former to a nanosecond of a call.
        assert row["host_ns_per_copy"] == pytest.approx(
            row["host_us"] * 1e3 / row["count"], abs=0.51
        )
        # The driver's part was counted, and is not the whole of the call.
        assert row["driver_us"] > 0


def test_host_engines_and_counts(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "host.csv"
    outcome = run(
        "--host",
        "--seconds=0",
        "--counts=3",
        "--engines=kernel,batch",
        f"--csv={path}",
        "--quiet",
    )
    assert outcome["status"] == 0, outcome["errors"]
    assert outcome["errors"] == "", "not even what was written"
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    assert [(row["method"], row["engines"]) for row in rows[:4]] == [
        ("C ABI, kernel", "kernel 3"),
        ("Python, kernel", "kernel 3"),
        ("C ABI, batch", "batch 3"),
        ("Python, batch", "batch 3"),
    ]
    # Whatever they went by: it is told of every call.
    assert all(row["engines"].endswith(" 81920") for row in rows[4:])
    assert re.search(r"Python, kernel +3 +[\d.]+ us", outcome["output"])


def test_host_table() -> None:
    outcome = run("--host", "--seconds=0", missing=("torch", "numpy"))
    assert outcome["status"] == 0, outcome["errors"]
    output = outcome["output"]
    assert "on simulated driver" in output and "arrays of Python" in output
    assert "which is simulated" in output
    assert re.search(r"Python, auto +8,192 +[\d,.]+ [mu]s", output)
    for word in ("C ABI", "Python", "pool", "ticket", "engines"):
        assert re.search(rf"^{word}.*: +\w", output, re.MULTILINE), "explained"


def test_files_that_were_written_are_named(tmp_path: pathlib.Path) -> None:
    paths = [tmp_path / name for name in ("run.json", "run.csv")]
    outcome = run("--host", "--seconds=0", f"--json={paths[0]}", f"--csv={paths[1]}")
    assert outcome["status"] == 0, outcome["errors"]
    written = [line for line in outcome["errors"].splitlines() if "wrote" in line]
    assert written == [f"wrote {path}" for path in paths]
    assert all(path.stat().st_size for path in paths)


def test_program_needs_no_absl() -> None:
    outcome = run("--host", "--seconds=0", missing=("torch", "numpy", "absl"))
    assert outcome["status"] == 0, outcome["errors"]


# Without a GPU ----------------------------------------------------------------


def assert_tells_of_no_gpu(errors: str) -> None:
    """What happened, what to do, and what works all the same."""
    assert errors.startswith("kvswap bench: nothing was measured: ")
    assert "\n  to do:  " in errors
    for works in (
        "bench --host",
        "bench --model NAME",
        "bench --from FILE",
        "kvswap demo",
    ):
        assert works in errors.partition("works without:")[2]


def test_without_torch() -> None:
    outcome = run("--grid")
    assert outcome["status"] == 1
    assert outcome["output"] == ""
    assert_tells_of_no_gpu(outcome["errors"])
    assert (
        "the package torch, which makes the GPU's memory, is missing"
        in (outcome["errors"])
    )
    assert f"{shlex.quote(sys.executable)} -m pip install torch" in outcome["errors"]


def test_torch_without_a_gpu() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    outcome = run(missing=())
    assert outcome["status"] == 1
    assert_tells_of_no_gpu(outcome["errors"])
    assert "finds no CUDA GPU" in outcome["errors"]
    assert "kvswap doctor" in outcome["errors"]


def test_a_model_without_a_gpu() -> None:
    outcome = run("--model=llama-3-70b", "--tensor-parallel=4", "--block-tokens=16,32")
    assert outcome["status"] == 1
    assert_tells_of_no_gpu(outcome["errors"])
    assert (
        "80 layers, 8 KV heads of 128, 2 of them here: a token takes 80 KiB"
        in (outcome["output"])
    )
    assert "819 blocks, 13,104 tokens in 1 GiB" in outcome["output"]
    assert "a block of 32 tokens is 80 x 32 KiB" in outcome["output"]


def test_host_without_the_simulated_driver() -> None:
    outcome = run("--host", missing=("torch", "kvswap_sim"))
    assert outcome["status"] == 1
    assert "nothing was measured: there is no simulated driver" in outcome["errors"]
    assert "pip install 'kvswap[sim]'" in outcome["errors"]
    assert "--find-links FOLDER" in outcome["errors"]


def test_seconds_are_of_the_whole_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call gets the same share of them."""
    shares: list[float] = []

    class Told(host.HostBench):
        def __init__(self, seconds: float) -> None:
            self._seconds = seconds

        def _calls(self, *_: Any) -> Any:
            return [host.HostCall(f"call {i}", 1, lambda: None) for i in range(6)]

        def _measure(self, call: host.HostCall, seconds: float) -> Any:
            shares.append(seconds)
            return {}

    told = Told(3.0)
    monkeypatch.setattr(told, "_driver", FakeDriver(), raising=False)
    assert len(told.run((1, 8192), ("auto",), Progress())) == 6
    assert shares == [0.5] * 6


class FakeDriver:
    """Of which nothing is needed but that its contexts and streams can be entered."""

    def primary_context(self, _device: int) -> Any:
        return contextlib.nullcontext()

    def stream(self, *, non_blocking: bool) -> Any:
        return contextlib.nullcontext()


# Arguments --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size"),
    [("4096", 4096), ("2K", 2048), ("64KiB", 65536), ("1m", 1 << 20), ("2G", 1 << 31)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size
    assert parse_size(size_text(size).replace(" ", "")) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "2T", "K", "1.5K"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="no size"):
        parse_size(text)


def test_defaults() -> None:
    options = parse_arguments([])
    assert (options.preset, options.rounds, options.seconds) == ("table", 30, 300.0)
    assert options.directions == ["h2d", "d2h"]
    assert parse_arguments(["--grid"]).directions == ["h2d", "d2h", "d2d"]
    assert parse_arguments(["--compute"]).rounds == 10
    assert parse_arguments(["--host"]).seconds == 6.0
    options = parse_arguments(["--sizes", "2K,1M", "--counts", "1,8", "--json"])
    assert (options.sizes, options.counts) == ([2048, 1 << 20], [1, 8])
    assert options.json == "-"


def test_methods_of_engines_and_alternatives() -> None:
    assert parse_arguments([]).methods == list(speed_table.DEFAULT_METHODS)
    options = parse_arguments(["--engines", "auto,bridge", "--alternatives", "gather"])
    assert options.methods == ["auto", "bridge", "gather"]
    options = parse_arguments(["--engines", "auto,batch", "--alternatives", "none"])
    assert options.methods == ["auto", "batch"]
    options = parse_arguments(["--alternatives", "copy_loop"])
    assert options.methods == ["auto", "kernel", "batch", "loop", "copy_loop"]
    assert parse_arguments(["--methods", "gather"]).methods == ["gather"]
    options = parse_arguments(["--model", "qwen3-8b", "--engines", "auto"])
    assert options.methods == ["auto", "one_batch_call", "copy_loop"]


def test_other_words_for_streams_and_priorities() -> None:
    options = parse_arguments(["--stream", "captured,per-thread,created,graph"])
    assert options.stream == ["replay", "per_thread", "created", "replay"]
    options = parse_arguments(
        ["--stream-kinds", "legacy", "--priorities", "compute,throughput"]
    )
    assert options.stream == ["legacy"]
    assert options.priority == ["compute", "throughput"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "2X"], "no size"),
        (["--directions", "up"], "'up' is none of"),
        (["--methods", "magic"], "'magic' is none of"),
        (["--grid", "--compute"], "not allowed with"),
        (["--tune"], "belong to --compute"),
        (["--compute", "--directions", "both"], "one direction at a time"),
        (["--compute", "--shapes", "plain:4"], "no shape"),
        (["--gemm", "64x64"], "ROWSxCOLUMNSxDEPTH"),
        (["--counts", "0"], "'0' is no whole number from 1 on"),
        (["--counts", "x"], "'x' is no whole number from 1 on"),
        (["--seconds", "nan"], "'nan' is no number from zero on"),
        (["--stream", "sideways"], "'sideways' is none of"),
        (["--engines", "gather"], "'gather' is none of"),
        (["--alternatives", "auto"], "'auto' is none of"),
        (["--grid", "--engines", "auto"], "--engines belongs to"),
        (["--host", "--alternatives", "none"], "--alternatives belongs to"),
        (["--methods", "auto", "--engines", "auto"], "take it or them"),
        (["--fail-below", "0.9"], "belongs to --compare"),
        (["--compare", "a", "b", "--plot", "c.png"], "no --csv and no --plot"),
        (["--list-models", "--json"], "--list-models has no --json"),
        (["--model", "llama-9"], "'llama-9' is no model"),
        (["--model", "qwen3-8b", "--sizes", "2K"], "--model says what blocks"),
        (["--model", "qwen3-8b", "--tensor-parallel", "3"], "cannot share evenly"),
        (["--model", "qwen3-8b", "--layout", "heap"], "'heap' is none of"),
        (["--from", "a", "--compare", "b", "c"], "not allowed with"),
        (["--nohost"], "unrecognized"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_arguments(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(["--help"])
    text = capsys.readouterr().out
    for word in ("--grid", "--streams", "--submission", "--compute", "examples:"):
        assert word in text
    # Every example is a command line that is understood.
    examples = re.findall(r"^  kvswap bench(.*)$", text, re.MULTILINE)
    assert len(examples) >= 10
    for example in examples:
        parse_arguments(example.partition("    ")[0].split())


def test_shapes() -> None:
    shape = shapes.parse_shape("bulk:2x8x4096")
    assert (shape.engine, shape.kernel) == ("kernel", "bulk")
    assert (shape.ctas, shape.threads, shape.stages, shape.stage_bytes) == (
        2,
        32,
        8,
        4096,
    )
    plain = shapes.parse_shape("plain:16x1024")
    assert (plain.ctas, plain.threads, plain.kernel) == (16, 1024, "plain")
    assert shapes.parse_shape("batch:64").max_batch == 64
    assert shapes.parse_shape("overlap").prefer_overlap
    assert shapes.parse_shape("auto:throughput").priority == "throughput"
    for direction in ("h2d", "d2h", "d2d"):
        texts = shapes.to_sweep(direction)
        assert len(texts) == len(set(texts)) > 10
        assert [shapes.parse_shape(text).text for text in texts] == texts


def test_shapes_that_compute_takes() -> None:
    options = parse_arguments(["--compute"])
    assert [shape.text for shape in shapes_for(options, "h2d")] == list(shapes.COMPARED)
    options = parse_arguments(["--compute", "--shapes", "plain:4x64,auto"])
    assert [shape.text for shape in shapes_for(options, "d2h")] == [
        "plain:4x64",
        "auto",
    ]
    options = parse_arguments(["--compute", "--tune"])
    assert len(shapes_for(options, "d2h")) > 40


# Cells ------------------------------------------------------------------------


def test_speed_table_is_that_of_the_goals() -> None:
    places = speed_table.cells(
        speed_table.DEFAULT_SIZES, (), ("h2d", "d2h"), ("created",), ("throughput",)
    )
    assert [(cell.size // 1024, cell.count) for cell in places[:8]] == [
        (2, 8192),
        (4, 8192),
        (8, 8192),
        (16, 8192),
        (32, 8192),
        (64, 4096),
        (256, 1024),
        (1024, 512),
    ]
    assert len(places) == 16
    assert usual_count(4 << 20) == 128


def test_two_directions_at_once_need_created_streams() -> None:
    places = speed_table.cells(
        (2048,),
        (),
        ("both",),
        ("created", "legacy", "per_thread", "replay"),
        ("compute",),
    )
    assert [cell.stream for cell in places] == ["created", "replay"]
    assert places[0].total_bytes == 2 * 2048 * 8192


def test_grid_is_capped_and_shuffled() -> None:
    def cells(seed: int) -> list[Cell]:
        return grid.cells(
            grid.SIZES,
            grid.COUNTS,
            ("h2d",),
            ("created",),
            ("throughput",),
            1 << 28,
            seed,
        )

    assert grid.SIZES[0] == 512 and grid.SIZES[-1] == 4 << 20
    found = cells(1)
    assert all(cell.total_bytes <= 1 << 28 for cell in found)
    assert Cell("h2d", 4096, 65536) in found
    assert Cell("h2d", 8192, 65536) not in found
    assert found == cells(1)
    assert found != cells(2) and set(found) == set(cells(2))


# Statistics and rounds --------------------------------------------------------


def test_quantiles() -> None:
    values = [float(value) for value in range(11)]
    assert quantile(values, 0.1) == 1.0
    assert quantile(values, 0.25) == 2.5
    assert quantile([7.0], 0.9) == 7.0
    shuffled = values[:]
    random.Random(1).shuffle(shuffled)
    assert Summary.of(shuffled) == Summary(11, 5.0, 1.0, 9.0)


class Fake:
    """A contender whose rounds take the times that it is given."""

    def __init__(self, name: str, seconds: float, log: list[str]) -> None:
        self.name = name
        self.seconds = seconds
        self.log = log

    def measure(self) -> Sample:
        self.log.append(self.name)
        return Sample(self.seconds, self.seconds / 10)


def no_time() -> float:
    return 0.0


def test_every_round_measures_every_contender_once_in_another_order() -> None:
    log: list[str] = []
    contenders = [Fake(name, 1.0, log) for name in "abcd"]
    settings = RoundSettings(rounds=20, least_seconds=0, warm_rounds=1, seed=3)
    samples = interleave(contenders, settings, deadline=1.0, clock=no_time)
    assert {name: len(found) for name, found in samples.items()} == dict.fromkeys(
        "abcd", 20
    )
    rounds = [log[start : start + 4] for start in range(0, len(log), 4)]
    assert len(rounds) == 21  # one to warm up, which does not count
    assert all(sorted(order) == list("abcd") for order in rounds)
    assert len({tuple(order) for order in rounds}) > 5
    again: list[str] = []
    interleave(
        [Fake(name, 1.0, again) for name in "abcd"], settings, 1.0, clock=no_time
    )
    assert again == log, "the seed decides the order"


def test_hopeless_contenders_are_left_out() -> None:
    log: list[str] = []
    contenders = [
        Fake("limit", 0.1, log),
        Fake("quick", 1.0, log),
        Fake("near", 1.9, log),
        Fake("slow", 2.1, log),
        Fake("auto", 9.0, log),
    ]
    settings = RoundSettings(rounds=10, least_seconds=0, trial_rounds=4, hopeless=2.0)
    samples = interleave(contenders, settings, 1.0, ("limit", "auto"), no_time)
    assert {name: len(found) for name, found in samples.items()} == {
        "limit": 10,
        "quick": 10,
        "near": 10,
        "slow": 4,
        "auto": 10,
    }


def test_rounds_end_with_the_time() -> None:
    now = iter(range(1000))
    settings = RoundSettings(rounds=100, least_rounds=3, warm_rounds=0)
    samples = interleave(
        [Fake("a", 1.0, [])], settings, deadline=7.5, clock=lambda: float(next(now))
    )
    assert len(samples["a"]) == 7
    samples = interleave([Fake("a", 1.0, [])], settings, deadline=-1.0, clock=no_time)
    assert len(samples["a"]) == 3, "the least, whatever the time"


def test_short_rounds_are_repeated_for_a_while() -> None:
    now = iter(range(1000))
    settings = RoundSettings(rounds=5, least_seconds=50, warm_rounds=0)
    samples = interleave(
        [Fake("a", 1.0, [])], settings, deadline=900, clock=lambda: float(next(now))
    )
    assert len(samples["a"]) == 49


def test_time_budget_is_shared_by_what_is_left() -> None:
    time = [0.0]
    budget = TimeBudget(100.0, clock=lambda: time[0])
    assert budget.deadline(10) == 10.0
    time[0] = 40.0
    assert budget.deadline(6) == 50.0
    time[0] = 120.0
    assert budget.deadline(1) == 120.0
    assert budget.seconds_left < 0


# Results ----------------------------------------------------------------------

CELL = Cell("h2d", 1000, 1000)


def times(*seconds: float) -> list[Sample]:
    return [Sample(each, each / 2, event_seconds=each / 4) for each in seconds]


def test_rows_of_a_cell() -> None:
    rows = cell_rows(
        CELL,
        {
            "limit": times(0.001, 0.001, 0.001),
            "auto": times(0.002, 0.001, 0.004),
            "kernel": times(0.001, 0.001, 0.001),
            "batch": times(0.004, 0.004, 0.004),
        },
        {"auto": "kernel 1000"},
        limit_bytes=2_000_000,
    )
    by_method = {row["method"]: row for row in rows}
    assert by_method["limit"]["gb_per_s"] == 2.0
    assert by_method["limit"]["ratio_to_best"] is None
    auto = by_method["auto"]
    assert auto["gb_per_s"] == 0.5
    assert auto["median_us"] == 2000.0
    assert auto["submit_median_us"] == 1000.0
    assert auto["event_median_us"] == 500.0
    assert (auto["p10_us"], auto["p90_us"]) == (1200.0, 3600.0)
    assert auto["share_of_limit"] == 0.25
    assert auto["ratio_to_best"] == 0.5
    assert auto["engines"] == "kernel 1000"
    assert by_method["batch"]["ratio_to_best"] == 0.25


def test_both_directions_count_both() -> None:
    rows = cell_rows(
        Cell("both", 1000, 1000),
        {"limit": times(0.001), "auto": times(0.001)},
        {},
        10**6,
    )
    assert [row["gb_per_s"] for row in rows] == [2.0, 2.0]


def test_times_beside_a_multiplication() -> None:
    alone = [BesideSample(seconds, 0) for seconds in (1.0, 2.0, 1.0)]
    beside = [
        BesideSample(seconds, 0, gb_per_s=rate)
        for seconds, rate in ((1.1, 30.0), (2.2, None), (1.2, 40.0))
    ]
    rows = rows_of(
        CELL,
        {"alone": list(alone), "kernel": list(beside)},
        {"kernel": times(0.001)},
        {},
    )
    kernel = rows[1]
    assert rows[0]["gemm_ratio"] == 1.0
    assert kernel["gemm_ratio"] == 1.1  # of each round, not of the medians
    assert kernel["beside_gb_per_s"] == 35.0
    assert kernel["alone_gb_per_s"] == 1.0


def test_rate_between_two_times() -> None:
    ends = [1.0, 2.0, 4.0, 8.0]  # of calls of a gigabyte
    assert rate_inside(ends, 0.0, 2.0, 10**9) == 1.0
    assert rate_inside(ends, 2.0, 8.0, 10**9) == pytest.approx(2 / 6)
    assert rate_inside(ends, 0.5, 3.0, 10**9) == pytest.approx(2 / 2.5)
    assert rate_inside(ends, 5.0, 6.0, 10**9) == pytest.approx(1 / 4), "within one call"
    assert rate_inside(ends, 4.0, 99.0, 10**9) == pytest.approx(1 / 4)
    assert rate_inside(ends, 9.0, 99.0, 10**9) is None
    assert rate_inside([], 0.0, 1.0, 10**9) is None


def test_table_json_and_csv() -> None:
    rows: list[output.Row] = [
        {"method": "auto", "gb_per_s": 40.125, "count": 8192, "note": ""},
        {"method": "loop", "gb_per_s": None, "count": 1, "note": "unavailable"},
    ]
    lines = output.table_lines(rows, ["method", "count", "gb_per_s", "absent"])
    assert lines == [
        "method  count  gb_per_s  absent",
        "auto    8,192     40.12       -",
        "loop        1         -       -",
    ]
    environment = {"device": "a GPU", "driver_cuda": "13.0", "seed": 7}
    text = io.StringIO()
    output.write_json(text, "table", rows, environment, ["a problem"])
    found = json.loads(text.getvalue())
    assert found["problems"] == ["a problem"]
    assert found["environment"] == environment
    assert all(row.items() >= environment.items() for row in found["rows"])
    text = io.StringIO()
    output.write_csv(text, rows, environment)
    read = list(csv.DictReader(io.StringIO(text.getvalue())))
    assert [row["device"] for row in read] == ["a GPU", "a GPU"]
    assert read[0]["gb_per_s"] == "40.125" and read[1]["gb_per_s"] == ""


def test_pivot() -> None:
    rows = [
        {"size": size, "method": method, "rate": size * factor}
        for size in (1, 2)
        for method, factor in (("a", 10), ("b", 20))
    ]
    found, names = output.pivot(rows, ["size"], "method", "rate")
    assert names == ["a", "b"]
    assert found == [{"size": 1, "a": 10, "b": 20}, {"size": 2, "a": 20, "b": 40}]


# The core, on methods that copy bytes of Python ---------------------------------


class FakeBlocks:
    """Blocks of Python's memory."""

    def __init__(self, cell: Cell) -> None:
        self.source = random.Random(cell.size).randbytes(cell.size * cell.count)
        self.target = bytearray(len(self.source))

    def clear(self) -> None:
        self.target[:] = bytes(len(self.target))

    def wrong(self) -> str | None:
        return None if self.target == self.source else "block 0 is wrong"


class FakeStopwatch:
    """Time goes by as the method says."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def synchronize(self) -> None:
        pass

    def measure(self, submit: Callable[[], object]) -> Sample:
        submit()
        return Sample(self.seconds, self.seconds / 2)


class FakeMethod:
    """Copies all, or all but the last byte."""

    def __init__(self, blocks: FakeBlocks, name: str, spoilt: bool) -> None:
        self.blocks = blocks
        self.name = name
        self.spoilt = spoilt

    def submit(self) -> None:
        end = len(self.blocks.source) - (1 if self.spoilt else 0)
        self.blocks.target[:end] = self.blocks.source[:end]

    def engines(self) -> str:
        return f"{self.name} 1"


class FakeWorkshop:
    """Makes contenders of fake methods; `loop` is not to be had."""

    limit_bytes = 10**6
    seconds = {"limit": 1e-3, "auto": 2e-3, "kernel": 1e-3, "batch": 3e-3}

    def __init__(self, spoilt: str = "") -> None:
        self.spoilt = spoilt
        self.pools = self

    def blocks(self, cell: Cell) -> list[FakeBlocks]:
        return [FakeBlocks(cell)]

    def method(self, name: str, cell: Cell, blocks: Sequence[Any]) -> TimedMethod:
        if name == "loop":
            raise UnavailableError("there is none")
        if name == "bridge":
            raise RuntimeError("broken")
        method = FakeMethod(blocks[0], name, name == self.spoilt)
        watch: Any = FakeStopwatch(self.seconds[name])
        contender = TimedMethod(name, [method], blocks, watch)
        contender.check()
        return contender

    def limit(self, cell: Cell, blocks: Sequence[Any]) -> TimedMethod:
        return self.method("limit", cell, blocks)


def fake_session(spoilt: str = "", seconds: float = 1000.0) -> Session:
    workshop: Any = FakeWorkshop(spoilt)
    settings = RoundSettings(rounds=5, least_seconds=0)
    return Session(workshop, settings, TimeBudget(seconds))


def test_speed_table_of_fake_methods() -> None:
    session = fake_session()
    cells = [CELL, Cell("d2h", 2000, 10)]
    speed_table.run(session, cells, ["auto", "kernel", "batch", "loop"])
    assert session.problems == []
    by_method = {
        row["method"]: row for row in session.rows if row["direction"] == "h2d"
    }
    assert by_method["loop"]["note"] == "unavailable: there is none"
    assert by_method["auto"]["gb_per_s"] == 0.5
    assert by_method["auto"]["ratio_to_best"] == 0.5
    assert by_method["auto"]["rounds"] == 5
    text = "\n".join(speed_table.lines(session.rows))
    assert "host to device, created stream, priority throughput" in text
    assert "device to host, created stream, priority throughput" in text
    # kernel is the best, and marked; auto reaches half of the limit.
    assert re.search(
        r"1000 B +1,000 +0\.5 +1\.0\* +0\.3 +1\.0 +50 % +auto 1\n", text
    ), text
    assert "loop, created: unavailable: there is none" in text


def test_grid_of_fake_methods() -> None:
    session = fake_session()
    grid.run(session, [CELL])
    text = "\n".join(grid.lines(session.rows))
    assert "in 1 cells: 1 below 0.95, the least 0.5." in text
    assert re.search(r"auto 1 +kernel +1.00 +0.5", text)


def test_a_wrong_byte_is_a_problem() -> None:
    session = fake_session(spoilt="kernel")
    contenders, _ = prepared(session, CELL, ["auto", "kernel"], with_limit=True)
    assert [contender.name for contender in contenders] == ["limit", "auto"]
    assert len(session.problems) == 1 and "WRONG BYTES: kernel" in session.problems[0]
    with pytest.raises(WrongBytesError, match="block 0"):
        FakeWorkshop("auto").method("auto", CELL, [FakeBlocks(CELL)])


def test_an_error_of_a_method_does_not_end_the_run() -> None:
    session = fake_session()
    contenders, _ = prepared(session, CELL, ["bridge", "auto"], with_limit=False)
    assert [contender.name for contender in contenders] == ["auto"]
    assert "RuntimeError: broken" in session.problems[0]


def test_cells_without_time_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    session = fake_session(seconds=0.0)
    speed_table.run(session, [CELL, CELL], ["auto"])
    assert len(session.skipped) == 2 and session.rows == []
    assert "--seconds" in capsys.readouterr().err


class FakeGpu:
    """What `run_on` asks of a GPU."""

    def environment(self, seed: int) -> dict[str, Any]:
        return {"device": "a GPU", "kvswap": "0", "driver_cuda": "13.0", "seed": seed}


def test_what_was_measured_before_an_interruption_is_kept(
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = fake_session()

    def measure_and_stop(session: Session, options: Any) -> None:
        speed_table.run(session, [CELL], ["auto"])
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "_session", lambda *_: session)
    monkeypatch.setitem(
        presets.PRESETS,
        "table",
        dataclasses.replace(presets.PRESETS["table"], run=measure_and_stop),
    )
    path = tmp_path / "run.json"
    options = parse_arguments([f"--json={path}", "--quiet"])
    gpu: Any = FakeGpu()
    assert bench.run_on(gpu, options, TimeBudget(10.0)) == 1
    text = capsys.readouterr().out
    assert "1000 B" in text and "PROBLEMS:\ninterrupted" in text
    found = json.loads(path.read_text(encoding="utf-8"))
    assert [row["method"] for row in found["rows"]] == ["limit", "auto"]
    assert found["problems"] == ["interrupted"]


def test_pools_that_do_not_fit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def session(*_: Any) -> Session:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(bench, "_session", session)
    gpu: Any = FakeGpu()
    assert bench.run_on(gpu, parse_arguments([]), TimeBudget(10.0)) == 1
    errors = capsys.readouterr().err
    assert "2 GiB" in errors and "--pool-bytes (CUDA out of memory)" in errors


def test_command() -> None:
    assert len(bench.SUMMARY.splitlines()) == 1
    assert "examples:" in bench.DESCRIPTION
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    options = parser.parse_args(["--list-models"])
    assert bench.run(options) == 0
    # What argparse itself cannot see, the program tells as it tells the rest.
    with pytest.raises(argparse.ArgumentError, match="belong to --compute"):
        bench.run(parser.parse_args(["--tune"]))
