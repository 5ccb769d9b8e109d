"""Every Python block of README.md and docs runs.

On the simulated driver; where torch has CUDA, on the GPU:

    KVSWAP_PACKAGE_DIR=OUT python -m pytest tests/docs/python_blocks_test.py
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
if package_dir := os.environ.get("KVSWAP_PACKAGE_DIR"):
    sys.path.insert(0, os.path.abspath(package_dir))

from tests import child_process  # noqa: E402
from tests.docs.pages import ROOT, blocks, pages  # noqa: E402

_PAGES = [page for page in pages() if blocks(page, "python")]


def _environment(page: str) -> dict[str, str]:
    import torch

    if torch.cuda.is_available():
        if page.endswith("simulated_driver.md"):
            pytest.skip("it is about machines without a GPU")
        return {}
    import kvswap_sim

    return kvswap_sim.environment("13.0")


@pytest.mark.skipif(
    importlib.util.find_spec("kvswap") is None, reason="kvswap is not there"
)
@pytest.mark.parametrize("page", _PAGES)
def test_python_blocks_run(page: str) -> None:
    count = child_process.run(
        "tests.docs.page_runner", "run_page", page, environment=_environment(page)
    )
    assert count == len(blocks(page, "python"))


def test_there_are_blocks() -> None:
    names = {Path(page).name for page in _PAGES}
    assert {"README.md", "concepts.md", "embedding.md", "ordering.md"} <= names
    assert (ROOT / "docs").is_dir()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import kvswap\nkvswap.swap_all()", "swap_all"),
        ("import kvswap\nkvswap.plan(src_ptrs, dst_ptrs, sizes, rate=1)", "rate"),
    ],
)
def test_a_wrong_name_fails(text: str, said: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n```python\n{text}\n```\n", encoding="utf-8")
    with pytest.raises(child_process.ChildFailed, match=said):
        child_process.run(
            "tests.docs.page_runner",
            "run_page",
            str(page),
            environment=_environment("page.md"),
        )
