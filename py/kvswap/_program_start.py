"""Ctrl-C while the program kvswap starts shows no traceback.

Python imports this package before any line of the program runs: there is nobody yet who
could catch the interruption. So the package, imported first thing by the program and by
nothing else, says what is shown then. Programs that import the package are left alone.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType


def _is_program() -> bool:
    """Whether this process runs `python -m kvswap`, or a script kvswap."""
    words: list[str] = list(getattr(sys, "argv", ()))
    if not words:
        return False
    if words[0] != "-m":
        return os.path.basename(words[0]) == "kvswap"
    # While Python looks for the module of -m, that is all that sys.argv says of it.
    before = sys.orig_argv[: len(sys.orig_argv) - len(words) + 1]
    return before[-1:] in (["kvswap"], ["-mkvswap"])


def _show(
    kind: type[BaseException],
    error: BaseException,
    traceback: TracebackType | None,
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        # Python then ends as by the signal, which shells report as status 130.
        print("\ninterrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, traceback)


if _is_program() and sys.excepthook is sys.__excepthook__:
    sys.excepthook = _show
