"""Runs a test's body in a fresh interpreter.

A process resolves the CUDA driver once and keeps it, so each driver version, and
each environment variable that is read once, needs a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

_CHILD = """
import importlib, json, sys
module, function, arguments = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
result = getattr(importlib.import_module(module), function)(*arguments)
print("\\nRESULT " + json.dumps(result))
"""

_TIMEOUT_SECONDS = 120


class ChildFailed(AssertionError):
    """The child did not come to a result; the message holds its output.

    Attributes:
        returncode: its exit status, negative for the signal that ended it.
    """

    def __init__(self, text: str, returncode: int) -> None:
        super().__init__(text)
        self.returncode = returncode


def run(
    module: str,
    function: str,
    *arguments: Any,
    environment: Mapping[str, str],
    timeout_seconds: float = _TIMEOUT_SECONDS,
) -> Any:
    """Calls ``module.function(*arguments)`` in a fresh interpreter.

    Args:
        module: name of an importable module.
        function: name of a function in it.
        arguments: its arguments, JSON values.
        environment: variables set for the child beside those of this process.
        timeout_seconds: how long it may take.

    Returns:
        The function's result, a JSON value.

    Raises:
        ChildFailed: the child raised, exited or was killed.
    """
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, module, function, json.dumps(arguments)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=timeout_seconds,
    )
    marker, _, result = child.stdout.rpartition("\nRESULT ")
    if child.returncode != 0 or not result:
        raise ChildFailed(
            f"{module}.{function}{arguments} in a child process under "
            f"{dict(environment)} ended with {child.returncode}\n"
            f"{child.stdout}\n{child.stderr}",
            child.returncode,
        )
    return json.loads(result)
