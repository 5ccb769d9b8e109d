"""The library's log as records of ``logging.getLogger("kvswap")``.

The library's lines are queued, and come here when a call from Python ends
(csrc/bindings/log_queue.h), at the latest when the interpreter exits.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys

from kvswap import _core

_VARIABLE = "KVSWAP_LOG"
# By the library's numbers (kvswap_log_level in csrc/kvswap.h).
_LEVELS = {
    1: logging.ERROR,
    2: logging.WARNING,
    3: logging.INFO,
    4: logging.DEBUG,
}
_LEVELS_BY_NAME = {
    logging.getLevelName(level).lower(): level for level in _LEVELS.values()
}

_logger = logging.getLogger("kvswap")


class _Formatter(logging.Formatter):
    """The form of the lines that the library writes in programs without Python."""

    def format(self, record: logging.LogRecord) -> str:
        return f"kvswap: {record.levelname.lower()}: {record.getMessage()}"


def hand_over(level: int, message: str) -> None:
    """Logs a line of the library; its bindings call it."""
    _logger.log(_LEVELS[level], "%s", message)


def _set_up() -> None:
    """Sets the logger up as a library does: silent, unless the variable asks."""
    _logger.addHandler(logging.NullHandler())
    chosen = os.environ.get(_VARIABLE, "")
    if chosen == "off":
        _logger.setLevel(logging.CRITICAL + 1)
    elif chosen:
        _logger.setLevel(_LEVELS_BY_NAME.get(chosen, logging.WARNING))
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Formatter())
        _logger.addHandler(handler)
    atexit.register(_core._hand_over_log)
    # What waits then is the parent's, which hands it over itself.
    os.register_at_fork(after_in_child=_core._drop_log)


_set_up()
