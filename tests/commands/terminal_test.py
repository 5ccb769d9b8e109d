"""What programs write: by rich and as plain text the same, aligned, with status words."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable

import pytest

from kvswap import terminal
from kvswap.terminal import Status, Terminal, open_terminal

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class FakeTerminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def write(out: Terminal) -> None:
    """Some of everything."""
    out.title("a title")
    out.heading("a section")
    out.status(Status.OK, "fine")
    out.status(Status.WARNING, "words " * 30)
    out.key_values({"key": "value [bold]x[/bold]", "longer key": 7, "none": None})
    out.table(
        ["name", "number"],
        [["one", 1], ["two", 22], [Status.PROBLEM, None]],
        numeric={1},
    )
    out.text("/a/path/" + "x" * 120 + " :smile: end", indent=2)


def written(stream: io.StringIO, environment: dict[str, str]) -> str:
    """What comes out on a stream."""
    write(open_terminal(stream, environment))
    return stream.getvalue()


def words(text: str) -> list[str]:
    """The words of an output, without colours and lines of tables."""
    return re.sub(r"[─━ \n-]+", " ", _COLOURS.sub("", text)).split()


def test_plain() -> None:
    text = written(io.StringIO(), {})
    assert "\x1b" not in text and text.isascii()
    lines = text.splitlines()
    assert lines[:5] == ["a title", "", "a section", "---------", "[ok] fine"]
    assert "key         value [bold]x[/bold]" in lines
    assert "longer key  7" in lines
    begin = lines.index("name     number")
    assert lines[begin + 1 : begin + 5] == [
        "-------  ------",
        "one           1",
        "two          22",
        "problem       -",
    ]
    assert max(map(len, lines[5:8])) <= 88
    # Long words, as paths, can be copied.
    assert any("x" * 120 in line for line in lines)


def test_rich_writes_the_same() -> None:
    pytest.importorskip("rich")
    rich = written(FakeTerminal(), {"TERM": "xterm-256color", "COLUMNS": "88"})
    assert "\x1b[" in rich
    assert words(rich) == words(written(io.StringIO(), {}))


@pytest.mark.parametrize(
    ("environment", "make", "is_rich", "colours"),
    [
        ({"TERM": "xterm"}, FakeTerminal, True, True),
        ({"TERM": "xterm"}, io.StringIO, False, False),
        ({"TERM": "dumb"}, FakeTerminal, False, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, FakeTerminal, True, False),
        ({"TERM": "xterm", "FORCE_COLOR": "1"}, io.StringIO, True, True),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, io.StringIO, True, True),
    ],
)
def test_which(
    environment: dict[str, str],
    make: Callable[[], io.StringIO],
    is_rich: bool,
    colours: bool,
) -> None:
    pytest.importorskip("rich")
    stream = make()
    out = open_terminal(stream, environment)
    assert out.is_rich is is_rich
    out.status(Status.PROBLEM, "word")
    codes = re.findall(r"\x1b\[([0-9;]*)m", stream.getvalue())
    assert any({"31"} & set(code.split(";")) for code in codes) is colours
    assert _COLOURS.sub("", stream.getvalue()) == "[problem] word\n"


def test_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    environment = {"TERM": "xterm", "FORCE_COLOR": "1"}
    assert not open_terminal(FakeTerminal(), environment).is_rich
    assert terminal.rich_console(FakeTerminal(), environment) is None


@pytest.mark.parametrize("columns", [60, 100])
def test_width(columns: int) -> None:
    stream = io.StringIO()
    out = open_terminal(stream, {"COLUMNS": str(columns)})
    assert out.width == columns
    out.text("word " * 100)
    lines = stream.getvalue().splitlines()
    assert columns - 5 < max(map(len, lines)) <= columns


def test_encodings_that_lack_a_letter() -> None:
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="ascii")
    open_terminal(stream, {}).text("naïve")
    stream.flush()
    assert buffer.getvalue() == b"na?ve\n"
