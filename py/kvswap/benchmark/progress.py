"""Tells on stderr how far a run has come: a bar, lines, or nothing.

Only between cells, never between the rounds of one: whoever measures calls `step` when a
cell begins, and nothing here runs by itself. The bar's own refreshing, a thread that would
take the interpreter's lock in the middle of a round, is off.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

_SECONDS_BETWEEN_LINES = 2.0


class Progress:
    """Tells nothing."""

    def begin(self, total: int) -> None:
        """A run of so many cells begins."""

    def step(self, number: int, text: str, most_seconds: float) -> None:
        """A cell begins.

        Args:
            number: counted from 0.
            text: which.
            most_seconds: that the run may still take.
        """

    def end(self) -> None:
        """The run has ended, or was broken off. May be called more than once."""

    def tell(self, text: str) -> None:
        """Something to know."""


class TimeLeft:
    """Expects of the cells that are left what those that are done took."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._total = 0
        self._begin = clock()

    def begin(self, total: int) -> None:
        """So many cells begin now."""
        self._total = total
        self._begin = self._clock()

    def seconds(self, done: int, most_seconds: float) -> float:
        """What is left after so many cells."""
        most = max(0.0, most_seconds)
        if done == 0:
            return most
        elapsed = self._clock() - self._begin
        return min(most, elapsed / done * (self._total - done))


def duration_text(seconds: float) -> str:
    """ "45 s", "2:05 min", "1:00:09 h"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02} h"


class LineProgress(Progress):
    """A line, but not more often than every few seconds."""

    def __init__(
        self,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Writes to a stream; None: to what sys.stderr is at that time."""
        self._stream = stream
        self._clock = clock
        self._left = TimeLeft(clock)
        self._total = 0
        self._next_line = 0.0

    def begin(self, total: int) -> None:
        self._total = total
        self._left.begin(total)
        self._next_line = self._clock()

    def step(self, number: int, text: str, most_seconds: float) -> None:
        now = self._clock()
        if now < self._next_line:
            return
        self._next_line = now + _SECONDS_BETWEEN_LINES
        left = duration_text(self._left.seconds(number, most_seconds))
        bound = "at most " if number == 0 else ""
        self.tell(f"[{number + 1}/{self._total}, {bound}{left} left] {text}")

    def tell(self, text: str) -> None:
        print(text, file=self._stream or sys.stderr, flush=True)


class BarProgress(Progress):
    """A bar with the time left, by rich."""

    def __init__(
        self,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Draws on a stream; None: on stderr.

        Raises:
            ImportError: rich is not installed.
        """
        console = importlib.import_module("rich.console")
        self._rich: Any = importlib.import_module("rich.progress")
        self._console = (
            console.Console(stderr=True)
            if stream is None
            else console.Console(file=stream, force_terminal=True)
        )
        self._left = TimeLeft(clock)
        self._bar: Any = None
        self._task: Any = None

    def begin(self, total: int) -> None:
        self.end()
        self._left.begin(total)
        rich = self._rich
        self._bar = rich.Progress(
            rich.BarColumn(bar_width=24),
            rich.MofNCompleteColumn(),
            rich.TextColumn("{task.fields[left]}", style="cyan"),
            rich.TextColumn("{task.description}", markup=False),
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("", total=total, left="")
        self._bar.start()

    def step(self, number: int, text: str, most_seconds: float) -> None:
        if self._bar is None:
            return
        left = duration_text(self._left.seconds(number, most_seconds))
        bound = "at most " if number == 0 else ""
        self._bar.update(
            self._task,
            completed=number,
            description=text,
            left=f"{bound}{left} left",
        )
        self._bar.refresh()

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def tell(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def open_progress(quiet: bool = False, stream: TextIO | None = None) -> Progress:
    """A bar on a terminal where rich is installed, else lines; nothing if quiet."""
    if quiet:
        return Progress()
    if (stream or sys.stderr).isatty() and os.environ.get("TERM") != "dumb":
        try:
            return BarProgress(stream)
        except ImportError:
            pass
    return LineProgress(stream)
