"""Plots: that they are drawn, of what, and what is said where they cannot be."""

from __future__ import annotations

import json
import pathlib
import re
import sys
from typing import Any

import pytest

from kvswap import bench
from kvswap.benchmark import plot
from kvswap.benchmark.results import Results
from tests import child_process
from tests.python import bench_results

matplotlib = pytest.importorskip("matplotlib")


def results(document: dict[str, Any]) -> Results:
    return Results(document["preset"], document["environment"], document["rows"])


def save(path: pathlib.Path, document: dict[str, Any]) -> str:
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


# What is in a plot ------------------------------------------------------------


def test_panels_of_a_speed_table() -> None:
    ((h2d, d2h),) = plot.panels(bench_results.speed_table()["rows"])
    assert (h2d.title, d2h.title) == ("host to device", "device to host")
    assert (h2d.limit, d2h.limit) == (55.4, 54.9)
    assert list(h2d.curves) == [
        "auto",
        "kernel",
        "batch",
        "loop",
        "one_batch_call",
        "copy_loop",
        "cuda_core",
        "torch_copy",
        "gather",
    ]
    assert h2d.curves["batch"][:2] == [(2048, 2.1), (4096, 4.1)]
    assert [size for size, _ in d2h.curves["auto"]] == sorted(
        size for size, _ in d2h.curves["auto"]
    )


def test_a_line_of_panels_for_each_stream() -> None:
    lines = plot.panels(
        bench_results.speed_table(streams=("created", "legacy"))["rows"]
    )
    assert [[panel.title for panel in line] for line in lines] == [
        ["host to device\ncreated stream", "device to host\ncreated stream"],
        ["host to device\nlegacy stream", "device to host\nlegacy stream"],
    ]


def test_counts_of_blocks() -> None:
    few = [
        bench_results.row("auto", 10.0 + count, size, count)
        for size in (2048, 4096)
        for count in (1, 64)
    ]
    titles = [line[0].title for line in plot.panels(few)]
    assert titles == ["host to device\n1 blocks", "host to device\n64 blocks"]
    many = [
        bench_results.row("auto", 10.0 + count, 2048, count) for count in (1, 2, 4, 8)
    ]
    ((panel,),) = plot.panels(many)
    assert panel.curves == {"auto": [(2048, 18.0)]}, "the most blocks stand for all"


def test_rows_without_a_number_are_left_out() -> None:
    rows = bench_results.speed_table(methods=("auto",))["rows"]
    rows.append({**rows[0], "method": "gather", "gb_per_s": None})
    assert list(plot.panels(rows)[0][0].curves) == ["auto"]


def test_styles_differ_without_colour() -> None:
    seen = {
        (style.marker, str(style.dashes), style.width)
        for style in plot._styles(list(plot._STYLES)).values()
    }
    assert len(seen) == len(plot._STYLES)
    others = plot._styles([f"other {number}" for number in range(9)])
    assert len({style.marker for style in others.values()}) == 9


def test_title() -> None:
    assert plot.title(bench_results.ENVIRONMENT) == (
        "kvswap 0.1.0  ·  NVIDIA H200  ·  driver 580.159.04 (CUDA 13.0)  ·  2026-11-30"
    )
    assert plot.title({"kvswap": "1", "device": "GPU"}) == "kvswap 1  ·  GPU"


def texts_of(figure: Any) -> list[Any]:
    text = matplotlib.text.Text
    return [
        found
        for found in figure.findobj(text)
        if found.get_text() and found.get_visible()
    ]


@pytest.mark.parametrize("streams", [("created",), ("created", "legacy")])
def test_nothing_is_cut_off_and_no_labels_overlap(streams: tuple[str, ...]) -> None:
    lines = plot.panels(bench_results.speed_table(streams=streams)["rows"])
    figure = plot._figure(lines, bench_results.ENVIRONMENT)
    figure.draw_without_rendering()
    frame = figure.bbox
    boxes = []
    for text in texts_of(figure):
        box = text.get_window_extent()
        assert frame.x0 <= box.x0 and box.x1 <= frame.x1, text
        assert frame.y0 <= box.y0 and box.y1 <= frame.y1, text
        boxes.append((text.get_text(), box))
    for number, (text, box) in enumerate(boxes):
        for other_text, other in boxes[number + 1 :]:
            assert not box.overlaps(other), (text, other_text)
    (legend,) = figure.legends
    for axes in figure.axes:
        assert not legend.get_window_extent().overlaps(axes.get_window_extent())


