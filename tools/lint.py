#!/usr/bin/env python3
"""Checks the sources of this repository."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lint_checks import CHECKS, Check
from lint_files import matching, sources
from lint_parts import Tree
from lint_programs import MissingProgram, Programs

_EPILOGUE = """\
checks (default: all):
{checks}

Exit status: 0 nothing is wrong, 1 something is, 2 a program is missing.
"""

# Is in the source tree, and not among the runfiles that Bazel gives this program.
_MARK = "pyproject.toml"


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="lint",
        description=__doc__,
        epilog=_EPILOGUE.format(
            checks="\n".join(
                f"  {name:14}{check.what}" for name, check in CHECKS.items()
            )
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("checks", nargs="*", metavar="CHECK", help="see below")
    parser.add_argument(
        "--fix", action="store_true", help="first mend what can be mended"
    )
    parser.add_argument(
        "--root",
        type=Path,
        # Bazel starts a link to the file in the source tree.
        default=Path(__file__).resolve().parent.parent,
        help="the source tree (default: the one that this program is in)",
    )
    parser.add_argument(
        "--buildifier",
        default="buildifier",
        metavar="PATH",
        help="the program (default: the one on the PATH)",
    )
    options = parser.parse_args(arguments)
    for name in options.checks:
        if name not in CHECKS:
            parser.error(f"no check {name}: there are {', '.join(CHECKS)}")
    if not (options.root / _MARK).is_file():
        parser.error(
            f"{options.root} is no source tree: it has no {_MARK}. Name the tree by "
            "--root; under Bazel, run this program on the machine that has the tree"
        )
    return options


def run_check(check: Check, tree: Tree, fix: bool) -> tuple[int, list[str]]:
    """How many files it covered, and what is wrong."""
    covered = {part: matching(list(tree.names), part.files) for part in check.parts}
    if fix:
        for part, names in covered.items():
            if names:
                part.fix(tree, names)
    findings = []
    for part, names in covered.items():
        if names:
            findings += part.find(tree, names)
        else:
            # Else a mistake in the table would pass for a clean tree.
            findings.append(f"no file is named {' or '.join(part.files)}")
    return len(set().union(*covered.values())), findings


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    options = parse_arguments(arguments)
    root = options.root.resolve()
    tree = Tree(root, sources(root), Programs(root, options.buildifier))
    status = 0
    mendable = []
    for name in options.checks or CHECKS:
        check = CHECKS[name]
        try:
            count, findings = run_check(check, tree, options.fix)
        except MissingProgram as missing:
            print(f"{name}: not run: {missing}")
            status = 2
            continue
        for finding in findings:
            print(finding)
        print(f"{name}: {count} files, {'wrong' if findings else 'nothing wrong'}")
        if findings:
            status = max(status, 1)
            if not options.fix and any(part.can_fix for part in check.parts):
                mendable.append(name)
    if mendable:
        print(f"Most of it mends itself: run tools/lint.py --fix {' '.join(mendable)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
