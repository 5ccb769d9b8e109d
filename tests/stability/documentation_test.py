"""The documentation names every environment variable that kvswap reads."""

from __future__ import annotations

from pathlib import Path

from tests.stability.environment_variables import collect, sources


def test_every_variable_is_documented() -> None:
    pages = [Path("README.md"), *Path("docs").glob("*.md")]
    assert len(pages) > 5
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    missing = [name for name in collect() if f"`{name}" not in text]
    assert not missing, (
        f"neither README.md nor docs/*.md say what these are: {missing}; "
        "docs/versions.md has a table of all"
    )


def test_sources_of_all_kinds_are_searched() -> None:
    names = {str(source) for source in sources()}
    assert {
        "bazelw",
        "csrc/driver/library.cc",
        "csrc/engine/settings.cc",
        "csrc/sim/options.cc",
        "py/kvswap/testing/cuda_driver.py",
        "py/kvswap_sim/_library.py",
        "toolchains/cuda/abi_matrix.bzl",
        "toolchains/python/interpreter.bzl",
        "tools/debian_bazel.py",
    } <= names
