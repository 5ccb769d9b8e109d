"""The default: how fast blocks of each size move, by every method."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from kvswap.benchmark.cells import (
    CREATED,
    LEGACY,
    Cell,
    size_text,
    usual_count,
)
from kvswap.benchmark.methods import LIMIT, METHODS
from kvswap.benchmark.output import pivot, table_lines
from kvswap.benchmark.session import Session, prepared

DEFAULT_METHODS = (
    "auto",
    "kernel",
    "batch",
    "loop",
    "one_batch_call",
    "copy_loop",
    "cuda_core",
    "torch_copy",
    "gather",
)
DEFAULT_SIZES = tuple(1024 * size for size in (2, 4, 8, 16, 32, 64, 256, 1024))


def cells(
    sizes: Sequence[int],
    counts: Sequence[int],
    directions: Sequence[str],
    streams: Sequence[str],
    priorities: Sequence[str],
) -> list[Cell]:
    """All combinations; without counts, as many blocks as is usual for the size."""
    found = [
        Cell(direction, size, count, stream, priority)
        for stream, priority, direction, size in itertools.product(
            streams or (CREATED,), priorities, directions, sizes
        )
        for count in (counts or (usual_count(size),))
    ]
    return [cell for cell in found if cell.exists]


def run(session: Session, places: Sequence[Cell], methods: Sequence[str]) -> None:
    """Measures; rows go to the session."""
    for cell, deadline in session.in_time(places):
        names = list(methods)
        if cell.stream == LEGACY and "batch" in names and "bridge" not in names:
            names.append("bridge")
        contenders, _ = prepared(session, cell, names, with_limit=True)
        if contenders:
            session.measure(cell, contenders, deadline, keep=(LIMIT, "auto"))


def lines(session: Session) -> list[str]:
    """GB/s by method, and what auto reaches."""
    keys = ["direction", "size", "count", "stream", "priority"]
    rows, names = pivot(
        [row for row in session.rows if row["method"]], keys, "method", "gb_per_s"
    )
    auto = {
        tuple(row[key] for key in keys): row
        for row in session.rows
        if row["method"] == "auto"
    }
    for row in rows:
        found = auto.get(tuple(row[key] for key in keys), {})
        row["auto/limit"] = found.get("share_of_limit")
        row["auto/best"] = found.get("ratio_to_best")
        row["auto ran"] = found.get("engines", "")
        row["size"] = size_text(row["size"])
    known = [name for name in (LIMIT, *METHODS) if name in names]
    shown = [name for name in known if any(row.get(name) for row in rows)]
    columns = [*keys, *shown, "auto/limit", "auto/best", "auto ran"]
    notes = {
        f"{row['method']}, {row['stream']}: {row['note']}"
        for row in session.rows
        if row.get("note")
    }
    return [
        "GB/s, by the median time to completion. auto/limit: share of one large copy "
        "in the same rounds; auto/best: of the best engine by name.",
        "",
        *table_lines(rows, columns),
        *([""] if notes else []),
        *sorted(notes),
    ]
