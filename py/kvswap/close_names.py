"""What was meant by a name that is none of a closed list: for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(word: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """The name of the list that is most like a word; "" where none is like it.

    Args:
        word: as it was written.
        names: that it could have been.
        cutoff: how alike it has to be, from 0 to 1 (`difflib.get_close_matches`).
    """
    by_folded = {name.lower(): name for name in names}
    found = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=cutoff)
    return by_folded[found[0]] if found else ""


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """ "; did you mean ...?" for the end of a message, or ""."""
    found = closest(word, names)
    return f"; did you mean {found}?" if found else ""


def none_of(word: str, names: Iterable[str]) -> str:
    """ "'kernal' is none of auto, kernel; did you mean kernel?"."""
    known = list(names)
    return f"{word!r} is none of {', '.join(known)}{did_you_mean(word, known)}"
