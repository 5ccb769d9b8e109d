"""Writes the committed lists anew: ./bazelw run //tests/stability:update

Additions are taken over. A break is refused without --accept-breaks.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tests.stability.all_lists import LISTS
from tests.stability.committed_list import CommittedList, compare, parse


def update(committed: CommittedList, root: Path, accept_breaks: bool) -> bool:
    """Writes one list below `root`; False where it was refused."""
    path = root / committed.path
    before = parse(path.read_text(encoding="utf-8")) if path.exists() else {}
    differences = compare(before, committed.collect(), committed.rule)
    print(f"{committed.path}: {'changed' if differences else 'as it was'}")
    if differences:
        print(differences)
    if differences.breaks and not accept_breaks:
        return False
    path.write_text(committed.text(), encoding="utf-8")
    return True


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="update", description=__doc__)
    parser.add_argument(
        "--accept-breaks",
        action="store_true",
        help="write the lists where something was removed or changed, too",
    )
    options = parser.parse_args(arguments)
    root = Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
    written = [update(committed, root, options.accept_breaks) for committed in LISTS]
    if not all(written):
        print(
            "update: the lists with breaks were not written; docs/versions.md says "
            "when they may be, and --accept-breaks writes them",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
