"""The command line of the benchmark."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from kvswap.benchmark import host, model_speed, models, speed_table
from kvswap.benchmark.cells import (
    D2H,
    DIRECTIONS,
    GIB,
    H2D,
    MIB,
    PRIORITIES,
    STREAMS,
    parse_size,
    parse_stream,
)
from kvswap.benchmark.method_words import METHOD_WORDS, explain
from kvswap.benchmark.methods import ENGINES, METHODS, OTHERS
from kvswap.benchmark.model_blocks import ModelBlocks
from kvswap.benchmark.shapes import Shape, parse_shape
from kvswap.option_values import (
    any_whole_number,
    choice,
    choices_text,
    list_of,
    number,
    value_of,
    whole_number,
)

SUMMARY = "how fast blocks move, beside the alternatives; what calls cost"

DESCRIPTION = """\
How fast blocks move between GPU and host memory, by kvswap and by the alternatives.

Without further words: GB/s of blocks of 2 KiB to 1 MiB in both directions, about a
minute. Other questions have a flag of their own, --model first of all: how long a request
of your model takes out of the GPU and in again. All but --host, --from, --compare and
--list-models need a GPU and torch with CUDA; without, --model still says what blocks a
model has.

Methods, kvswap's engines and what they stand beside:
{methods}

Rounds are interleaved: each measures every method once, in a shuffled order. Times are
from before the call until the stream has passed the copies. Every method's bytes are
compared once in each cell; a wrong one is a PROBLEM and exit status 1.
docs/benchmarking.md tells what the columns mean, and how to read them.

examples:
  kvswap bench                                     the speed table
  kvswap bench --json run.json --plot run.png      kept, and as a picture
  kvswap bench --sizes 8KiB,64KiB --directions h2d,both --engines auto,batch
  kvswap bench --stream legacy,captured --priority throughput,compute
  kvswap bench --model llama-3-70b --tensor-parallel 4 --tokens 8192
  kvswap bench --from run.json --plot run.svg      drawn again, nothing measured
  kvswap bench --compare before.json after.json --fail-below 0.95
  kvswap bench --grid --seconds 400 --csv grid.csv
  kvswap bench --compute --tune --sizes 8KiB --directions d2h --seconds 200
  kvswap bench --compute --shapes plain:4x1024,bulk:2x8x8192,batch:64
  kvswap bench --host                              no GPU: what calls cost the CPU

exit status: 0 measured; 1 a wrong byte, an error of kvswap, or nothing to measure on;
2 arguments that make no sense; 4 a cell under --fail-below.
""".format(methods="\n".join(f"  {line}" for line in explain(METHOD_WORDS)))

_TABLE_ENGINES = tuple(name for name in speed_table.DEFAULT_METHODS if name in ENGINES)
_PRESETS_WITH_METHODS = ("table", "model")
_SECONDS = 300.0
_HOST_SECONDS = 6.0


class UsageError(argparse.ArgumentError):
    """Arguments that do not go together; the message says which."""

    def __init__(self, message: str) -> None:
        super().__init__(None, message)


_size = value_of(parse_size)
_count = whole_number(1)
_ALTERNATIVES = list_of(choice(OTHERS))


def _alternatives(text: str) -> list[str]:
    return [] if text.strip() == "none" else _ALTERNATIVES(text)


def _gemm(text: str) -> tuple[int, int, int]:
    try:
        rows, columns, depth = (_count(part) for part in text.split("x"))
    except (ValueError, argparse.ArgumentTypeError) as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not ROWSxCOLUMNSxDEPTH, as 64x8192x8192"
        ) from error
    return rows, columns, depth


def make_parser() -> argparse.ArgumentParser:
    """The parser of all options, for a program of its own."""
    parser = argparse.ArgumentParser(
        prog="kvswap bench",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    return parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options; `complete` has to see what comes of them."""
    # All of them in a line of usage would teach nobody.
    parser.usage = "%(prog)s [what to do] [options]"
    _add_presets(parser)
    _add_cells(parser)
    _add_model(parser)
    _add_run(parser)
    _add_compute(parser)
    _add_output(parser)


