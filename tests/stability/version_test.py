"""The version is the same wherever it is said."""

from __future__ import annotations

from pathlib import Path

import kvswap
import set_version


def test_every_file_says_the_same() -> None:
    assert not set_version.disagreements(Path.cwd()), (
        "python3 tools/set_version.py X.Y.Z changes all"
    )


def test_the_library_says_the_same() -> None:
    assert kvswap.__version__ == set_version.read_version(Path.cwd())
