"""``python -m kvswap bench``: what is measured, and where the results go."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from typing import Any

from kvswap.benchmark import output
from kvswap.benchmark.arguments import (
    DESCRIPTION,
    SUMMARY,
    add_arguments,
    complete,
    shapes_for,
)
from kvswap.benchmark.cells import KIB, Cell
from kvswap.benchmark.contenders import Workshop
from kvswap.benchmark.gpu import Gpu, NoGpuError
from kvswap.benchmark.pools import Pools
from kvswap.benchmark.rounds import RoundSettings, TimeBudget
from kvswap.benchmark.session import Session

__all__ = ["DESCRIPTION", "SUMMARY", "add_arguments", "run", "run_on"]


def run(options: argparse.Namespace) -> int:
    """Runs the benchmark; the exit status."""
    complete(options)
    if options.preset == "host":
        return _run_host(options)
    budget = TimeBudget(options.seconds)
    try:
        gpu = Gpu(options.device)
    except NoGpuError as error:
        print(error, file=sys.stderr)
        return 1
    return run_on(gpu, options, budget)


def _run_host(options: Any) -> int:
    from kvswap.benchmark import host

    try:
        lines, found = host.report(options.seconds)
    except ImportError as error:
        print(
            f"the benchmark needs the simulated driver ({error}). Install it: "
            f"{sys.executable} -m pip install 'kvswap[sim]'",
            file=sys.stderr,
        )
        return 1
    if options.json is None:
        print("\n".join(lines))
        return 0
    with _output_file(options.json) as file:
        json.dump(found, file, indent=2)
        file.write("\n")
    return 0


def run_on(gpu: Gpu, options: Any, budget: TimeBudget) -> int:
    """Measures on a GPU and writes the results; the exit status."""
    environment = gpu.environment(options.seed)
    output.progress(
        ", ".join(f"{name} {value}" for name, value in environment.items() if value)
    )
    session = Session(
        Workshop(
            Pools(gpu, options.pool_bytes, options.seed),
            options.limit_bytes,
            # Their recording is time too: it would count where a cell is short.
            events=options.preset == "table",
        ),
        _round_settings(options),
        budget,
    )
    try:
        lines = _PRESETS[options.preset](session, options)
    except KeyboardInterrupt:
        session.fail("interrupted")
        lines = []
    _write(options, session, environment, lines)
    return 1 if session.problems else 0


def _round_settings(options: Any) -> RoundSettings:
    presets: dict[str, dict[str, Any]] = {
        "table": {"hopeless": 4.0, "trial_rounds": 5},
        "grid": {"hopeless": 2.0, "trial_rounds": 3},
        "streams": {},
        "submission": {"least_seconds": 0.3, "most_rounds": 2000},
        "compute": {"least_seconds": 0.0},
    }
    settings = RoundSettings(
        rounds=options.rounds, seed=options.seed, **presets[options.preset]
    )
    return settings


def _run_table(session: Session, options: Any) -> list[str]:
    from kvswap.benchmark import speed_table

    places = speed_table.cells(
        options.sizes or speed_table.DEFAULT_SIZES,
        options.counts or (),
        options.directions,
        options.stream,
        options.priority,
    )
    speed_table.run(session, places, options.methods or speed_table.DEFAULT_METHODS)
    return speed_table.lines(session)


def _run_grid(session: Session, options: Any) -> list[str]:
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
    return grid.lines(session)


def _run_streams(session: Session, options: Any) -> list[str]:
    from kvswap.benchmark import speed_table, stream_kinds

    places = speed_table.cells(
        options.sizes or speed_table.DEFAULT_SIZES,
        options.counts or (),
        options.directions,
        (),
        options.priority,
    )
    stream_kinds.run(session, places)
    return stream_kinds.lines(session)


def _run_submission(session: Session, options: Any) -> list[str]:
    from kvswap.benchmark import submission

    many = options.counts[0] if options.counts else submission.MANY
    submission.run(session, many, options.sizes or submission.MANY_SIZES)
    return submission.lines(session)


def _run_compute(session: Session, options: Any) -> list[str]:
    from kvswap.benchmark import compute

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
    return compute.lines(session)


_PRESETS = {
    "table": _run_table,
    "grid": _run_grid,
    "streams": _run_streams,
    "submission": _run_submission,
    "compute": _run_compute,
}


def _write(
    options: Any, session: Session, environment: dict[str, Any], lines: Sequence[str]
) -> None:
    if options.json != "-":
        print(
            f"kvswap {environment['kvswap']} on {environment['device']}, CUDA driver "
            f"{environment['driver_cuda']} {environment['driver_build']}, seed "
            f"{environment['seed']}"
        )
        print()
        print("\n".join(lines))
        if session.skipped:
            print(f"\nNo time was left for {len(session.skipped)} cells: --seconds.")
        if session.problems:
            print("\nPROBLEMS:")
            print("\n".join(session.problems))
    if options.json is not None:
        with _output_file(options.json) as file:
            output.write_json(
                file,
                options.preset,
                session.rows,
                environment,
                [*session.problems, *(f"no time: {each}" for each in session.skipped)],
            )
    if options.csv is not None:
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            output.write_csv(file, session.rows, environment)


def _output_file(name: str) -> Any:
    if name == "-":
        return contextlib.nullcontext(sys.stdout)
    return open(name, "w", encoding="utf-8")


if __name__ == "__main__":
    from kvswap.command_line import main

    sys.exit(main(["bench", *sys.argv[1:]]))
