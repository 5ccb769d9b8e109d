"""A frame as rich draws it: two grids, what happens, the requests, the counters."""

from __future__ import annotations

import string
from dataclasses import dataclass

from rich import box
from rich.align import Align
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.style import Style
from rich.table import Table
from rich.text import Text

from kvswap.demonstration.cells import Cell, Frame, Look
from kvswap.demonstration.layout import GAP, Layout, choose_layout
from kvswap.demonstration.steps import Kind, Place, RequestState, Step
from kvswap.demonstration.words import counted

# Told apart by colour-blind people too, on dark terminals as on light ones. With each,
# the colour of text on it.
_COLOURS = (
    ("#e69f00", "#000000"),
    ("#56b4e9", "#000000"),
    ("#009e73", "#ffffff"),
    ("#cc79a7", "#000000"),
    ("#0072b2", "#ffffff"),
    ("#d55e00", "#ffffff"),
    ("#f0e442", "#000000"),
    ("#8d6fd1", "#ffffff"),
)

# What is around the grids: headline, sentence (two lines), two lines for the last swap,
# one for counters, a note, two blank lines.
_OTHER_LINES = 9
_FEWEST_REQUESTS = 3


@dataclass(frozen=True)
class Caption:
    """The lines of text of a frame that are not of its step.

    Attributes:
        headline: at the top.
        swap: of the last call of the library.
        speed: how fast that was.
        totals: the counters.
        note: at the bottom.
    """

    headline: str
    swap: str
    speed: str
    totals: str
    note: str


def _styles(letter: str) -> tuple[Style, Style]:
    """Of a request's blocks, and of its letter without a block around it."""
    colour, text = _COLOURS[string.ascii_uppercase.index(letter) % len(_COLOURS)]
    return Style(color=text, bgcolor=colour, bold=True), Style(color=colour, bold=True)


_BORDERS = 2


def _cell_text(cell: Cell, layout: Layout, is_gpu: bool, leaves_gpu: bool) -> Text:
    """One line of a cell that has a letter."""
    width = layout.cell_width
    if cell.look is Look.FREE:
        return Text("·".center(width), "dim")
    solid, outline = _styles(cell.letter)
    if cell.look in (Look.LEAVING, Look.ARRIVING):
        arrow = "→" if leaves_gpu else "←"
        if width < 3:
            return Text(arrow.center(width), outline)
        # On the side where the other grid is.
        text = f"{cell.letter}{arrow}" if is_gpu else f"{arrow}{cell.letter}"
        return Text(text.center(width), outline)
    symbol = {Look.WRITTEN: "+", Look.RIGHT: "✓"}.get(cell.look, cell.letter)
    if width < 3:
        return Text(symbol, solid) + Text(" " * (width - 1))
    if cell.look is Look.RIGHT:
        symbol = cell.letter + "✓" if width > 3 else symbol
    # Half blocks leave a thin gap between neighbours.
    inside = Text(symbol.center(width - 2), solid)
    return Text("▐", outline) + inside + Text("▌", outline)


def _cell_filling(cell: Cell, width: int) -> Text:
    """The other line of a cell that is two lines high."""
    if cell.look in (Look.FREE, Look.LEAVING, Look.ARRIVING):
        return Text(" " * width)
    return Text("▝" + "▀" * (width - 2) + "▘", _styles(cell.letter)[1])


def _grid(
    cells: tuple[Cell, ...], columns: int, layout: Layout, is_gpu: bool, step: Step
) -> Text:
    leaves_gpu = step.kind is Kind.SWAP_OUT
    lines = []
    for row in range(layout.rows):
        line, filling = Text(), Text()
        for cell in cells[row * columns : (row + 1) * columns]:
            line += _cell_text(cell, layout, is_gpu, leaves_gpu)
            filling += _cell_filling(cell, layout.cell_width)
        lines.append(line)
        if layout.cell_height == 2:
            lines.append(filling)
    return Text("\n").join(lines)


