"""The sanitizers of this build find mistakes in libraries that Python loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_CALL = "import ctypes, sys; getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])(1)"

_REPORTS = {
    "address": "ERROR: AddressSanitizer: heap-buffer-overflow",
    "thread": "WARNING: ThreadSanitizer: data race",
    "undefined": "runtime error: signed integer overflow",
}

_SANITIZERS = os.environ["SANITIZERS"].split()
# Only its configuration says that one is in.
if "UBSAN_OPTIONS" in os.environ:
    _SANITIZERS.append("undefined")


@pytest.mark.parametrize("mistake", _SANITIZERS)
def test_a_mistake_ends_the_process(mistake: str) -> None:
    library = Path(os.environ["LIBRARY"]).absolute()
    child = subprocess.run(
        [sys.executable, "-c", _CALL, library, mistake],
        capture_output=True,
        check=False,
        text=True,
    )
    assert child.returncode != 0
    assert _REPORTS[mistake] in child.stderr