def test_crowded_sizes_are_turned() -> None:
    rows = [
        bench_results.row("auto", 40.0, kib << 10, 8)
        for kib in (2, 40, 48, 56, 64, 80, 96, 1024)
    ]
    figure = plot._figure(plot.panels(rows), bench_results.ENVIRONMENT)
    figure.draw_without_rendering()
    labels = figure.axes[0].get_xticklabels()
    assert [label.get_text() for label in labels][:2] == ["2 KiB", "40 KiB"]
    assert {label.get_rotation() for label in labels} == {40.0}


def test_rates_of_other_scales_have_axes_of_their_own() -> None:
    rows = []
    for direction, rate in (("h2d", 50.0), ("d2h", 50.0), ("d2d", 1500.0)):
        rows += [
            bench_results.row("auto", rate, size, 8, direction=direction)
            for size in (2048, 4096)
        ]
    figure = plot._figure(plot.panels(rows), bench_results.ENVIRONMENT)
    tops = [axes.get_ylim()[1] for axes in figure.axes]
    assert tops[0] < 100 < 1000 < tops[2]


# Files ------------------------------------------------------------------------


def test_png(tmp_path: pathlib.Path) -> None:
    from matplotlib import image

    path = tmp_path / "plot.png"
    plot.draw(results(bench_results.speed_table()), str(path))
    pixels = image.imread(str(path))[..., :3]
    height, width, _ = pixels.shape
    assert width > 1000 and height > 600
    colors = {
        tuple(int(digits, 16) for digits in (color[1:3], color[3:5], color[5:7]))
        for color in (style.color for style in plot._STYLES.values())
        # The bridge is measured on the legacy stream only.
        if color != plot._STYLES["bridge"].color
    }
    found = {
        tuple(pixel) for pixel in (pixels * 255).round().astype(int).reshape(-1, 3)
    }
    assert colors <= found, "a curve of each colour"


@pytest.mark.parametrize("suffix", [".svg", ".pdf"])
def test_other_files(tmp_path: pathlib.Path, suffix: str) -> None:
    path = tmp_path / f"plot{suffix}"
    plot.draw(results(bench_results.speed_table()), str(path))
    content = path.read_bytes()
    if suffix == ".pdf":
        assert content.startswith(b"%PDF-")
        return
    text = content.decode()
    for label in (
        "kvswap auto",
        "copy_loop, in C",
        "limit: one large copy",
        "55.4 GB/s",
        "256 KiB",
        "1 MiB",
        "device to host",
        "size of a block",
        "NVIDIA H200",
    ):
        # As text, not as outlines with the text in a comment.
        assert re.search(f"<text[^>]*>[^<]*{label}[^<]*</text>", text), label


def test_drawing_leaves_settings_and_backend_alone(tmp_path: pathlib.Path) -> None:
    before = matplotlib.rcParams.copy()
    plot.draw(results(bench_results.speed_table()), str(tmp_path / "plot.png"))
    assert matplotlib.rcParams.copy() == before
    assert "matplotlib.pyplot" not in sys.modules


# As a program -----------------------------------------------------------------


