"""What copies that are under way need, kept until they are done.

A caller who lets go of a ticket and of the tensors must not hand the memory back to an
allocator (torch's caching one reuses it at once) while copies still run.
"""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any

from kvswap.errors import SwapError

if TYPE_CHECKING:
    from kvswap import _core

# Events of a call, and its pools. What is left when the process ends is left to it.
_calls: deque[tuple[_core._Ticket, tuple[Any, ...]]] = deque()

# Keeps (events, objects) until the events have happened. No function of ours: one in
# Python could be left at its start, by Ctrl-C, with copies under way and nothing kept.
keep = _calls.append

_ALL_LAYERS = -1

# CUresults after which nothing runs in the context any more: the driver is shutting down;
# the context or the event is gone; a kernel or the GPU failed.
_NOTHING_RUNS = frozenset({4, 201, 214, 400, 700, 702, 709, *range(714, 720)})

# Entries looked at in one call: more than are added, so that their number stays that of
# the calls whose copies are not done.
_LOOKED_AT = 4


def release_done() -> None:
    """Lets go of what some calls needed whose copies are done."""
    for _ in range(min(_LOOKED_AT, len(_calls))):
        # It stays in until it is over: a signal's handler can raise anywhere.
        try:
            entry = _calls[0]
        except IndexError:  # another thread took the last one
            return
        if not _is_over(entry[0]):
            _calls.rotate(-1)
            continue
        with contextlib.suppress(ValueError):  # another thread took it
            _calls.remove(entry)


def _is_over(events: _core._Ticket) -> bool:
    try:
        return events.done(_ALL_LAYERS)
    except SwapError as error:
        # Of other errors the copies know nothing: they may still be under way.
        return error.cuda_error in _NOTHING_RUNS


def wait_for(pool: object) -> None:
    """Waits for all copies of a pool."""
    for events, kept in list(_calls):
        if any(item is pool for item in kept):
            events.wait(_ALL_LAYERS)
    release_done()


def count() -> int:
    """Calls that something is kept for."""
    return len(_calls)
