"""GB/s against the size of blocks, as a picture. By matplotlib, without a display."""

from __future__ import annotations

import importlib
import math
import pathlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kvswap import install_words
from kvswap.benchmark.cells import D2H, DIRECTION_TEXTS, DIRECTIONS, H2D, size_text
from kvswap.benchmark.method_words import LIMIT, METHOD_WORDS
from kvswap.benchmark.results import Results

SUFFIXES = (".png", ".svg", ".pdf")

_WIDTH = 1.6
_PANEL_INCHES = 4.9
_LETTER_INCHES = 0.07  # of a label at the axis
_MOST_TICKS = 10
_MOST_COLUMNS = 3
_MOST_COUNTS = 3  # rows of panels, one for each count of blocks


class PlotError(Exception):
    """There can be no plot; the message says why, and what to do."""


@dataclass(frozen=True)
class Style:
    """How a curve looks: told apart by marker, dashes and lightness, not colour alone.

    Attributes:
        color: of Okabe and Ito's, which the colour-blind tell apart.
        marker: of the points.
        dashes: of the line, as matplotlib takes them.
        width: of the line.
    """

    color: str
    marker: str
    dashes: Any
    width: float = _WIDTH


_SOLID = "-"
_DASHED = (0, (5, 2))
_LONG_DASHED = (0, (9, 3))
_DOTTED = (0, (1.2, 1.6))
_DASH_DOT = (0, (5, 1.6, 1.2, 1.6))
_STYLES = {
    "auto": Style("#000000", "o", _SOLID, 3.6),
    "kernel": Style("#D55E00", "s", _SOLID),
    "batch": Style("#0072B2", "^", _SOLID),
    "bridge": Style("#009E73", "v", _SOLID),
    "loop": Style("#CC79A7", "D", _SOLID),
    "one_batch_call": Style("#0072B2", "P", _DASHED),
    "copy_loop": Style("#CC79A7", "X", _DOTTED),
    "cuda_core": Style("#E69F00", "<", _DASH_DOT),
    "torch_copy": Style("#7F7F7F", "*", _DOTTED),
    "gather": Style("#56B4E9", "h", _DASHED),
}
# For methods that are not of the speed table, in the order of their appearance.
_MORE_STYLES = (
    Style("#000000", "o", _SOLID, 3.6),
    Style("#D55E00", "s", _DASHED),
    Style("#0072B2", "^", _DOTTED),
    Style("#009E73", "v", _DASH_DOT),
    Style("#CC79A7", "D", _SOLID),
    Style("#E69F00", "P", _DASHED),
    Style("#56B4E9", "X", _DOTTED),
    Style("#7F7F7F", "*", _DASH_DOT),
    Style("#444444", "p", _LONG_DASHED),
    Style("#7A4419", "h", _DOTTED),
)


@dataclass(frozen=True)
class Panel:
    """One place for curves.

    Attributes:
        title: above it.
        curves: of each method sizes and GB/s, in the order of sizes.
        limit: of the link, GB/s; None: not measured.
        over_link: whether the blocks move one way between host and device.
        models: that a size is of, where all models share the panel.
    """

    title: str
    curves: dict[str, list[tuple[int, float]]]
    limit: float | None
    over_link: bool = True
    models: dict[int, list[str]] = field(default_factory=dict)


def check(path: str) -> None:
    """Looks before a run whether there can be a plot.

    Raises:
        PlotError: matplotlib is not installed, or the file's name has no suffix of
            SUFFIXES.
    """
    if pathlib.Path(path).suffix.lower() not in SUFFIXES:
        raise PlotError(
            f"--plot {path}: the name has to end in {', '.join(SUFFIXES)}, which says "
            "what is written"
        )
    try:
        importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise PlotError(
            f"--plot needs matplotlib ({error}): "
            f"{install_words.pip_command('kvswap[plot]')}"
        ) from error


def panels(rows: Sequence[Mapping[str, Any]]) -> list[list[Panel]]:
    """Panels in rows and columns: a column for each direction."""
    measured = [row for row in rows if row.get("gb_per_s") and row["method"]]
    groups = _groups(measured)
    directions = [
        direction
        for direction in DIRECTIONS
        if any(row["direction"] == direction for row in measured)
    ]
    found = []
    for name, its_rows in groups.items():
        line = []
        for direction in directions:
            part = [row for row in its_rows if row["direction"] == direction]
            title = DIRECTION_TEXTS[direction] + (f"\n{name}" if name else "")
            line.append(_panel(title, part, direction in (H2D, D2H)))
        found.append(line)
    return found