def _between(frame: Frame, layout: Layout) -> Text:
    """The blocks that are on their way, each in a line of its own while that goes."""
    step = frame.step
    leaves_gpu = step.kind is Kind.SWAP_OUT
    height = layout.height
    lines = [Text(" " * GAP) for _ in range(height)]
    for position, way in frame.flights:
        line = 1 + position % (height - _BORDERS)
        place = round(way * (GAP - 2))
        if leaves_gpu:
            text = "─" * place + f"{step.letter}→"
        else:
            text = f"←{step.letter}" + "─" * place
        flying = text.ljust(GAP) if leaves_gpu else text.rjust(GAP)
        lines[line] = Text(flying, _styles(step.letter)[1])
    if not frame.flights:
        lines[height // 2] = Text("⇄".center(GAP), "dim")
    return Text("\n").join(lines)


def _panel(title: str, used: int, grid: Text, width: int) -> Panel:
    return Panel(
        grid,
        box=box.ROUNDED,
        title=f"[bold]{title}[/bold]",
        subtitle=f"{used} in use",
        border_style="dim",
        width=width,
        padding=(0, 1),
    )


def _place(request: RequestState, frame: Frame) -> str:
    if frame.flights and request.letter == frame.step.letter:
        return "moving out" if request.place is Place.HOST else "moving in"
    return request.place.value


def _requests(frame: Frame, most: int) -> Table:
    step, requests = frame.step, frame.step.requests
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", min_width=12, ratio=1)
    # As wide as its longest text, so that nothing jumps.
    table.add_column(no_wrap=True, min_width=len(Place.HOST.value))
    table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True, justify="right")
    # The one that the step is about is seen in any case.
    ordered = sorted(requests, key=lambda one: one.letter != step.letter)
    shown = {one.letter for one in ordered[:most]}
    for request in requests:
        if request.letter not in shown:
            continue
        solid, _ = _styles(request.letter)
        style = "bold" if request.letter == step.letter else ""
        if request.place is Place.HOST and not style:
            style = "dim"
        table.add_row(
            Text(f" {request.letter} ", solid),
            Text(request.prompt, style),
            Text(_place(request, frame), style),
            Text(counted(request.blocks, "block"), style),
            Text(counted(request.swaps, "swap"), style),
        )
    return table


class Picture:
    """A frame and its caption, drawn to fit the terminal as it is now."""

    def __init__(
        self, frame: Frame, caption: Caption, whole_screen: bool = False
    ) -> None:
        """`whole_screen`: as high as the terminal, the picture in its middle."""
        self._frame = frame
        self._caption = caption
        self._whole_screen = whole_screen

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        """What rich calls to draw it."""
        width, height = options.max_width, console.height
        frame, caption = self._frame, self._caption
        layout = choose_layout(
            len(frame.gpu),
            len(frame.host),
            width,
            height - _OTHER_LINES - _FEWEST_REQUESTS,
        )
        if layout is None:
            yield from self._without_grids()
            return
        inner = max(layout.width, min(width, 76))
        most = max(_FEWEST_REQUESTS, height - _OTHER_LINES - layout.height)
        sentence = Text(f"{frame.step.number:2}. {frame.step.text}.", "bold")
        parts: list[RenderableType] = [
            Text(caption.headline, no_wrap=True, overflow="ellipsis"),
            Align.center(self._grids(layout), width=inner),
            # Always two lines, so that nothing below moves.
            _lines(sentence, inner, 2, console),
            Text(),
            _requests(frame, most),
            Text(),
            Text(caption.swap, no_wrap=True, overflow="ellipsis"),
            Text(caption.speed, no_wrap=True, overflow="ellipsis"),
            Text(caption.totals, no_wrap=True, overflow="ellipsis"),
            Text(caption.note, "dim", no_wrap=True, overflow="ellipsis"),
        ]
        column = Table.grid()
        column.add_column(width=inner)
        column.add_row(Group(*parts))
        yield Align.center(
            column,
            vertical="middle" if self._whole_screen else None,
            height=height if self._whole_screen else None,
        )

    def _grids(self, layout: Layout) -> Table:
        frame = self._frame
        gpu = _grid(frame.gpu, layout.gpu_columns, layout, True, frame.step)
        host = _grid(frame.host, layout.host_columns, layout, False, frame.step)
        used = [
            sum(cell.look is not Look.FREE for cell in cells)
            for cells in (frame.gpu, frame.host)
        ]
        row = Table.grid()
        row.add_row(
            _panel(
                f"GPU, {counted(len(frame.gpu), 'block')}",
                used[0],
                gpu,
                layout.gpu_width,
            ),
            _between(frame, layout),
            _panel(
                f"pinned host memory, {counted(len(frame.host), 'block')}",
                used[1],
                host,
                layout.host_width,
            ),
        )
        return row

    def _without_grids(self) -> RenderResult:
        step = self._frame.step
        yield Text(f"{step.number:2}. {step.text}.", "bold")
        yield Text(self._caption.swap)
        yield Text(
            "The terminal is too small for the grids: enlarge it, or pass --plain.",
            "dim",
        )


def _lines(text: Text, width: int, count: int, console: Console) -> Text:
    wrapped = list(text.wrap(console, width))[:count]
    wrapped += [Text()] * (count - len(wrapped))
    return Text("\n").join(wrapped)
