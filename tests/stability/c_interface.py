"""The C ABI: layout, values and signatures of csrc/kvswap.h; how they may grow."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.stability.committed_list import Entries, parse

_LAYOUT_PROGRAM = Path("tests/stability/layout_program")
_STRUCTURE = re.compile(r"struct, (\d+) bytes, (alignment \d+)")
_FIELD = re.compile(r"offset (\d+), ")


def collect() -> Entries:
    """What the compiler says."""
    run = subprocess.run(
        [_LAYOUT_PROGRAM], check=True, capture_output=True, encoding="utf-8"
    )
    return parse(run.stdout)


def rule(before: Entries, now: Entries) -> dict[str, str]:
    """Structures that begin with struct_size grow, and at their end only."""
    reasons = {}
    for name in before.keys() & now.keys():
        old = _STRUCTURE.fullmatch(before[name])
        new = _STRUCTURE.fullmatch(now[name])
        if old is None or new is None or before[name] == now[name]:
            continue
        if f"{name}.struct_size" not in before:
            reasons[name] = "it has no struct_size and can never grow"
        elif old[2] == new[2] and int(old[1]) < int(new[1]):
            reasons[name] = ""
    for name in now.keys() - before.keys():
        structure = before.get(name.partition(".")[0])
        field = _FIELD.match(now[name])
        if structure is None or field is None:
            continue
        old = _STRUCTURE.fullmatch(structure)
        if old is not None and int(field[1]) < int(old[1]):
            reasons[name] = (
                f"callers of today own the first {old[1]} bytes: add fields behind them"
            )
    return reasons