def _groups(
    rows: Sequence[Mapping[str, Any]],
) -> dict[str, list[Mapping[str, Any]]]:
    """Rows that share panels: of one stream, priority and model, and one count if few.

    Where there are many counts, that with the most blocks of a size stands for it.
    """
    counts: dict[tuple[Any, ...], set[int]] = {}
    for row in rows:
        counts.setdefault(_place(row), set()).add(row["count"])
    several = any(len(found) > 1 for found in counts.values())
    all_counts = {row["count"] for row in rows}
    by_count = several and len(all_counts) <= _MOST_COUNTS
    names = ["stream", "priority"]
    if not _models_are_points(rows):
        names.append("model")
    differing = [name for name in names if len({row.get(name) for row in rows}) > 1]
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if several and not by_count and row["count"] != max(counts[_place(row)]):
            continue
        words = [_PLACE_TEXTS[name].format(row.get(name)) for name in differing]
        if by_count:
            words.append(f"{row['count']:,} blocks")
        groups.setdefault(", ".join(words), []).append(row)
    return groups


_PLACE_TEXTS = {"stream": "{} stream", "priority": "priority {}", "model": "{}"}


def _models_are_points(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no model has a curve of its own: then they make one together."""
    sizes: dict[Any, set[int]] = {}
    for row in rows:
        sizes.setdefault(row.get("model"), set()).add(row["size"])
    return len(sizes) > 1 and all(len(found) == 1 for found in sizes.values())


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(
        row.get(name) for name in ("direction", "size", "stream", "priority", "model")
    )


def _panel(title: str, rows: Sequence[Mapping[str, Any]], over_link: bool) -> Panel:
    curves: dict[str, list[tuple[int, float]]] = {}
    limits = []
    models: dict[int, list[str]] = {}
    for row in rows:
        if row["method"] == LIMIT:
            limits.append(float(row["gb_per_s"]))
        else:
            curves.setdefault(row["method"], []).append((row["size"], row["gb_per_s"]))
    if _models_are_points(rows):
        for row in rows:
            its_models = models.setdefault(row["size"], [])
            if row["model"] not in its_models:
                its_models.append(row["model"])
    known = [name for name in _STYLES if name in curves]
    order = known + [name for name in curves if name not in known]
    return Panel(
        title,
        {name: sorted(curves[name]) for name in order},
        statistics.median(limits) if limits else None,
        over_link,
        models,
    )


def draw(results: Results, path: str) -> None:
    """Writes the plot of results; what it is, the file's suffix says.

    Raises:
        PlotError: as `check`; or there is nothing to draw; or it cannot be written.
    """
    check(path)
    lines = panels(results.rows)
    if not lines or not any(panel.curves for line in lines for panel in line):
        raise PlotError("there is nothing to plot: no row has GB/s")
    matplotlib: Any = importlib.import_module("matplotlib")
    with matplotlib.rc_context(
        {
            # Text of an SVG stays text, which can be searched and read aloud.
            "svg.fonttype": "none",
            "font.size": 10,
            "axes.axisbelow": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    ):
        figure = _figure(lines, results.environment)
        try:
            figure.savefig(path, dpi=160)
        except OSError as error:
            raise PlotError(f"cannot write {path}: {error.strerror}") from error


def _figure(lines: Sequence[Sequence[Panel]], environment: Mapping[str, Any]) -> Any:
    figure_module: Any = importlib.import_module("matplotlib.figure")
    agg: Any = importlib.import_module("matplotlib.backends.backend_agg")
    columns = max(len(line) for line in lines)
    if columns > _MOST_COLUMNS:
        half = -(-columns // 2)
        lines = [part for line in lines for part in (line[:half], line[half:])]
        columns = half
    figure = figure_module.Figure(
        figsize=(max(8.0, 1.2 + _PANEL_INCHES * columns), 2.2 + 4.0 * len(lines)),
        layout="constrained",
    )
    agg.FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12, hspace=0.06, wspace=0.04)
    # Only over the same link are rates of one scale.
    same_scale = all(panel.over_link for line in lines for panel in line)
    grid = figure.subplots(
        len(lines),
        columns,
        squeeze=False,
        sharex=True,
        sharey="row" if same_scale else False,
    )
    styles = _styles(
        [name for line in lines for panel in line for name in panel.curves]
    )
    handles: dict[str, Any] = {}
    for axes_line, line in zip(grid, lines, strict=True):
        for axes, panel in zip(axes_line, line, strict=True):
            handles.update(_draw_panel(axes, panel, styles))
            axes.set_ylim(0, 1.1 * _most(line if same_scale else [panel]))
        for unused in axes_line[len(line) :]:
            unused.set_axis_off()
        axes_line[0].set_ylabel("GB/s, to completion")
    for axes in grid[-1]:
        axes.set_xlabel("size of a block")
    _size_axis(grid[0], grid[-1], [panel for line in lines for panel in line])
    figure.suptitle(title(environment), fontsize=11)
    order = [name for name in (*styles, LIMIT) if name in handles]
    figure.legend(
        [handles[name] for name in order],
        [METHOD_WORDS[name].label if name in METHOD_WORDS else name for name in order],
        loc="outside lower center",
        ncols=min(4 if columns > 1 else 3, len(order)),
        frameon=False,
        handlelength=3.6,
        columnspacing=1.8,
    )
    return figure


def title(environment: Mapping[str, Any]) -> str:
    """What was measured, where and when."""
    driver = " ".join(
        filter(
            None,
            (
                str(environment.get("driver_build") or ""),
                f"(CUDA {environment['driver_cuda']})"
                if environment.get("driver_cuda")
                else "",
            ),
        )
    )
    words = [
        f"kvswap {environment.get('kvswap', '')}".strip(),
        str(environment.get("device") or ""),
        f"driver {driver}" if driver else "",
        str(environment.get("date") or "")[:10],
    ]
    return "  ·  ".join(filter(None, words))


def _styles(names: Sequence[str]) -> dict[str, Style]:
    """A style for each method: those of the speed table always have the same."""
    seen = dict.fromkeys(names)
    found = {name: style for name, style in _STYLES.items() if name in seen}
    others = [name for name in seen if name not in found]
    for number, name in enumerate(others):
        found[name] = _MORE_STYLES[number % len(_MORE_STYLES)]
    return found


def _draw_panel(axes: Any, panel: Panel, styles: Mapping[str, Style]) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    axes.set_title(panel.title, fontsize=10.5, loc="left")
    axes.set_xscale("log", base=2)
    axes.grid(True, axis="y", color="#DDDDDD", linewidth=0.8)
    for name, points in panel.curves.items():
        style = styles[name]
        # Where auto is as fast as an engine, that one is seen inside of its wide line and
        # large circles.
        wide = style.width > _WIDTH
        (handles[name],) = axes.plot(
            [size for size, _ in points],
            [rate for _, rate in points],
            color=style.color,
            marker=style.marker,
            linestyle=style.dashes,
            linewidth=style.width,
            markersize=11 if wide else 8.5 if style.marker in "*PX" else 6.5,
            markerfacecolor="white" if wide else style.color,
            markeredgecolor=style.color if wide else "white",
            markeredgewidth=1.8 if wide else 0.6,
            zorder=2.5 if wide else 3,
            clip_on=False,
        )
    if panel.limit is not None:
        handles[LIMIT] = axes.axhline(
            panel.limit, color="#555555", linestyle=(0, (8, 3)), linewidth=1.3, zorder=2
        )
        axes.annotate(
            f"{panel.limit:.1f} GB/s",
            xy=(1.0, panel.limit),
            xycoords=("axes fraction", "data"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=9,
            color="#444444",
            # A line of the grid may run through it.
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )
    return handles


def _most(line: Sequence[Panel]) -> float:
    """The greatest GB/s of panels that share an axis."""
    rates = [
        rate for panel in line for points in panel.curves.values() for _, rate in points
    ]
    return max([*rates, *(panel.limit for panel in line if panel.limit)], default=1.0)


def _size_axis(
    axes_line: Sequence[Any], axes_below: Sequence[Any], panels: Sequence[Panel]
) -> None:
    """Marks the sizes that were measured; the axes share it, and the last line shows it."""
    sizes = sorted(
        {
            size
            for panel in panels
            for points in panel.curves.values()
            for size, _ in points
        }
    )
    span = math.log2(sizes[-1] / sizes[0]) + 0.8
    models = {size: names for panel in panels for size, names in panel.models.items()}
    ticker: Any = importlib.import_module("matplotlib.ticker")
    shown = sizes[:: -(-len(sizes) // _MOST_TICKS)]
    gaps = [
        math.log2(above / below) for below, above in zip(shown, shown[1:], strict=False)
    ]
    letters = max(
        len(text) for size in shown for text in (size_text(size), *models.get(size, []))
    )
    crowded = _PANEL_INCHES * min(gaps, default=span) / span < _LETTER_INCHES * letters
    for axes in axes_line:
        axes.xaxis.set_major_locator(ticker.FixedLocator(shown))
        axes.xaxis.set_minor_locator(ticker.NullLocator())
        axes.xaxis.set_major_formatter(
            ticker.FuncFormatter(
                lambda size, _: "\n".join(
                    [size_text(round(size)), *models.get(round(size), [])]
                )
            )
        )
        axes.set_xlim(sizes[0] / 2**0.4, sizes[-1] * 2**0.4)
    for axes in axes_below:
        axes.tick_params(axis="x", labelsize=9)
        if crowded:
            for label in axes.get_xticklabels():
                label.set(rotation=40, ha="right", rotation_mode="anchor")
