"""Runs the Python blocks of a page in this process, which is its own."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.docs.pages import blocks

# Needs a GPU, or what stands for one.
_NEEDS_CACHES = re.compile(
    r"\btorch\b|\b(kv_caches|src_ptrs|gpu|gpu_pool|pairs)\b|set_policy"
)
# What a page has its readers put into a file.
_FILES = {"program.py": "import kvswap\n\nprint(kvswap.driver_info().path)\n"}


def run_page(page: str) -> int:
    """Runs them one after another in one namespace, and says how many there were.

    Raises:
        Exception: whatever a block raises; the trace names page and line.
    """
    # Before they run, in a folder of their own.
    count = len(blocks(page, "python"))
    with names_of(page):
        return count


@contextlib.contextmanager
def names_of(page: str) -> Iterator[dict[str, Any]]:
    """Runs them too; what they have defined, while the driver is still there."""
    found = blocks(page, "python")
    with contextlib.ExitStack() as resources:
        names: dict[str, Any] = {}
        if any(_NEEDS_CACHES.search(block.text) for block in found):
            names = _names_with_gpu(resources)
        folder = Path(resources.enter_context(tempfile.TemporaryDirectory()))
        for name, text in _FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
        before = os.getcwd()
        os.chdir(folder)
        resources.callback(os.chdir, before)
        for block in found:
            # As many lines down as on the page, so that a trace tells the line.
            text = "\n" * block.line + block.text
            exec(compile(text, block.page, "exec"), names)
        yield names


def _names_with_gpu(resources: contextlib.ExitStack) -> dict[str, Any]:
    import torch

    from tests.docs.assumed_names import assumed_names

    if not torch.cuda.is_available():
        from kvswap.testing.cuda_driver import CudaDriver
        from tests.docs import simulated_torch

        driver = CudaDriver()
        resources.enter_context(driver.primary_context(0))
        resources.callback(driver.synchronize)
        simulated_torch.install(driver)
    return assumed_names()
