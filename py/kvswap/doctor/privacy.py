"""Takes what is private out of a report: home folder, user, host, numbers of hardware."""

from __future__ import annotations

import getpass
import re
import socket
from collections.abc import Callable
from typing import Any, TypeVar, cast

from kvswap.doctor.system import System

_Value = TypeVar("_Value")

_UUID = re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.I)

# Short names, and these, are words that stand for other things too.
_COMMON_NAMES = set(
    "root user users localhost ubuntu admin nvidia cuda driver kernel batch loop bridge "
    "torch linux python test kvswap legacy pinned device none home local".split()
)
_SHORTEST_NAME = 4


def _names(system: System) -> list[tuple[str, str]]:
    """Words to replace, and by what."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = ""
    host = socket.gethostname()
    words = [
        (system.environment.get("USER", ""), "<user>"),
        (user, "<user>"),
        (host, "<host>"),
        (host.partition(".")[0], "<host>"),
    ]
    return [
        (word, sign)
        for word, sign in words
        if len(word) >= _SHORTEST_NAME and word.lower() not in _COMMON_NAMES
    ]


def cleaner(system: System) -> Callable[[_Value], _Value]:
    """What cleans a value: all texts in it, keys aside."""
    home = system.environment.get("HOME", "").rstrip("/")
    names = [
        (re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w-])"), sign)
        for word, sign in _names(system)
    ]

    def clean_text(text: str) -> str:
        if home:
            text = re.sub(rf"{re.escape(home)}(?=/|$|[\s:;,'\"])", "~", text)
        for pattern, sign in names:
            text = pattern.sub(sign, text)
        return _UUID.sub(r"\1-...", text)

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return clean_text(value)
        if isinstance(value, dict):
            return {key: clean(each) for key, each in value.items()}
        if isinstance(value, list):
            return [clean(each) for each in value]
        return value

    return cast("Callable[[_Value], _Value]", clean)
