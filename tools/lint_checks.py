"""The checks: which files each one covers, and by what."""

from __future__ import annotations

import os
from dataclasses import dataclass

from lint_downloads import download_findings
from lint_parts import Buildifier, Part, Program, Rule
from lint_rules import link_findings, lock_findings, mended_text, text_findings


@dataclass(frozen=True)
class Check:
    """A check by its name on the command line.

    Attributes:
        what: what it looks at, for the help.
        parts: all must find nothing.
    """

    what: str
    parts: tuple[Part, ...]


_PYTHON = ("*.py", "*.pyi")

CHECKS: dict[str, Check] = {
    "buildifier": Check(
        "BUILD, bzl, MODULE and WORKSPACE files: format and warnings",
        (
            Buildifier(
                files=(
                    "*.BUILD",
                    "*.bazel",
                    "*.bzl",
                    "BUILD",
                    "WORKSPACE",
                    "WORKSPACE.bzlmod",
                ),
            ),
        ),
    ),
    "clang-format": Check(
        "C and C++: format (.clang-format)",
        (
            Program(
                files=("*.c", "*.cc", "*.cu", "*.h"),
                program="clang-format",
                check=("--dry-run", "--Werror"),
                mend=("-i",),
            ),
        ),
    ),
    "ruff": Check(
        "Python: mistakes and format, also of Python in Markdown (pyproject.toml)",
        (
            Program(
                files=_PYTHON,
                program="ruff",
                check=("check", "--no-cache", "--quiet", "--output-format=concise"),
                mend=("check", "--no-cache", "--quiet", "--fix"),
            ),
            Program(
                files=(*_PYTHON, "*.md"),
                program="ruff",
                check=(
                    "format",
                    "--no-cache",
                    "--quiet",
                    "--check",
                    "--output-format=concise",
                ),
                mend=("format", "--no-cache", "--quiet"),
            ),
        ),
    ),
    "mypy": Check(
        "Python: types (pyproject.toml)",
        (
            Program(
                files=_PYTHON,
                program="mypy",
                check=(
                    f"--cache-dir={os.devnull}",
                    "--hide-error-context",
                    "--no-error-summary",
                ),
            ),
        ),
    ),
    "text": Check(
        "all texts: UTF-8, no tabs, no white space at ends, one newline at the end",
        (
            Rule(
                files=("*",),
                broken=text_findings,
                mended=mended_text,
                # Every byte of a fuzz target's input counts.
                exceptions=("tests/fuzz/corpus/*",),
            ),
        ),
    ),
    "links": Check(
        "Markdown: relative links lead to files",
        (Rule(files=("*.md",), broken=link_findings),),
    ),
    "locks": Check(
        "lock files, and what Starlark fetches: versions and hashes of everything",
        (
            Rule(
                files=("*.lock", "package-lock.json"),
                broken=lock_findings,
                # Wrong on purpose: tests that such a file is refused.
                exceptions=("tests/consumers/bad_input/*.lock",),
            ),
            Rule(
                files=("*.bzl", "MODULE.bazel", "WORKSPACE", "WORKSPACE.bzlmod"),
                broken=download_findings,
            ),
        ),
    ),
}
