"""Why a source tree is not ready for a release."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import set_version


def _uncommitted(root: Path) -> list[str]:
    status = subprocess.run(
        ["git", "-C", str(root), "status", "--porcelain"],
        capture_output=True,
        encoding="utf-8",
    )
    if status.returncode != 0:
        return [f"{root}: git cannot tell its state: {status.stderr.strip()}"]
    changed = [line[3:] for line in status.stdout.splitlines()]
    if not changed:
        return []
    more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
    return [
        f"{root}: what is in it is not committed ({', '.join(changed[:5])}{more}): "
        "commit it, or remove it"
    ]


def refusals(root: Path) -> Iterator[str]:
    """One sentence each. A tree without git is not asked for its state."""
    yield from set_version.disagreements(root)
    version, state = set_version.changelog_heading(root)
    if state == set_version.UNRELEASED:
        yield (
            f"{root / set_version.CHANGELOG}: the section of {version} is marked "
            f"({state}): put the date of the release there"
        )
    if (root / ".git").exists() and shutil.which("git"):
        yield from _uncommitted(root)