def test_plot_of_a_saved_run(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = save(tmp_path / "run.json", bench_results.speed_table())
    path = tmp_path / "plot.svg"
    again, table = tmp_path / "again.json", tmp_path / "run.csv"
    status = bench.main(
        [
            "--from",
            saved,
            "--plot",
            str(path),
            "--json",
            str(again),
            "--csv",
            str(table),
        ]
    )
    assert status == 0
    captured = capsys.readouterr()
    assert "kvswap 0.1.0 on NVIDIA H200" in captured.out
    assert "host to device, created stream, priority throughput" in captured.out
    assert path.stat().st_size > 10_000
    assert json.loads(again.read_text(encoding="utf-8")) == json.loads(
        pathlib.Path(saved).read_text(encoding="utf-8")
    )
    assert table.read_text(encoding="utf-8").count("\n") == 161


def test_a_saved_problem_is_told_again(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = bench_results.speed_table()
    document["problems"] = ["no time: d2h", "WRONG BYTES: kernel"]
    assert bench.main(["--from", save(tmp_path / "run.json", document)]) == 1
    text = capsys.readouterr().out
    assert "PROBLEMS:\nWRONG BYTES: kernel" in text
    assert "No time was left for 1 cells" in text


@pytest.mark.parametrize(
    ("preset", "plotted"), [("grid", True), ("compute", False), ("host", False)]
)
def test_which_runs_have_curves(
    tmp_path: pathlib.Path,
    preset: str,
    plotted: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = bench_results.speed_table()["rows"] if plotted else []
    saved = save(tmp_path / "run.json", bench_results.document(preset, rows))
    path = tmp_path / "plot.png"
    status = bench.main(["--from", saved, "--plot", str(path)])
    assert (status == 0) == path.exists() == plotted
    if not plotted:
        assert status == 2
        assert f"{preset!r} does not measure" in capsys.readouterr().err


def test_nothing_to_plot(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = save(tmp_path / "run.json", bench_results.document("table", []))
    assert bench.main(["--from", saved, "--plot", str(tmp_path / "a.png")]) == 1
    assert "nothing to plot" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--plot", "plot.bmp", "has to end in .png, .svg, .pdf"),
        ("--plot", "absent/plot.png", "there is no folder"),
        ("--json", "absent/run.json", "there is no folder"),
        ("--csv", ".", "is a folder"),
    ],
)
def test_files_that_cannot_be_written_are_told_before_measuring(
    tmp_path: pathlib.Path,
    option: str,
    name: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def measure(options: Any) -> int:
        raise AssertionError("it was measured")

    monkeypatch.setattr(bench, "_run_gpu", measure)
    assert bench.main([option, str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--host", "--compute", "--submission"])
def test_runs_without_curves_are_refused_before_measuring(
    tmp_path: pathlib.Path,
    flag: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def measure(options: Any) -> int:
        raise AssertionError("it was measured")

    monkeypatch.setattr(bench, "_run_gpu", measure)
    monkeypatch.setattr(bench, "_run_host", measure)
    assert bench.main([flag, "--plot", str(tmp_path / "plot.png")]) == 2
    assert "which " + repr(flag[2:]) in capsys.readouterr().err


def test_without_matplotlib_nothing_is_measured() -> None:
    outcome = child_process.run(
        "tests.python.child_bodies",
        "run_program",
        ["bench", "--plot=plot.png"],
        ["matplotlib", "torch"],
        None,
        environment={},
    )
    assert outcome["status"] == 2
    assert "pip install 'kvswap[plot]'" in outcome["errors"]
    assert outcome["errors"].count("\n") == 1
    assert "torch" not in outcome["errors"], "found out before the GPU is looked for"


def model_rows(name: str, sizes: tuple[int, ...], rate: float) -> list[dict[str, Any]]:
    return [
        bench_results.row(method, rate, size, 8, model=name)
        for size in sizes
        for method in ("limit", "auto")
    ]


def test_models_of_one_size_share_a_panel() -> None:
    rows = [
        *model_rows("llama-3-8b", (65536,), 51.0),
        *model_rows("llama-3-70b", (65536,), 50.0),
        *model_rows("deepseek-v3", (18432,), 48.0),
    ]
    ((panel,),) = plot.panels(rows)
    assert panel.curves["auto"] == [(18432, 48.0), (65536, 50.0), (65536, 51.0)]
    assert panel.models == {
        65536: ["llama-3-8b", "llama-3-70b"],
        18432: ["deepseek-v3"],
    }
    figure = plot._figure([[panel]], bench_results.ENVIRONMENT)
    figure.draw_without_rendering()
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels == ["18 KiB\ndeepseek-v3", "64 KiB\nllama-3-8b\nllama-3-70b"]
    # With a curve each they have a panel each.
    lines = plot.panels([*rows, *model_rows("deepseek-v3", (36864,), 49.0)])
    assert [line[0].title.split("\n")[1] for line in lines] == [
        "llama-3-8b",
        "llama-3-70b",
        "deepseek-v3",
    ]
