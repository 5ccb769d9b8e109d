"""The environment variables that kvswap reads."""

from __future__ import annotations

import re
from pathlib import Path

from tests.stability.committed_list import Entries

_QUOTED = re.compile(r"[\"'](KVSWAP_[A-Z][A-Z0-9_]*)[\"']")
_SHELL = re.compile(r"\$\{?(KVSWAP_[A-Z][A-Z0-9_]*)")

# What tests alone read: the doctor knows that they are no misspellings.
_OF_TESTS = {
    "KVSWAP_PACKAGE_DIR",
    "KVSWAP_PROPERTY_FACTOR",
    "KVSWAP_PYTEST_FILES",
    "KVSWAP_RELIABILITY_FILE",
    "KVSWAP_SMALL_GPU_TESTS",
}

_SOURCES = ("csrc", "py", "toolchains", "tools")
_SUFFIXES = {".bzl", ".c", ".cc", ".h", ".py"}


def sources() -> list[Path]:
    """The files that can read the environment; those that are tests are not here."""
    return [Path("bazelw")] + sorted(
        path
        for folder in _SOURCES
        for path in Path(folder).rglob("*")
        if path.suffix in _SUFFIXES
    )


def read_by(source: Path) -> set[str]:
    """The variables that a file names."""
    text = source.read_text(encoding="utf-8")
    pattern = _QUOTED if source.suffix else _SHELL
    return set(pattern.findall(text)) - _OF_TESTS


def collect() -> Entries:
    """All of them."""
    return {name: "" for source in sources() for name in read_by(source)}
