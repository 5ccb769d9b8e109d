"""The command line of the benchmark."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kvswap.benchmark.cells import (
    D2H,
    DIRECTIONS,
    GIB,
    H2D,
    MIB,
    PRIORITIES,
    STREAMS,
    parse_size,
)
from kvswap.benchmark.methods import METHODS
from kvswap.benchmark.shapes import Shape, parse_shape

SUMMARY = "how fast blocks move, beside the alternatives; what calls cost"

DESCRIPTION = """\
How fast blocks move between GPU and host memory, by kvswap and by the alternatives.

What to measure (one of them; none is the speed table):
  --grid        "auto" against the best engine, over sizes, directions and counts
  --streams     other streams, graphs, a driver without the batch call
  --submission  CPU time of the calls; one block against a bare cuMemcpyAsync
  --compute     beside a matrix multiplication; with --tune over many launch shapes
  --host        what calls cost on the host; on the simulated driver, without a GPU

Rounds are interleaved: each measures every method once, in a shuffled order. Times are
from before the call until the stream has passed the copies. Every method's bytes are
compared once in each cell; a wrong one is a PROBLEM and exit status 1.
docs/benchmarking.md tells what the columns mean.
"""

_EXAMPLES = """\
examples:
  python -m kvswap bench --seconds 120 --json table.json
  python -m kvswap bench --sizes 8K,64K --directions both,d2d --methods auto,batch
  python -m kvswap bench --grid --seconds 400 --csv grid.csv
  python -m kvswap bench --compute --tune --sizes 8K --directions d2h --seconds 200
  python -m kvswap bench --compute --shapes plain:4x1024,bulk:2x8x8192,batch:64
"""

_Value = TypeVar("_Value")


def _list_of(parse: Callable[[str], _Value]) -> Callable[[str], list[_Value]]:
    def parse_list(text: str) -> list[_Value]:
        try:
            return [parse(part.strip()) for part in text.split(",") if part.strip()]
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse_list


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _choice(names: Sequence[str]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"{text!r} is none of {', '.join(names)}")
        return text

    return parse


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError(f"{text!r} is not above zero")
    return count


def _positive(text: str) -> int:
    try:
        return _count(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _gemm(text: str) -> tuple[int, int, int]:
    try:
        rows, columns, depth = (_count(part) for part in text.split("x"))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not ROWSxCOLUMNSxDEPTH, as 64x8192x8192"
        ) from error
    return rows, columns, depth


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds all options."""
    parser.epilog = _EXAMPLES
    _add_presets(parser)
    _add_cells(parser)
    _add_run(parser)
    _add_compute(parser)
    _add_output(parser)


def _add_presets(parser: argparse.ArgumentParser) -> None:
    presets = parser.add_mutually_exclusive_group()
    for name, text in (
        ("grid", '"auto" against the best engine'),
        ("streams", "other streams, graphs, old drivers"),
        ("submission", "CPU time of the calls"),
        ("compute", "beside a matrix multiplication"),
        ("host", "host cost of calls, without a GPU"),
    ):
        presets.add_argument(
            f"--{name}", action="store_const", const=name, dest="preset", help=text
        )
    parser.set_defaults(preset="table")


