"""Programs on a pseudo terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from typing import Any

_RUN = """
import runpy, sys
from tests.python.child_bodies import Blocked, spoil
missing, spoilt, *sys.argv = sys.argv[1:]
sys.meta_path.insert(0, Blocked(missing.split(",")))
if spoilt:
    spoil(int(spoilt))
runpy.run_module("kvswap", run_name="__main__", alter_sys=True)
"""
_TIMEOUT_SECONDS = 100

_CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def plain(text: str) -> str:
    """What is read: without colours and movements."""
    return _CONTROL_SEQUENCE.sub("", text).replace("\r\n", "\n")


class KvswapOnTerminal:
    """``python -m kvswap …`` on a terminal of its own.

    Attributes:
        output: what it has written so far.
        settings: of the terminal, before it began.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        size: tuple[int, int] = (80, 24),
        missing: Sequence[str] = ("torch",),
        spoilt_call: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Starts it.

        Args:
            arguments: of the command line.
            size: columns and lines of the terminal.
            missing: packages that cannot be imported.
            spoilt_call: as in child_bodies.run_program.
            environment: variables beside this process's.
        """
        self._terminal, self._side = pty.openpty()
        self.resize(*size)
        self.settings: list[Any] = termios.tcgetattr(self._side)
        self.output = ""
        variables = {
            name: value
            for name, value in os.environ.items()
            if name not in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
        }
        variables |= {
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "TERM": "xterm-256color",
            "KVSWAP_LIBCUDA": "/no/driver/here/libcuda.so.1",
            **(environment or {}),
        }
        spoilt = "" if spoilt_call is None else str(spoilt_call)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _RUN, ",".join(missing), spoilt, "kvswap"]
            + list(arguments),
            stdin=self._side,
            stdout=self._side,
            stderr=self._side,
            env=variables,
            start_new_session=True,
            # Ctrl-C is for the programs that the terminal controls.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def resize(self, columns: int, lines: int) -> None:
        """Makes the terminal another size."""
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)

    def type(self, text: str) -> None:
        """Presses keys."""
        os.write(self._terminal, text.encode())

    def read_until(self, text: str) -> None:
        """Reads on until a text, control sequences left out, has come."""
        begin = time.monotonic()
        while text not in plain(self.output):
            assert time.monotonic() - begin < _TIMEOUT_SECONDS, self.output[-2000:]
            assert self._read() or self._process.poll() is None, self.output[-2000:]

    def wait(self) -> int:
        """Reads the rest; the exit status."""
        begin = time.monotonic()
        while self._read() or self._process.poll() is None:
            if time.monotonic() - begin > _TIMEOUT_SECONDS:
                self._process.kill()
        self._process.wait()
        assert termios.tcgetattr(self._side) == self.settings
        os.close(self._side)
        os.close(self._terminal)
        return self._process.returncode

    def frames(self) -> list[str]:
        """The pictures it drew on a screen of their own."""
        begin = self.output.index("\x1b[?1049h")
        end = self.output.index("\x1b[?1049l")
        pictures = self.output[begin:end].split("\x1b[H")
        return [plain(picture) for picture in pictures if picture.strip()]

    def after(self) -> str:
        """What is on the terminal when the screen of pictures is gone."""
        return plain(self.output.partition("\x1b[?1049l")[2])

    def _read(self) -> bool:
        if not select.select([self._terminal], [], [], 0.1)[0]:
            return False
        # A character may arrive in two pieces.
        self._bytes = getattr(self, "_bytes", b"") + os.read(self._terminal, 1 << 16)
        self.output = self._bytes.decode(errors="replace")
        return True
