"""auto against the best of all engines, over sizes, directions and counts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from kvswap.benchmark.cells import LEGACY, REPLAY, Cell, size_text
from kvswap.benchmark.output import table_lines
from kvswap.benchmark.session import Session, prepared

SIZES = tuple(512 << step for step in range(14))
COUNTS = (1, 2, 4, 8, 16, 64, 256, 1024, 8192, 65536)
GOAL = 0.95
_SHOWN = 20


def cells(
    sizes: Sequence[int],
    counts: Sequence[int],
    directions: Sequence[str],
    streams: Sequence[str],
    priorities: Sequence[str],
    most_bytes: int,
    seed: int,
) -> list[Cell]:
    """All combinations of at most so many bytes, in a random order.

    Random, so that a run whose time ends has looked everywhere.
    """
    found = [
        Cell(direction, size, count, stream, priority)
        for direction in directions
        for size in sizes
        for count in counts
        for stream in streams
        for priority in priorities
        if size * count <= most_bytes
    ]
    found = [cell for cell in found if cell.exists]
    random.Random(seed).shuffle(found)
    return found


def engines_for(stream: str) -> list[str]:
    """The engines that can run on a kind of stream."""
    if stream == LEGACY:
        return ["auto", "kernel", "bridge", "loop"]
    if stream == REPLAY:
        return ["auto", "kernel", "loop"]
    return ["auto", "kernel", "batch", "loop"]


def run(session: Session, places: Sequence[Cell]) -> None:
    """Measures; rows go to the session."""
    for cell, deadline in session.in_time(places):
        contenders, _ = prepared(
            session, cell, engines_for(cell.stream), with_limit=False
        )
        if contenders:
            session.measure(cell, contenders, deadline, keep=("auto",))


def lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The worst cells of auto."""
    by_cell: dict[tuple[object, ...], tuple[str, float]] = {}
    keys = ("direction", "size", "count", "stream", "priority")
    for row in rows:
        rate = row.get("gb_per_s")
        if rate is None or row["method"] == "auto":
            continue
        cell = tuple(row[key] for key in keys)
        if rate > by_cell.get(cell, ("", 0.0))[1]:
            by_cell[cell] = (row["method"], rate)
    autos = [
        {
            **row,
            "size": size_text(row["size"]),
            "best": by_cell.get(tuple(row[key] for key in keys), ("", 0.0))[0],
            "best_gb_per_s": by_cell.get(tuple(row[key] for key in keys), ("", 0.0))[1],
        }
        for row in rows
        if row["method"] == "auto" and row.get("ratio_to_best") is not None
    ]
    autos.sort(key=lambda row: row["ratio_to_best"])
    below = [row for row in autos if row["ratio_to_best"] < GOAL]
    columns = [
        *keys,
        "rounds",
        "gb_per_s",
        "engines",
        "best",
        "best_gb_per_s",
        "ratio_to_best",
    ]
    return [
        f"auto against the best engine in {len(autos)} cells: {len(below)} below {GOAL}"
        + (f", the least {autos[0]['ratio_to_best']}." if autos else "."),
        f"The {min(_SHOWN, len(autos))} worst:",
        "",
        *table_lines(autos[: max(_SHOWN, len(below))], columns),
    ]
