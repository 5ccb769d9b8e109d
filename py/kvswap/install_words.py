"""How to install what is missing: the words for messages."""

from __future__ import annotations

import shlex
import sys


def pip_command(requirement: str) -> str:
    """ "/usr/bin/python3 -m pip install torch": with the Python that runs."""
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(requirement)}"


def simulated_driver() -> str:
    """How the simulated driver is installed, from an index or from a folder of wheels."""
    command = pip_command("kvswap[sim]")
    return (
        f"{command} (with wheels of your own, name their folder: --find-links FOLDER)"
    )
