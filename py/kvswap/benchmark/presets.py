"""What can be measured on a GPU: how each run goes, and what it prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kvswap.benchmark.cells import KIB, MIB, Cell
from kvswap.benchmark.session import Session

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Preset:
    """One kind of run.

    Attributes:
        run: measures; rows go to the session.
        lines: rows as text.
        rounds: settings of `RoundSettings` that differ from the usual.
        with_curves: whether its rows are GB/s of sizes, which a plot shows.
    """

    run: Callable[[Session, Any], None]
    lines: Callable[[Rows], list[str]]
    rounds: Mapping[str, Any] = field(default_factory=dict)
    with_curves: bool = False


def _run_table(session: Session, options: Any) -> None:
    from kvswap.benchmark import speed_table

    places = speed_table.cells(
        options.sizes or speed_table.DEFAULT_SIZES,
        options.counts or (),
        options.directions,
        options.stream,
        options.priority,
    )
    speed_table.run(session, places, options.methods)


def _table_lines(rows: Rows) -> list[str]:
    from kvswap.benchmark import speed_table

    return speed_table.lines(rows)


def _run_grid(session: Session, options: Any) -> None:
    from kvswap.benchmark import grid

    places = grid.cells(
        options.sizes or grid.SIZES,
        options.counts or grid.COUNTS,
        options.directions,
        options.stream,
        options.priority,
        options.most_bytes,
        options.seed,
    )
    grid.run(session, places)


def _grid_lines(rows: Rows) -> list[str]:
    from kvswap.benchmark import grid

    return grid.lines(rows)


def _run_streams(session: Session, options: Any) -> None:
    from kvswap.benchmark import speed_table, stream_kinds

    places = speed_table.cells(
        options.sizes or speed_table.DEFAULT_SIZES,
        options.counts or (),
        options.directions,
        (),
        options.priority,
    )
    stream_kinds.run(session, places)


def _streams_lines(rows: Rows) -> list[str]:
    from kvswap.benchmark import stream_kinds

    return stream_kinds.lines(rows)


def _run_submission(session: Session, options: Any) -> None:
    from kvswap.benchmark import submission

    many = options.counts[0] if options.counts else submission.MANY
    submission.run(session, many, options.sizes or submission.MANY_SIZES)


def _submission_lines(rows: Rows) -> list[str]:
    from kvswap.benchmark import submission

    return submission.lines(rows)


def _run_compute(session: Session, options: Any) -> None:
    from kvswap.benchmark import compute
    from kvswap.benchmark.arguments import shapes_for

    sizes = options.sizes or [8 * KIB, 32 * KIB]
    places = [
        (
            Cell(
                direction,
                size,
                options.counts[0] if options.counts else compute.call_count(size),
                priority="compute",
            ),
            shapes_for(options, direction),
        )
        for direction in options.directions
        for size in sizes
    ]
    settings = compute.ComputeSettings(
        options.gemm,
        options.gemm_milliseconds / 1e3,
        options.gemm_priority,
        options.copy_priorities,
    )
    compute.run(session, places, settings)


def _compute_lines(rows: Rows) -> list[str]:
    from kvswap.benchmark import compute

    return compute.lines(rows)


def _run_model(session: Session, options: Any) -> None:
    from kvswap.benchmark import model_speed

    places = model_speed.cells(
        options.model_blocks,
        options.directions,
        options.stream,
        options.priority,
        # As the speed table's cells; and blocks have to be scattered.
        min(512 * MIB, options.pool_bytes // 2),
    )
    model_speed.run(session, places, options.methods)


def _model_lines(rows: Rows) -> list[str]:
    from kvswap.benchmark import model_speed

    return model_speed.lines(rows)


def _host_lines(rows: Rows) -> list[str]:
    from kvswap.benchmark import host

    return host.lines(rows)


def _run_nothing(session: Session, options: Any) -> None:
    raise AssertionError("--host needs no session")


PRESETS = {
    "table": Preset(
        _run_table,
        _table_lines,
        {"hopeless": 4.0, "trial_rounds": 5},
        with_curves=True,
    ),
    "grid": Preset(
        _run_grid, _grid_lines, {"hopeless": 2.0, "trial_rounds": 3}, with_curves=True
    ),
    "streams": Preset(_run_streams, _streams_lines, with_curves=True),
    "submission": Preset(
        _run_submission,
        _submission_lines,
        {"least_seconds": 0.3, "most_rounds": 2000},
    ),
    "compute": Preset(_run_compute, _compute_lines, {"least_seconds": 0.0}),
    "model": Preset(
        _run_model,
        _model_lines,
        {"hopeless": 4.0, "trial_rounds": 5},
        with_curves=True,
    ),
    "host": Preset(_run_nothing, _host_lines),
}
