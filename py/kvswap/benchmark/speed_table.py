"""The default: how fast blocks of each size move, by every method."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from kvswap.benchmark.cells import (
    CREATED,
    DIRECTION_TEXTS,
    LEGACY,
    Cell,
    size_text,
    usual_count,
)
from kvswap.benchmark.method_words import LIMIT, explain
from kvswap.benchmark.methods import METHODS
from kvswap.benchmark.output import percent_text, pivot, table_lines
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
# Of the best: what differs less is the same to a reader.
_NEAR = 0.99

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


def methods_for(cell: Cell, methods: Sequence[str]) -> list[str]:
    """The methods of a cell: on the legacy stream the bridge is there beside batch."""
    names = list(methods)
    if cell.stream == LEGACY and "batch" in names and "bridge" not in names:
        names.append("bridge")
    return names


def run(session: Session, places: Sequence[Cell], methods: Sequence[str]) -> None:
    """Measures; rows go to the session."""
    for cell, deadline in session.in_time(places):
        contenders, _ = prepared(
            session, cell, methods_for(cell, methods), with_limit=True
        )
        if contenders:
            session.measure(cell, contenders, deadline, keep=(LIMIT, "auto"))


def lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """GB/s by method, a table for each direction, stream and priority."""
    measured = [row for row in rows if row["method"]]
    keys = ("direction", "stream", "priority")
    places = dict.fromkeys(tuple(row[key] for key in keys) for row in measured)
    found = [
        "GB/s, by the median time to completion.  * the best, or within 1 % of it.",
        "of limit: what auto reaches of limit, in the same rounds.",
    ]
    for direction, stream, priority in places:
        found += [
            "",
            f"{DIRECTION_TEXTS[direction]}, {stream} stream, priority {priority}",
            *_place_lines(
                [
                    row
                    for row in measured
                    if tuple(row[key] for key in keys) == (direction, stream, priority)
                ]
            ),
        ]
    notes = {
        f"{row['method']}, {row['stream']}: {row['note']}"
        for row in rows
        if row.get("note")
    }
    shown = {row["method"] for row in measured if row.get("gb_per_s")}
    return [*found, *([""] if notes else []), *sorted(notes), "", *explain(shown)]


def _place_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = [key for key in ("model", "size", "count") if key in rows[0]]
    shown, names = pivot(rows, keys, "method", "gb_per_s")
    autos = {
        tuple(row[key] for key in keys): row for row in rows if row["method"] == "auto"
    }
    known = [name for name in METHODS if name in names]
    known = [name for name in known if any(row.get(name) for row in shown)]
    for row in shown:
        auto = autos.get(tuple(row[key] for key in keys), {})
        best = max((row[name] for name in known if row.get(name)), default=0.0)
        for name in known:
            row[name] = _rate_text(row.get(name), best)
        row[LIMIT] = _rate_text(row.get(LIMIT), 0.0).rstrip()
        row["of limit"] = percent_text(auto.get("share_of_limit"))
        row["auto ran"] = auto.get("engines", "")
        row["size"] = size_text(row["size"])
    columns = [*keys, *known]
    if LIMIT in names:
        columns += [LIMIT, *(["of limit"] if "auto" in known else [])]
    return table_lines(shown, [*columns, *(["auto ran"] if "auto" in known else [])])


def _rate_text(rate: float | None, best: float) -> str:
    """A rate with the sign of the best; as wide without it, so that points align."""
    if rate is None:
        return "- "
    digits = 1 if rate >= 0.095 else 3
    return f"{rate:,.{digits}f}" + ("*" if best and rate >= _NEAR * best else " ")
