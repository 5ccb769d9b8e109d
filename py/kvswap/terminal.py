"""How kvswap's programs write: tables, headings, status words, lists, advice.

By ``rich`` where it is installed and the output is a terminal, else as plain aligned
text with the same content. ``NO_COLOR``, ``FORCE_COLOR`` and ``TERM=dumb`` are honoured.
Nothing is told by colour alone.
"""

from __future__ import annotations

import enum
import os
import shutil
import sys
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TextIO

# Of text that is not for a terminal.
_PLAIN_WIDTH = 88

# Lines of prose longer than this are hard to read, however wide the terminal is.
_WIDEST_PROSE = 100


# Values of TERM.
_DUMB = ("dumb", "unknown")


class Status(enum.Enum):
    """How a thing stands; its value is the word that is printed."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


_STYLES = {
    Status.OK: "bold green",
    Status.NOTE: "bold cyan",
    Status.WARNING: "bold yellow",
    Status.PROBLEM: "bold red",
}


class Terminal:
    """Writes plain text; what ``open_terminal`` returns may write the same by rich.

    Attributes:
        stream: where it goes.
        width: in columns.
    """

    def __init__(self, stream: TextIO, width: int = _PLAIN_WIDTH) -> None:
        self.stream = stream
        self.width = width

    @property
    def is_rich(self) -> bool:
        """Whether rich writes."""
        return False

    def title(self, text: str) -> None:
        """The first line of a report."""
        self._line(text)

    def heading(self, text: str) -> None:
        """Begins a section."""
        self._line()
        self._line(text)
        self._line("-" * len(text))

    def text(self, text: str, indent: int = 0) -> None:
        """A paragraph, wrapped to the width; long words, as paths, stay whole."""
        for line in self._wrapped(text, indent):
            self._line(line)

    def status(self, status: Status, text: str) -> None:
        """A line that begins with how a thing stands."""
        word = f"[{status.value}]"
        first, *others = self._wrapped(text, len(word) + 1)
        self._line(f"{word} {first.lstrip()}")
        for line in others:
            self._line(line)

    def key_values(self, values: Mapping[str, object]) -> None:
        """A line for each key, values aligned; those that are None are left out."""
        shown = {key: str(value) for key, value in values.items() if value is not None}
        width = max(map(len, shown), default=0)
        for key, value in shown.items():
            first, *others = self._wrapped(value, width + 2) or [""]
            self._line(f"{key:{width}}  {first.lstrip()}".rstrip())
            for line in others:
                self._line(line)

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        numeric: Collection[int] = (),
    ) -> None:
        """A table, columns aligned.

        Args:
            header: names of the columns.
            rows: cells; a ``Status`` is written as its word.
            numeric: columns that are aligned to the right.
        """
        lines = [list(header), *([_cell_text(cell) for cell in row] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for number, line in enumerate(lines):
            self._line(
                "  ".join(
                    cell.rjust(width) if column in numeric else cell.ljust(width)
                    for column, (cell, width) in enumerate(
                        zip(line, widths, strict=True)
                    )
                ).rstrip()
            )
            if number == 0:
                self._line("  ".join("-" * width for width in widths))

    def blank(self) -> None:
        """An empty line."""
        self._line()

    def _line(self, text: str = "") -> None:
        encoding = self.stream.encoding or "utf-8"
        text = text.encode(encoding, "replace").decode(encoding)
        self.stream.write(text + "\n")

    def _wrapped(self, text: str, indent: int) -> list[str]:
        return textwrap.wrap(
            text,
            max(indent + 20, min(self.width, _WIDEST_PROSE)),
            initial_indent=" " * indent,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )


class _RichTerminal(Terminal):
    """Writes by rich."""

    def __init__(self, stream: TextIO, console: Any) -> None:
        super().__init__(stream, console.width)
        self.console = console

    @property
    def is_rich(self) -> bool:
        return True

    def title(self, text: str) -> None:
        self._styled(text, "bold")

    def heading(self, text: str) -> None:
        self._line()
        self._styled(text, "bold underline")

    def status(self, status: Status, text: str) -> None:
        from rich.text import Text

        word = f"[{status.value}]"
        first, *others = self._wrapped(text, len(word) + 1)
        line = Text(word, style=_STYLES[status])
        line.append(f" {first.lstrip()}", style="not bold default")
        self._print(line)
        for other in others:
            self._line(other)

    def key_values(self, values: Mapping[str, object]) -> None:
        from rich.text import Text

        shown = {key: str(value) for key, value in values.items() if value is not None}
        width = max(map(len, shown), default=0)
        for key, value in shown.items():
            first, *others = self._wrapped(value, width + 2) or [""]
            line = Text(f"{key:{width}}", style="cyan")
            line.append(f"  {first.lstrip()}", style="default")
            self._print(line)
            for other in others:
                self._line(other)

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        numeric: Collection[int] = (),
    ) -> None:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for number, name in enumerate(header):
            table.add_column(
                Text(name),
                justify="right" if number in numeric else "left",
                overflow="fold",
                # What a line is about stays in one piece.
                no_wrap=number == 0,
            )
        for row in rows:
            table.add_row(
                *(
                    Text(_cell_text(cell), style=_STYLES[cell])
                    if isinstance(cell, Status)
                    else Text(_cell_text(cell))
                    for cell in row
                )
            )
        self.console.print(table)

    def _line(self, text: str = "") -> None:
        from rich.text import Text

        self._print(Text(text))

    def _styled(self, text: str, style: str) -> None:
        from rich.text import Text

        self._print(Text(text, style=style))

    def _print(self, text: Any) -> None:
        # Lines are wrapped already; paths that are longer are not to be broken.
        self.console.print(text, soft_wrap=True)


def _cell_text(cell: object) -> str:
    if cell is None:
        return "-"
    return cell.value if isinstance(cell, Status) else str(cell)


def rich_console(
    stream: TextIO | None = None, environment: Mapping[str, str] | None = None
) -> Any:
    """rich's Console on a stream, for progress bars and live displays.

    None where rich is not installed, or the stream is no terminal that shows it: then
    write plain lines.
    """
    stream = sys.stdout if stream is None else stream
    environment = os.environ if environment is None else environment
    if not _wants_rich(stream, environment):
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    # rich fails on sizes that are no numbers; without them it asks the terminal.
    asked_for = {
        name: value
        for name, value in environment.items()
        if name not in ("COLUMNS", "LINES") or _size_asked_for(environment, name)
    }
    if environment.get("TERM") in _DUMB:
        # FORCE_COLOR says otherwise, as in the logs of continuous integration.
        asked_for["TERM"] = "xterm"
    return Console(
        file=stream,
        # The stream is a terminal, or FORCE_COLOR says to write as to one.
        force_terminal=True,
        no_color=bool(environment.get("NO_COLOR")),
        highlight=False,
        markup=False,
        emoji=False,
        width=_size_asked_for(environment, "COLUMNS"),
        _environ=asked_for,
    )


def open_terminal(
    stream: TextIO | None = None, environment: Mapping[str, str] | None = None
) -> Terminal:
    """What writes to a stream, by default to the standard output.

    Args:
        stream: where to.
        environment: the variables to go by; None: those of this process.
    """
    stream = sys.stdout if stream is None else stream
    environment = os.environ if environment is None else environment
    console = rich_console(stream, environment)
    if console is not None:
        return _RichTerminal(stream, console)
    width = _size_asked_for(environment, "COLUMNS")
    if width is None and stream.isatty():
        width = shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns
    return Terminal(stream, width or _PLAIN_WIDTH)


def _wants_rich(stream: TextIO, environment: Mapping[str, str]) -> bool:
    if environment.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environment.get("TERM", "") not in _DUMB


def _size_asked_for(environment: Mapping[str, str], name: str) -> int | None:
    """In characters; None where a variable asks for none."""
    text = environment.get(name, "")
    # Terminals have sizes of five digits at most.
    is_size = text.isascii() and text.isdigit() and len(text) <= 5
    return (int(text) or None) if is_size else None
