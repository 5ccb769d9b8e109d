"""Questions that may hang or kill a process: asked in a child, stage after stage."""

from __future__ import annotations

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


def ask(
    module: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    limit_seconds: float,
) -> Outcome:
    """Runs a module that calls ``answer`` in a child process.

    Args:
        module: its name.
        arguments: for its command line.
        environment: of the child.
        limit_seconds: after which the child is ended.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env={
                **environment,
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            # A group of its own, so that all of it can be ended.
            start_new_session=True,
        )
        try:
            ended = _wait(child, limit_seconds)
        except BaseException:
            _kill(child)
            raise
        outcome, begun = _read(_content(output))
        if ended != "":
            stage = begun if begun not in outcome.found else "end"
            if stage not in outcome.failures:
                outcome.failures[stage] = ended + _last_words(_content(errors))
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