def _add_cells(parser: argparse.ArgumentParser) -> None:
    cells = parser.add_argument_group("cells")
    cells.add_argument(
        "--sizes", type=_list_of(parse_size), help="of blocks: 2K,64K,1M"
    )
    cells.add_argument(
        "--counts",
        type=_list_of(_count),
        help="of blocks (8,192 up to 32 KiB, then 4,096, 1,024, 512; the grid: many; "
        "--submission: 8,192)",
    )
    cells.add_argument(
        "--directions",
        type=_list_of(_choice(DIRECTIONS)),
        help=f"of {', '.join(DIRECTIONS)} (h2d,d2h; the grid: h2d,d2h,d2d)",
    )
    cells.add_argument(
        "--stream",
        type=_list_of(_choice(STREAMS)),
        default=["created"],
        help=f"kinds, of {', '.join(STREAMS)} (created)",
    )
    cells.add_argument(
        "--priority",
        type=_list_of(_choice(PRIORITIES)),
        default=["throughput"],
        help=f"of {', '.join(PRIORITIES)} (throughput)",
    )
    cells.add_argument(
        "--methods",
        type=_list_of(_choice(list(METHODS))),
        help=f"of the speed table, of {', '.join(METHODS)} (most of them)",
    )
    cells.add_argument(
        "--most-bytes",
        type=_size,
        default=256 * MIB,
        help="of a cell of the grid, in one direction (256M)",
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    run = parser.add_argument_group("run")
    run.add_argument("--device", type=int, default=0, help="ordinal of the GPU (0)")
    run.add_argument(
        "--seconds",
        type=float,
        help="the run ends after about so many (300); --host: seconds for each call (1)",
    )
    run.add_argument(
        "--rounds", type=_positive, help="in each cell, at least (30; --compute: 10)"
    )
    run.add_argument("--seed", type=int, default=1, help="of blocks and orders (1)")
    run.add_argument(
        "--pool-bytes",
        type=_size,
        default=2 * GIB,
        help="of memory that blocks are scattered over, on each side (2G)",
    )
    run.add_argument(
        "--limit-bytes",
        type=_size,
        default=512 * MIB,
        help="of the one copy that is the limit (512M)",
    )


def _add_compute(parser: argparse.ArgumentParser) -> None:
    compute = parser.add_argument_group("--compute")
    compute.add_argument(
        "--tune", action="store_true", help="try many launch shapes, not a few"
    )
    compute.add_argument(
        "--shapes",
        type=_list_of(parse_shape),
        help="to try: plain:CTASxTHREADS, bulk:CTASxSTAGESxBYTES, batch:CHUNK, "
        "overlap, auto, auto:throughput, kernel, batch, loop",
    )
    compute.add_argument(
        "--gemm",
        type=_gemm,
        default=(64, 8192, 8192),
        help="rows, columns, depth (64x8192x8192)",
    )
    compute.add_argument(
        "--gemm-milliseconds", type=float, default=20.0, help="of a round (20)"
    )
    for name, many in (("gemm-priority", False), ("copy-priorities", True)):
        parse = _choice(("least", "greatest"))
        compute.add_argument(
            f"--{name}",
            type=_list_of(parse) if many else parse,
            default=["least"] if many else "least",
            help='of the stream: "least" or "greatest" (least)',
        )


def _add_output(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    output.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="results as JSON; without a file on the standard output, for the table",
    )
    output.add_argument("--csv", metavar="FILE", help="results as CSV")


def complete(options: Any) -> None:
    """Fills in defaults that depend on one another.

    Raises:
        argparse.ArgumentError: options that do not go together.
    """
    if (options.tune or options.shapes) and options.preset != "compute":
        raise argparse.ArgumentError(None, "--tune and --shapes belong to --compute")
    if options.csv and options.preset == "host":
        raise argparse.ArgumentError(None, "--host has no --csv: take --json")
    if options.preset == "grid" and options.directions is None:
        options.directions = [H2D, D2H, "d2d"]
    if options.directions is None:
        options.directions = [H2D, D2H]
    if options.preset == "compute" and "both" in options.directions:
        raise argparse.ArgumentError(None, "--compute measures one direction at a time")
    if options.rounds is None:
        options.rounds = 10 if options.preset == "compute" else 30
    if options.seconds is None:
        options.seconds = 1.0 if options.preset == "host" else 300.0


def parse_arguments(arguments: Sequence[str]) -> Any:
    """The options; ends the process with a message where one is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m kvswap bench",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    options = parser.parse_args(list(arguments))
    try:
        complete(options)
    except argparse.ArgumentError as error:
        parser.error(str(error))
    return options


def shapes_for(options: Any, direction: str) -> list[Shape]:
    """The shapes that --compute measures for a direction."""
    from kvswap.benchmark.shapes import COMPARED, to_sweep

    if options.shapes:
        found: list[Shape] = options.shapes
        return found
    texts = to_sweep(direction) if options.tune else COMPARED
    return [parse_shape(text) for text in texts]
