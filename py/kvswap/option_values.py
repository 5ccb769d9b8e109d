"""Values of the program's options: what each can be, and what is said where it is not.

Each function returns a `type` for `argparse`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from kvswap.close_names import none_of

_Value = TypeVar("_Value")


def whole_number(least: int) -> Callable[[str], int]:
    """A whole number from `least` on."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no whole number from {least} on"
            )
        return number

    return parse


def any_whole_number(text: str) -> int:
    """A whole number, below zero too."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None


def number(*, above_zero: bool) -> Callable[[str], float]:
    """A finite number: above zero, or zero too."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (0 < value if above_zero else 0 <= value) or math.isinf(value):
            words = "above zero" if above_zero else "from zero on"
            raise argparse.ArgumentTypeError(f"{text!r} is no number {words}")
        return value

    return parse


def choice(
    names: Sequence[str], synonyms: Mapping[str, str] | None = None
) -> Callable[[str], str]:
    """One of some names, or another word for one."""
    words = dict(synonyms or {})

    def parse(text: str) -> str:
        name = words.get(text, text)
        if name not in names:
            raise argparse.ArgumentTypeError(none_of(text, names))
        return name

    return parse


def choices_text(names: Sequence[str]) -> str:
    """The names for a `metavar`: "{auto,batch}"."""
    return "{" + ",".join(names) + "}"


def list_of(parse: Callable[[str], _Value]) -> Callable[[str], list[_Value]]:
    """Values with commas between them; `parse` may raise ValueError as well."""

    def parse_list(text: str) -> list[_Value]:
        return [
            value_of(parse)(part.strip()) for part in text.split(",") if part.strip()
        ]

    return parse_list


def value_of(parse: Callable[[str], _Value]) -> Callable[[str], _Value]:
    """What `parse` makes of a text; its ValueError is told as it stands."""

    def parse_value(text: str) -> _Value:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse_value
