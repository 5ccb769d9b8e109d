"""Runs ``python -m kvswap`` in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from tests.commands.fake_system import base_environment

_TIMEOUT_SECONDS = 120


def command(*arguments: str) -> list[str]:
    """Its words."""
    return [sys.executable, "-m", "kvswap", *arguments]


def child_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables with which it finds the packages of this process."""
    return {
        **base_environment(),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "TERM": "dumb",
        **(environment or {}),
    }


def run(
    *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs it; what it printed, and its status."""
    return subprocess.run(
        command(*arguments),
        env=child_environment(environment),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