def _add_presets(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "what to do", "One of them; none of them is the speed table."
    )
    presets = group.add_mutually_exclusive_group()
    presets.add_argument(
        "--model",
        type=list_of(models.find),
        metavar="NAMES",
        help="a request's KV cache out of the GPU and in again, for models as llama-3-8b "
        "(--list-models)",
    )
    for name, text in (
        ("grid", '"auto" against the best engine, over sizes, directions and counts'),
        ("streams", "other streams, graphs, a driver without the batch call"),
        ("submission", "CPU time of the calls; one block against a bare cuMemcpyAsync"),
        ("compute", "beside a matrix multiplication; with --tune many launch shapes"),
        ("host", "what calls cost on the host; on the simulated driver, without a GPU"),
    ):
        presets.add_argument(
            f"--{name}", action="store_const", const=name, dest="preset", help=text
        )
    presets.add_argument(
        "--from",
        dest="from_file",
        metavar="FILE",
        help="measure nothing: show what --json FILE kept, as a table, --plot, --csv",
    )
    presets.add_argument(
        "--compare",
        nargs=2,
        metavar=("A", "B"),
        help="measure nothing: how fast B is relative to A, both files of --json",
    )
    presets.add_argument(
        "--list-models", action="store_true", help="the models that --model knows"
    )
    group.add_argument(
        "--fail-below",
        type=number(above_zero=True),
        metavar="RATIO",
        help="with --compare: exit status 4 if a cell of kvswap is under it, as 0.95",
    )
    parser.set_defaults(preset="table")


def _add_cells(parser: argparse.ArgumentParser) -> None:
    cells = parser.add_argument_group(
        "cells", "Every combination is measured. Lists are written with commas."
    )
    cells.add_argument(
        "--sizes",
        type=list_of(parse_size),
        help="of blocks: 2KiB,64KiB,1MiB, or 2K,64K,1M, or bytes (2K to 1M)",
    )
    cells.add_argument(
        "--counts",
        type=list_of(_count),
        help="of blocks (8,192 up to 32 KiB, then 4,096, 1,024, 512; --grid: many; "
        "--submission: 8,192; --host: 1,8192)",
    )
    cells.add_argument(
        "--directions",
        type=list_of(choice(DIRECTIONS)),
        help="of h2d (host to device), d2h, d2d, and both at once (h2d,d2h; --grid: "
        "h2d,d2h,d2d)",
    )
    cells.add_argument(
        "--stream",
        "--stream-kinds",
        type=list_of(parse_stream),
        metavar="KINDS",
        default=["created"],
        help=f"of {', '.join(STREAMS)} (created); captured is another word for replay",
    )
    cells.add_argument(
        "--priority",
        "--priorities",
        type=list_of(choice(PRIORITIES)),
        default=["throughput"],
        help=f"of {', '.join(PRIORITIES)} (throughput)",
    )
    cells.add_argument(
        "--engines",
        type=list_of(choice(ENGINES)),
        help=f"of kvswap, for the speed table, --model and --host, of "
        f"{', '.join(ENGINES)} ({','.join(_TABLE_ENGINES)}; --host: auto)",
    )
    cells.add_argument(
        "--alternatives",
        type=_alternatives,
        help=f'beside them, of {", ".join(OTHERS)}, or "none" (all; --model: '
        "one_batch_call,copy_loop)",
    )
    cells.add_argument(
        "--methods",
        type=list_of(choice(list(METHODS))),
        help="engines and alternatives in one list",
    )
    cells.add_argument(
        "--most-bytes",
        type=_size,
        default=256 * MIB,
        help="of a cell of the grid, in one direction (256M)",
    )


