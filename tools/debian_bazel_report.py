"""What people are told: progress while it works, one clear line when it cannot."""

from __future__ import annotations

import shutil
from typing import TextIO

from debian_bazel_recipe import BAZEL_VERSION

MEGABYTE = 1_000_000

# How messages begin and end where the machine is at fault.
NO_BAZEL = "no Bazel >= 7 on the PATH"
USE_OWN_BAZEL = f"install bazelisk, or Bazel {BAZEL_VERSION}, and put it on the PATH"


class Problem(Exception):
    """Something that people can put right: what happened, to what, and what to do."""


class Progress:
    """Steps, one line each; on a terminal it also shows how far the step has come."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._line = ""

    def step(self, text: str) -> None:
        """Begins a step."""
        self.end()
        self._line = f"bazelw: {text}"
        self._write(self._line if self._is_terminal else f"{self._line}\n")

    def detail(self, text: str) -> None:
        """Shows how far the step has come, where the line can be rewritten."""
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            self._write(f"\r\x1b[K{f'{self._line}: {text}'[:width]}")

    def end(self) -> None:
        """Ends the step in progress, if there is one."""
        if self._is_terminal and self._line:
            self._write(f"\r\x1b[K{self._line}\n")
        self._line = ""

    def fail(self, text: str) -> None:
        """Says why nothing came of it."""
        self.end()
        self._write(f"bazelw: {text}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
