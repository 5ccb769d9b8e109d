"""``kvswap demo``: requests fill a GPU, blocks go to host memory and come back."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING

import kvswap
from kvswap import install_words
from kvswap.option_values import (
    any_whole_number,
    choice,
    choices_text,
    number,
    whole_number,
)

if TYPE_CHECKING:
    from kvswap.demonstration.caches import Caches
    from kvswap.demonstration.driver import DemoDriver
    from kvswap.demonstration.live_view import LiveView
    from kvswap.demonstration.pair_arrays import PairArrays
    from kvswap.demonstration.plain_view import PlainView

SUMMARY = "an offload round: blocks out of the GPU and back, every byte compared"

DESCRIPTION = """\
Shows what kvswap is for. Requests fill the KV cache of a GPU; when it is full, the
blocks of the request that was used least recently are swapped out to pinned host
memory, and swapped in again, to other places, when its user comes back. Each step
really happens: every byte is compared with what was written, and the exit status is 1
if one is wrong.

On a terminal, and with the package rich (pip install 'kvswap[terminal]'), the blocks
are seen moving; otherwise each step is a few plain lines. Without a GPU the simulated
driver stands in (pip install 'kvswap[sim]'), and the output says so: its times are not
a GPU's.

examples:
  kvswap demo                          on this machine's GPU, else simulated
  kvswap demo --speed=3 --steps=60     faster, and longer
  kvswap demo --engine=loop            with one copy call for each block
  kvswap demo --stream=default         on the stream that torch uses by itself
  kvswap demo --driver-version=12.4 --simulate
                                       as on a driver of CUDA 12.4
  kvswap demo --once --seed=7          plain text, the same each time
"""

_ENGINES = ("auto", "kernel", "batch", "bridge", "loop")
_STREAMS = ("own", "default")
_ARRAYS = ("auto", "torch", "numpy", "python")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--blocks",
        type=whole_number(1),
        default=48,
        metavar="N",
        help="blocks of the GPU's pool; the host's has twice as many (default: 48)",
    )
    parser.add_argument(
        "--block-bytes",
        "--block_bytes",
        type=whole_number(1),
        default=65536,
        metavar="N",
        help="size of a block in bytes (default: 65536)",
    )
    parser.add_argument(
        "--steps",
        type=whole_number(0),
        default=21,
        metavar="N",
        help="steps of the story; one more verifies what is left (default: 21)",
    )
    parser.add_argument(
        "--seed",
        type=any_whole_number,
        default=1,
        metavar="N",
        help="of prompts, block tables and content (default: 1)",
    )
    parser.add_argument(
        "--speed",
        type=number(above_zero=True),
        default=1.0,
        metavar="X",
        help="of what is seen on a terminal: 2 is twice as fast (default: 1)",
    )
    parser.add_argument(
        "--plain", action="store_true", help="plain lines on a terminal too"
    )
    parser.add_argument(
        "--once",
        action="store_true",
        help="plain lines without times and paths: the same text for the same seed",
    )
    parser.add_argument(
        "--engine",
        type=choice(_ENGINES),
        default="auto",
        metavar=choices_text(_ENGINES),
        help="as the library's calls take it (default: auto)",
    )
    parser.add_argument(
        "--stream",
        type=choice(_STREAMS),
        default="own",
        metavar=choices_text(_STREAMS),
        help="copy on a stream of its own, or on the default stream (default: own)",
    )
    parser.add_argument(
        "--arrays",
        type=choice(_ARRAYS),
        default="auto",
        metavar=choices_text(_ARRAYS),
        help="whose arrays hold block ids (default: torch's if it is installed, else "
        "NumPy's, else lists)",
    )
    parser.add_argument(
        "--device",
        type=whole_number(0),
        default=0,
        metavar="N",
        help="ordinal of the GPU (default: 0)",
    )
    parser.add_argument(
        "--simulate",
        action="store_true",
        help="use the simulated driver even if there is a GPU",
    )
    parser.add_argument(
        "--driver-version",
        "--driver_version",
        default="13.0",
        metavar="X.Y",
        help="CUDA version of the simulated driver, where it is used (default: 13.0)",
    )


def _torch_sees_gpu(arrays: PairArrays) -> bool:
    if arrays.name != "torch":
        return False
    import torch

    return bool(torch.cuda.is_available())


def _make_caches(
    driver: DemoDriver,
    arrays: PairArrays,
    options: argparse.Namespace,
    resources: contextlib.ExitStack,
) -> Caches:
    from kvswap.demonstration.caches import DriverCaches, TorchCaches

    counts = (options.blocks, 2 * options.blocks)
    default_stream = options.stream == "default"
    if not driver.simulated and _torch_sees_gpu(arrays):
        return TorchCaches(counts, options.block_bytes, options.device, default_stream)
    resources.enter_context(driver.client.primary_context(options.device))
    return DriverCaches(
        driver.client,
        counts,
        options.block_bytes,
        options.device,
        default_stream,
        resources,
    )


def _is_rich_installed() -> bool:
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True


def _choose_view(
    driver: DemoDriver, options: argparse.Namespace
) -> tuple[LiveView | PlainView, str]:
    """The view, and what to say of the other one."""
    from kvswap.demonstration.plain_view import PlainView

    plain = PlainView(driver.simulated, options.once)
    if options.once or options.plain or not sys.stdout.isatty():
        return plain, ""
    if not _is_rich_installed():
        return plain, (
            "To see the blocks move, install rich: "
            f"{install_words.pip_command('kvswap[terminal]')}"
        )
    from kvswap.demonstration.live_view import LiveView

    live = LiveView.on_terminal(driver, options.device, options.speed)
    return (live, "") if live else (plain, "")


def _run(options: argparse.Namespace) -> None:
    from kvswap.demonstration import words
    from kvswap.demonstration.driver import choose_driver
    from kvswap.demonstration.pair_arrays import choose_pair_arrays
    from kvswap.demonstration.scheduler import Scheduler

    arrays = choose_pair_arrays(options.arrays)
    driver = choose_driver(options.device, options.simulate, options.driver_version)
    version = "" if options.once else f" {kvswap.__version__}"
    library = arrays.name if options.once else arrays.description
    print(f"kvswap{version}: an offload round with {library}")
    print("\n".join(words.describe_driver(driver, options.device, options.once)))
    print(flush=True)
    view, advice = _choose_view(driver, options)
    with contextlib.ExitStack() as resources:
        caches = _make_caches(driver, arrays, options, resources)
        # So that the first call shows what a call takes, not what the first one does.
        kvswap.warmup(options.device)
        scheduler = Scheduler(caches, arrays.make, options.engine, options.seed)
        last = view.show(scheduler.run(options.steps))
    print()
    print(f"{words.describe_totals(last.totals)}.")
    print(words.describe_end(last.totals))
    if advice:
        print(advice)


def run(options: argparse.Namespace) -> int:
    """Runs the demo; the exit status."""
    from kvswap.demonstration.content import WrongBytesError
    from kvswap.demonstration.driver import NoDriverError

    try:
        _run(options)
    except WrongBytesError as error:
        print(f"WRONG BYTES in {error}", file=sys.stderr)
        return 1
    except NoDriverError as error:
        print(error, file=sys.stderr)
        return 1
    except (ImportError, ValueError, kvswap.SwapError) as error:
        print(f"kvswap demo: it could not go on: {error}", file=sys.stderr)
        return 1
    return 0
