"""Run as a program: a child that answers, and then does what its argument says."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from kvswap.doctor import stages


def hang() -> None:
    """Does not come back."""
    time.sleep(600)


def crash() -> None:
    """Dies as in a driver."""
    print("wild address 0x40", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def leave() -> None:
    """Ends the process, as a library may."""
    os._exit(7)


def refuse() -> None:
    """Raises."""
    raise ValueError("no such thing")


def fine() -> dict[str, Any]:
    """Answers."""
    print("a library's line", flush=True)
    return {"answer": 42}


if __name__ == "__main__":
    acts = {"hang": hang, "crash": crash, "leave": leave, "refuse": refuse}
    stages.answer({"first": fine, "second": acts[sys.argv[1]], "third": fine})
