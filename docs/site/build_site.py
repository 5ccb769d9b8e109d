"""Builds the site: an action's program.

    build_site.py OUTPUT LIST

Each line of the file LIST is a path in the repository, a tab, and where the file is.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build


def lay_out(files: str, tree: Path) -> None:
    """Copies the files to where they are in the repository."""
    for line in Path(files).read_text(encoding="utf-8").splitlines():
        name, _, path = line.partition("\t")
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def main() -> int:
    output, files = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="kvswap-docs-") as folder:
        tree = Path(folder, "tree")
        lay_out(files, tree)
        status: int = sphinx_build(
            [
                "-W",
                "--keep-going",
                "-q",
                "-b",
                "html",
                "-c",
                str(tree / "docs/site"),
                "-d",
                str(Path(folder, "doctrees")),
                str(tree),
                output,
            ]
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
