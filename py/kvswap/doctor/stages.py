"""Questions that may hang or kill a process: asked in a child, stage after stage."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Begins the lines that are ours: libraries may print what they like.
_MARK = "@doctor "

# A process that hangs inside of the kernel does not end even when it is killed.
_SECONDS_TO_DIE = 5.0


@dataclass
class Outcome:
    """What a child found.

    Attributes:
        found: by stage.
        failures: stages that failed, with the reason; of a child that died or hung,
            the one that it was at.
    """

    found: dict[str, Any] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def answer(stages: Mapping[str, Callable[[], Any]]) -> None:
    """The child's part: runs each stage and prints what it returns."""
    for name, stage in stages.items():
        _print({"begin": name})
        try:
            found = stage()
        except Exception as error:
            _print({"stage": name, "failure": f"{type(error).__name__}: {error}"})
        else:
            _print({"stage": name, "found": found})


def _print(line: dict[str, Any]) -> None:
    print(f"\n{_MARK}{json.dumps(line)}", flush=True)


class Child:
    """A child process that runs a module which calls ``answer``.

    A context manager: it starts with it, and does not outlive it.
    """

    def __init__(
        self, module: str, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        """What to run.

        Args:
            module: its name.
            arguments: for its command line.
            environment: of the child.
        """
        self._command = [sys.executable, "-m", module, *arguments]
        self._environment = {
            **environment,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        self._resources = contextlib.ExitStack()

    def __enter__(self) -> Child:
        # Files, not pipes: nobody reads while the child runs.
        self._output = self._resources.enter_context(tempfile.TemporaryFile())
        self._errors = self._resources.enter_context(tempfile.TemporaryFile())
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._errors,
            # A group of its own, so that all of it can be ended.
            start_new_session=True,
        )
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._process.poll() is None:
            _kill(self._process)
        self._resources.close()

    def outcome(self, limit_seconds: float) -> Outcome:
        """Waits for it, and ends it when the time is over; what it found."""
        ended = _wait(self._process, limit_seconds)
        outcome, begun = _read(_content(self._output))
        if ended:
            stage = begun if begun not in outcome.found else "end"
            outcome.failures.setdefault(
                stage, ended + _last_words(_content(self._errors))
            )
        return outcome


def _wait(child: subprocess.Popen[bytes], limit_seconds: float) -> str:
    """How the child ended, if it did not end well."""
    try:
        status = child.wait(limit_seconds)
    except subprocess.TimeoutExpired:
        _kill(child)
        return f"no answer within {limit_seconds:g} seconds; the process was ended"
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = str(-status)
        return f"the process was killed by the signal {name}"
    return f"the process ended with status {status}" if status else ""


def _kill(child: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait(_SECONDS_TO_DIE)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass


def _content(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode("utf-8", "replace"))


def _read(text: str) -> tuple[Outcome, str]:
    """What was printed, and the last stage that was begun."""
    outcome, begun = Outcome(), "start"
    for line in text.splitlines():
        if not line.startswith(_MARK):
            continue
        try:
            said = json.loads(line[len(_MARK) :])
        except ValueError:
            continue  # cut off when the child was killed
        if "begin" in said:
            begun = said["begin"]
        elif "failure" in said:
            outcome.failures[said["stage"]] = said["failure"]
        else:
            outcome.found[said["stage"]] = said["found"]
    return outcome, begun


def _last_words(errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return f"; its last line: {lines[-1][:300]}" if lines else ""
