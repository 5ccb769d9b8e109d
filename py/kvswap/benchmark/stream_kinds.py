"""The same blocks on other streams, in graphs, and on a driver without the batch call."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kvswap.benchmark.c_abi import CAbi, library_without_batch_driver
from kvswap.benchmark.cells import CREATED, LEGACY, PER_THREAD, REPLAY, Cell, size_text
from kvswap.benchmark.contenders import TimedMethod
from kvswap.benchmark.methods import METHODS, CAbiCall, Method
from kvswap.benchmark.output import Row, pivot, table_lines
from kvswap.benchmark.pools import Blocks
from kvswap.benchmark.session import Session

BASE = "auto, created"
NO_BATCH = "auto, no batch call"
_PLACES = (
    (BASE, "auto", CREATED),
    ("auto, legacy", "auto", LEGACY),
    ("auto, per_thread", "auto", PER_THREAD),
    ("auto, replay", "auto", REPLAY),
    ("kernel, created", "kernel", CREATED),
    ("batch, created", "batch", CREATED),
    ("bridge, legacy", "bridge", LEGACY),
    ("loop, replay", "loop", REPLAY),
)


def run(session: Session, places: Sequence[Cell]) -> None:
    """Measures; rows go to the session, those of a cell with the ratio to `BASE`."""
    with tempfile.TemporaryDirectory(prefix="kvswap_bench_") as folder:
        old_driver: CAbi | None = None
        try:
            old_driver = library_without_batch_driver(pathlib.Path(folder))
        except Exception as error:  # the other streams are measured all the same
            session.fail(f"{NO_BATCH}: {error}")
        for cell, deadline in session.in_time(places):
            contenders = _contenders(session, cell, old_driver)
            rows = session.measure(cell, contenders, deadline, keep=(BASE,))
            _add_ratios(rows)


def _contenders(
    session: Session, cell: Cell, old_driver: CAbi | None
) -> list[TimedMethod]:
    workshop = session.workshop
    blocks = workshop.pools.blocks(cell)
    contenders = []
    for label, method, stream in _PLACES:
        place = replace(cell, stream=stream)

        def make(
            label: str = label, method: str = method, at: Cell = place
        ) -> TimedMethod:
            return workshop.contender(label, METHODS[method], at, blocks)

        contenders.append(session.attempt(label, place, make))
    if old_driver is not None:
        library = old_driver

        def maker(part: Blocks, stream: int, priority: str) -> Method:
            return CAbiCall(library, part, stream, priority=priority)

        contenders.append(
            session.attempt(
                NO_BATCH,
                cell,
                lambda: workshop.contender(NO_BATCH, maker, cell, blocks),
            )
        )
    return [each for each in contenders if each is not None]


def _add_ratios(rows: list[Row]) -> None:
    rates = {row["method"]: row["gb_per_s"] for row in rows}
    for row in rows:
        row["ratio_to_created"] = (
            round(row["gb_per_s"] / rates[BASE], 4) if rates.get(BASE) else None
        )


def lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Ratios to the same blocks on a created stream."""
    keys = ["direction", "size", "count", "priority"]
    measured = [row for row in rows if row.get("gb_per_s") is not None]
    ratios, names = pivot(measured, keys, "method", "ratio_to_created")
    rates, _ = pivot(measured, keys, "method", "gb_per_s")
    for row, rate in zip(ratios, rates, strict=True):
        row["size"] = size_text(row["size"])
        row["GB/s"] = rate.get(BASE)
        bridge, batch = rate.get("bridge, legacy"), rate.get("batch, created")
        row["bridge/batch"] = bridge / batch if bridge and batch else None
        replay = rate.get("auto, replay")
        best = max(
            (value for key, value in rate.items() if key in names and value), default=0
        )
        row["replay/best"] = replay / best if replay and best else None
    notes = {f"{row['method']}: {row['note']}" for row in rows if row.get("note")}
    return [
        f"Speed relative to {BASE!r} (GB/s) in the same rounds.",
        "",
        *table_lines(ratios, [*keys, "GB/s", *names, "bridge/batch", "replay/best"]),
        *([""] if notes else []),
        *sorted(notes),
    ]
