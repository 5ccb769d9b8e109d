"""What the benchmark tells while it runs: a bar, lines, or nothing."""

from __future__ import annotations

import importlib.util
import io
import sys
import threading

import pytest

from kvswap.benchmark.progress import (
    BarProgress,
    LineProgress,
    Progress,
    TimeLeft,
    duration_text,
    open_progress,
)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Time that goes by when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_durations() -> None:
    assert [duration_text(each) for each in (0.4, 59.4, 60, 125, 3609)] == [
        "0 s",
        "59 s",
        "1:00 min",
        "2:05 min",
        "1:00:09 h",
    ]


def test_time_left_is_that_of_the_cells_so_far() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    left.begin(10)
    assert left.seconds(0, 300.0) == 300.0, "nothing is known but the most"
    clock.now += 20
    assert left.seconds(2, 300.0) == 80.0
    assert left.seconds(2, 30.0) == 30.0, "the run ends then"
    assert left.seconds(2, -5.0) == 0.0


def test_lines_come_every_few_seconds() -> None:
    clock, stream = Clock(), io.StringIO()
    lines = LineProgress(stream, clock)
    lines.begin(100)
    for number in range(100):
        lines.step(number, f"cell {number}", 300.0)
        clock.now += 0.5
    lines.end()
    written = stream.getvalue().splitlines()
    assert len(written) == 25
    assert written[0] == "[1/100, at most 5:00 min left] cell 0"
    assert written[1] == "[5/100, 48 s left] cell 4"
    lines.tell("PROBLEM: something")
    assert stream.getvalue().endswith("\nPROBLEM: something\n"), "at once"


def test_bar_of_rich() -> None:
    pytest.importorskip("rich")
    clock, stream = Clock(), Terminal()
    bar = BarProgress(stream, clock)
    threads = threading.active_count()
    bar.begin(4)
    assert threading.active_count() == threads, "nothing refreshes by itself"
    bar.step(0, "h2d [8,192] x 2 KiB", 300.0)
    clock.now += 30
    before = len(stream.getvalue())
    bar.tell("PROBLEM: [bold]wrong[/bold]")
    bar.step(1, "d2h", 300.0)
    text = stream.getvalue()
    assert "h2d [8,192] x 2 KiB" in text[:before], "text is no markup"
    assert "at most 5:00 min left" in text[:before]
    assert "PROBLEM: [bold]wrong[/bold]" in text
    assert "1/4" in text[before:] and "1:30 min left" in text[before:]
    bar.end()
    ended = stream.getvalue()
    bar.end()
    bar.step(2, "after the end", 1.0)
    assert stream.getvalue() == ended


def test_bar_writes_only_when_it_is_told_to() -> None:
    pytest.importorskip("rich")
    stream = Terminal()
    bar = BarProgress(stream)
    bar.begin(2)
    bar.step(0, "a", 10.0)
    written = stream.getvalue()
    assert not threading.Event().wait(0.3)  # a bar of its own would refresh by then
    assert stream.getvalue() == written
    bar.end()


def test_which_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert type(open_progress(quiet=True, stream=Terminal())) is Progress
    assert isinstance(open_progress(stream=io.StringIO()), LineProgress)
    if importlib.util.find_spec("rich"):
        assert isinstance(open_progress(stream=Terminal()), BarProgress)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(open_progress(stream=Terminal()), LineProgress)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setitem(sys.modules, "rich.console", None)  # as if not installed
    assert isinstance(open_progress(stream=Terminal()), LineProgress)


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = open_progress(quiet=True)
    quiet.begin(2)
    quiet.step(0, "a", 1.0)
    quiet.tell("b")
    quiet.end()
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""
