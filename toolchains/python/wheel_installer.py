"""Installs wheels into a folder with pip; the tool behind installed_wheels.

    wheel_installer.py FOLDER WHEEL...

Runs in the development Python, which has pip.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Installs the wheels that the arguments name; the exit status."""
    folder, *wheels = arguments
    with tempfile.TemporaryDirectory() as home:
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "--isolated",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-cache-dir",
                "--no-compile",
                "--no-deps",
                "--no-index",
                "--root-user-action=ignore",
                f"--target={folder}",
                *wheels,
            ],
            env={**os.environ, "HOME": home},
            check=False,
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
