"""Runs code in a child process that has a simulated driver."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping

import kvswap_sim
from tests.sim.client import CLIENT_FILE

_PRELUDE = """
import ctypes, os, sys
import kvswap_sim
sys.path.insert(0, os.environ["CUDA_DRIVER_FOLDER"])
import cuda_driver
"""


def run(
    code: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs Python code; its exit status and output."""
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "CUDA_DRIVER_FOLDER": str(CLIENT_FILE.parent),
        **kvswap_sim.environment(),
        **(environment or {}),
    }
    return subprocess.run(
        [sys.executable, "-c", _PRELUDE + textwrap.dedent(code)],
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
