"""The operators that kvswap registers with torch, with their schemas."""

from __future__ import annotations

import re
from pathlib import Path

from tests.stability.committed_list import Entries

_FOLDER = Path("csrc/bindings/torch")
_SCHEMA = re.compile(r"constexpr char \w+Schema\[\]\s*=\s*((?:\"[^\"]*\"\s*)+);")


def collect() -> Entries:
    """As the sources say: the library need not be built, nor torch be there."""
    schemas = {}
    for header in sorted(_FOLDER.glob("*.h")):
        for literals in _SCHEMA.findall(header.read_text(encoding="utf-8")):
            schema = "".join(re.findall(r"\"([^\"]*)\"", literals))
            name, _, rest = schema.partition("(")
            schemas[f"kvswap::{name}"] = f"({rest}"
    return schemas


def rule(before: Entries, now: Entries) -> dict[str, str]:
    """Arguments may be added at the end, with a default."""
    reasons = {}
    for name in before.keys() & now.keys():
        old, old_result = _arguments(before[name])
        new, new_result = _arguments(now[name])
        added = new[len(old) :]
        if (
            added
            and new[: len(old)] == old
            and old_result == new_result
            and all("=" in argument for argument in added)
        ):
            reasons[name] = ""
    return reasons


def _arguments(schema: str) -> tuple[list[str], str]:
    arguments, _, result = schema.rpartition(" -> ")
    return arguments.removeprefix("(").removesuffix(")").split(", "), result
