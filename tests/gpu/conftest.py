"""Tests on a real GPU, with torch; without one they are skipped, with the reason.

    python -m pytest tests/gpu

kvswap is imported from the folder that KVSWAP_PACKAGE_DIR names (it holds the folder
`kvswap`), where that is set; build_module.py makes one.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # for gpu_support
if package_dir := os.environ.get("KVSWAP_PACKAGE_DIR"):
    sys.path.insert(0, os.path.abspath(package_dir))


@pytest.fixture(autouse=True)
def gpu_is_idle() -> Iterator[None]:
    """Errors of work that a test leaves running are that test's."""
    from gpu_support import torch

    yield
    torch.cuda.synchronize()


@pytest.fixture(autouse=True)
def no_garbage() -> None:
    """What an earlier test left is collected now: torch's graphs call functions when
    they are destroyed that would invalidate a capture of this one."""
    gc.collect()
