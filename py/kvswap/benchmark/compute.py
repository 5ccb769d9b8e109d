"""Copies beside computation, and launch shapes that were tried."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kvswap.benchmark.beside_gemm import Alone, Beside, BesideSample, CopyFlow, Gemm
from kvswap.benchmark.cells import MIB, Cell, size_text
from kvswap.benchmark.contenders import TimedMethod
from kvswap.benchmark.output import Row, table_lines
from kvswap.benchmark.rounds import Contender, interleave
from kvswap.benchmark.samples import Sample, Summary
from kvswap.benchmark.session import Session, cell_columns
from kvswap.benchmark.shapes import Shape

_CALL_BYTES = 64 * MIB
_AHEAD = 4


@dataclass(frozen=True)
class ComputeSettings:
    """What runs beside the copies, and on which streams.

    Attributes:
        gemm: rows, columns and depth of the multiplication.
        gemm_seconds: how long a round is.
        gemm_priority: of its stream: "least" or "greatest".
        copy_priorities: of the copies' streams: each of them.
        alone_rounds: of the copies without the multiplication; 0: none.
    """

    gemm: tuple[int, int, int] = (64, 8192, 8192)
    gemm_seconds: float = 0.02
    gemm_priority: str = "least"
    copy_priorities: Sequence[str] = ("least",)
    alone_rounds: int = 10


def call_count(size: int) -> int:
    """Blocks of one call: many calls fit into a round, and each is a long one."""
    return max(16, min(8192, _CALL_BYTES // size))


def run(
    session: Session,
    places: Sequence[tuple[Cell, Sequence[Shape]]],
    settings: ComputeSettings,
    make_gemm: Callable[..., Gemm] = Gemm,
) -> None:
    """Measures; rows go to the session."""
    gpu = session.workshop.gpu
    least, greatest = gpu.stream_priorities()
    priorities = {"least": least, "greatest": greatest}
    gemm = make_gemm(
        gpu, settings.gemm, settings.gemm_seconds, priorities[settings.gemm_priority]
    )
    session.progress.tell(f"a round is {gemm.count} multiplications of {settings.gemm}")
    shapes_of = dict(places)
    streams = {
        name: gpu.stream(priorities[name]).handle for name in settings.copy_priorities
    }
    for cell, deadline in session.in_time([cell for cell, _ in places]):
        _measure(session, cell, shapes_of[cell], settings, gemm, streams, deadline)


def _measure(
    session: Session,
    cell: Cell,
    shapes: Sequence[Shape],
    settings: ComputeSettings,
    gemm: Gemm,
    streams: dict[str, int],
    deadline: float,
) -> None:
    workshop = session.workshop
    blocks = workshop.pools.blocks(cell)
    labels: dict[str, tuple[Shape, str]] = {}
    ready: list[TimedMethod] = []
    beside: list[Contender] = [Alone(workshop.gpu, gemm)]
    for shape in shapes:
        for priority, stream in streams.items():
            label = shape.text if len(streams) == 1 else f"{shape.text} {priority}"
            contender = session.attempt(
                label,
                cell,
                functools.partial(
                    workshop.contender, label, shape.method, cell, blocks, stream
                ),
            )
            if contender is None:
                continue
            labels[label] = (shape, priority)
            ready.append(contender)
            flow = CopyFlow(workshop.gpu, contender.submit, stream, cell.total_bytes)
            beside.append(Beside(label, workshop.gpu, gemm, flow, _AHEAD))
    # A fixed number of rounds is for the copies alone; the rest of the time is for both.
    alone: dict[str, list[Sample]] = {}
    try:
        if settings.alone_rounds:
            short = replace(
                session.settings,
                rounds=settings.alone_rounds,
                most_rounds=settings.alone_rounds,
            )
            alone = interleave(ready, short, deadline)
        samples = interleave(beside, session.settings, deadline)
    except Exception as error:  # other cells may still run
        session.fail(f"{cell.describe()}: {type(error).__name__}: {error}")
        return
    engines = {each.name: each.engines_text for each in ready}
    for row in rows_of(cell, samples, alone, engines):
        if row["method"] in labels:
            shape, priority = labels[row["method"]]
            row.update(shape.columns(), copy_stream=priority)
        row.update(
            gemm="x".join(map(str, settings.gemm)), gemm_stream=settings.gemm_priority
        )
        session.rows.append(row)


def rows_of(
    cell: Cell,
    samples: dict[str, list[Sample]],
    alone: dict[str, list[Sample]],
    engines: dict[str, str],
) -> list[Row]:
    """A row for each contender: the multiplication's time relative to alone."""
    base = [sample.seconds for sample in samples[Alone.name]]
    rows: list[Row] = []
    for name, found in samples.items():
        # Of one round each, so that what changes with time falls out.
        ratios = [
            sample.seconds / alone_seconds
            for sample, alone_seconds in zip(found, base, strict=False)
        ]
        rates = [
            sample.gb_per_s
            for sample in found
            if isinstance(sample, BesideSample) and sample.gb_per_s is not None
        ]
        ratio = Summary.of(ratios)
        copies = alone.get(name)
        rows.append(
            {
                **cell_columns(cell),
                "method": name,
                "rounds": ratio.rounds,
                "gemm_us": round(
                    Summary.of([s.seconds for s in found]).median * 1e6, 3
                ),
                "gemm_ratio": round(ratio.median, 4),
                "gemm_ratio_p10": round(ratio.low, 4),
                "gemm_ratio_p90": round(ratio.high, 4),
                "beside_gb_per_s": round(statistics.median(rates), 3)
                if rates
                else None,
                "alone_gb_per_s": (
                    round(
                        cell.total_bytes
                        / Summary.of([s.seconds for s in copies]).median
                        / 1e9,
                        3,
                    )
                    if copies
                    else None
                ),
                "engines": engines.get(name, ""),
                "note": "",
            }
        )
    return rows


def lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table for each cell, the least harm first."""
    columns = [
        "direction",
        "size",
        "method",
        "copy_stream",
        "gemm_ratio",
        "gemm_ratio_p90",
        "beside_gb_per_s",
        "alone_gb_per_s",
        "rounds",
        "engines",
    ]
    measured = [row for row in rows if row.get("gemm_ratio") is not None]
    keys = list(dict.fromkeys((row["direction"], row["size"]) for row in measured))
    found = [
        "gemm_ratio: time of the multiplication beside the copies, relative to alone in "
        "the same round.",
        "beside_gb_per_s: of the copies meanwhile; alone_gb_per_s: of one call, to its "
        "completion, without it.",
    ]
    for key in keys:
        of_key = [row for row in measured if (row["direction"], row["size"]) == key]
        of_key.sort(key=lambda row: float(row["gemm_ratio"]))
        shown = [{**row, "size": size_text(row["size"])} for row in of_key]
        found += ["", *table_lines(shown, columns)]
    notes = sorted(
        {f"{row['method']}: {row['note']}" for row in rows if row.get("note")}
    )
    return found + ([""] if notes else []) + notes