def _add_model(parser: argparse.ArgumentParser) -> None:
    model = parser.add_argument_group(
        "--model", "What of a model's cache is on this GPU, and how its blocks lie."
    )
    model.add_argument(
        "--tensor-parallel",
        type=_count,
        default=1,
        metavar="GPUS",
        help="that share the KV heads (1); more GPUs than heads replicate them",
    )
    model.add_argument(
        "--block-tokens",
        type=list_of(_count),
        default=[16],
        help="tokens of a block (16); several, as 16,32,64, make a curve",
    )
    model.add_argument(
        "--dtype",
        type=choice(list(models.DTYPE_BYTES)),
        metavar=choices_text(list(models.DTYPE_BYTES)),
        default="bf16",
        help="of the cache (bf16)",
    )
    model.add_argument(
        "--layout",
        type=choice(list(models.LAYOUTS)),
        metavar=choices_text(list(models.LAYOUTS)),
        default=models.LAYERS,
        help="; ".join(f"{name}: {text}" for name, text in models.LAYOUTS.items())
        + " (layers)",
    )
    model.add_argument(
        "--tokens",
        type=_count,
        default=4096,
        help="of the request whose cache moves (4096)",
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    run = parser.add_argument_group("run")
    run.add_argument(
        "--device",
        type=whole_number(0),
        default=0,
        metavar="N",
        help="ordinal of the GPU (0)",
    )
    run.add_argument(
        "--seconds",
        type=number(above_zero=False),
        help=f"the run ends after about so many ({_SECONDS:g}; --host: {_HOST_SECONDS:g})",
    )
    run.add_argument(
        "--rounds", type=_count, help="in each cell, at least (30; --compute: 10)"
    )
    run.add_argument(
        "--seed",
        type=any_whole_number,
        default=1,
        help="of blocks and orders (1)",
    )
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
        type=list_of(parse_shape),
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
        "--gemm-milliseconds",
        type=number(above_zero=True),
        default=20.0,
        help="of a round (20)",
    )
    for name, many in (("gemm-priority", False), ("copy-priorities", True)):
        parse = choice(("least", "greatest"))
        compute.add_argument(
            f"--{name}",
            type=list_of(parse) if many else parse,
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
    output.add_argument(
        "--plot",
        metavar="FILE",
        help="GB/s against the size of blocks, as .png, .svg or .pdf; needs matplotlib",
    )
    output.add_argument(
        "--quiet", action="store_true", help="no progress on the standard error"
    )


def parse_arguments(arguments: Sequence[str]) -> Any:
    """The options; ends the process with a message where one is wrong."""
    parser = make_parser()
    options = parser.parse_args(list(arguments))
    try:
        complete(options)
    except UsageError as error:
        parser.error(error.message)
    return options


def complete(options: Any) -> None:
    """Checks how options go together, and fills in what was not said.

    Raises:
        UsageError: they do not.
    """
    if options.model:
        options.preset = "model"
    _check(options)
    if options.preset == "grid" and options.directions is None:
        options.directions = [H2D, D2H, "d2d"]
    if options.directions is None:
        # A request goes out before it comes in.
        options.directions = [D2H, H2D] if options.preset == "model" else [H2D, D2H]
    if options.preset == "compute" and "both" in options.directions:
        raise UsageError("--compute measures one direction at a time")
    if options.rounds is None:
        options.rounds = 10 if options.preset == "compute" else 30
    if options.seconds is None:
        options.seconds = _HOST_SECONDS if options.preset == "host" else _SECONDS
    if options.preset == "host":
        options.counts = options.counts or list(host.DEFAULT_COUNTS)
        options.engines = options.engines or list(host.DEFAULT_ENGINES)
    options.methods = _methods(options)
    options.model_blocks = _model_blocks(options)


def _check(options: Any) -> None:
    measures = not (options.from_file or options.compare or options.list_models)
    if options.fail_below is not None and not options.compare:
        raise UsageError("--fail-below belongs to --compare")
    if options.compare and (options.csv or options.plot):
        raise UsageError("--compare has no --csv and no --plot: take --json")
    if options.list_models and (options.csv or options.plot or options.json):
        raise UsageError("--list-models has no --json, --csv or --plot")
    if (options.tune or options.shapes) and options.preset != "compute":
        raise UsageError("--tune and --shapes belong to --compute")
    if options.engines and not (
        measures and options.preset in (*_PRESETS_WITH_METHODS, "host")
    ):
        raise UsageError("--engines belongs to the speed table, --model and --host")
    if options.alternatives is not None and not (
        measures and options.preset in _PRESETS_WITH_METHODS
    ):
        raise UsageError("--alternatives belongs to the speed table and --model")
    if options.methods and (options.engines or options.alternatives is not None):
        raise UsageError(
            "--methods is --engines and --alternatives in one list: take it or them"
        )
    if options.model and (options.sizes or options.counts):
        raise UsageError(
            "--model says what blocks there are: --tokens, --block-tokens, --layout, "
            "--dtype and --tensor-parallel change them, --sizes and --counts do not"
        )


def _methods(options: Any) -> list[str]:
    if options.methods:
        chosen: list[str] = options.methods
        return chosen
    default = (
        model_speed.DEFAULT_METHODS
        if options.preset == "model"
        else speed_table.DEFAULT_METHODS
    )
    engines = options.engines or [name for name in default if name in ENGINES]
    others = options.alternatives
    if others is None:
        others = [name for name in default if name in OTHERS]
    return [*engines, *others]


def _model_blocks(options: Any) -> list[ModelBlocks]:
    try:
        return [
            ModelBlocks(
                model,
                options.tensor_parallel,
                block_tokens,
                options.dtype,
                options.layout,
                options.tokens,
            )
            for model in options.model or []
            for block_tokens in options.block_tokens
        ]
    except ValueError as error:
        raise UsageError(str(error)) from error


def shapes_for(options: Any, direction: str) -> list[Shape]:
    """The shapes that --compute measures for a direction."""
    from kvswap.benchmark.shapes import COMPARED, to_sweep

    if options.shapes:
        found: list[Shape] = options.shapes
        return found
    texts = to_sweep(direction) if options.tune else COMPARED
    return [parse_shape(text) for text in texts]
