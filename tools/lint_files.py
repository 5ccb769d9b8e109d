"""Which files of a source tree are its sources."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

# What .gitignore names and tools leave behind, for trees without git.
_NO_SOURCES = (
    ".git",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".venv",
    "MODULE.bazel.lock",
    "__pycache__",
    "bazel-*",
    "node_modules",
    "user.bazelrc",
)

# Set where git itself runs a program, and then about another call of git.
_GIT_VARIABLES = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_WORK_TREE")


def sources(root: Path) -> list[str]:
    """All sources below `root`, as sorted paths from there; links are left out.

    Where `root` is the top of a git checkout they are what git has and what it would add;
    elsewhere, as in an unpacked archive, all files but those that tools leave behind.
    """
    names = _names_in_git(root)
    if names is None:
        names = list(_names_in_folder(root))
    return sorted(
        name
        for name in names
        if (root / name).is_file() and not (root / name).is_symlink()
    )


def matching(names: list[str], patterns: tuple[str, ...]) -> list[str]:
    """Those whose last component fits one of the patterns."""
    return [
        name
        for name in names
        if any(fnmatch(name.rpartition("/")[2], pattern) for pattern in patterns)
    ]


def _names_in_git(root: Path) -> list[str] | None:
    # The folder may lie in a checkout of something else, which may ignore it.
    top = _git(root, "rev-parse", "--show-toplevel")
    if top is None or Path(top.removesuffix("\n")).resolve() != root.resolve():
        return None
    names = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return None if names is None else sorted(set(names.split("\0")) - {""})


def _git(root: Path, *arguments: str) -> str | None:
    environment = {
        name: value for name, value in os.environ.items() if name not in _GIT_VARIABLES
    }
    try:
        return subprocess.run(
            ["git", *arguments],
            check=True,
            cwd=root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="surrogateescape",
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def _names_in_folder(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if _may_be_source(name)]
        for name in filter(_may_be_source, files):
            yield (Path(folder) / name).relative_to(root).as_posix()


def _may_be_source(name: str) -> bool:
    return not any(fnmatch(name, pattern) for pattern in _NO_SOURCES)
