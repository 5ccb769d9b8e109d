"""An offload round: requests fill a GPU, blocks go to host memory and come back.

    python -m kvswap demo

`run` and its like are the command `demo` of the program `kvswap`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import kvswap

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
  kvswap demo --driver_version=12.4 --simulate
                                       as on a driver of CUDA 12.4
  kvswap demo --once --seed=7          plain text, the same each time
"""

# As a shell reports a program that Ctrl-C ended, and one that wrote to a closed pipe.
_STOPPED = 130
_NO_READER = 141


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is below 1")
    return number


def _not_negative(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} is below 0")
    return number


def _above_zero(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number above 0")
    return number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--blocks",
        type=_at_least_one,
        default=48,
        metavar="N",
        help="blocks of the GPU's pool; the host's has twice as many (default: 48)",
    )
    parser.add_argument(
        "--block_bytes",
        "--block-bytes",
        type=_at_least_one,
        default=65536,
        metavar="N",
        help="size of a block in bytes (default: 65536)",
    )
    parser.add_argument(
        "--steps",
        type=_not_negative,
        default=21,
        metavar="N",
        help="steps of the story; one more verifies what is left (default: 21)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        help="of prompts, block tables and content (default: 1)",
    )
    parser.add_argument(
        "--speed",
        type=_above_zero,
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
        default="auto",
        help="as the library's calls take it (default: auto)",
    )
    parser.add_argument(
        "--stream",
        choices=("own", "default"),
        default="own",
        help="copy on a stream of its own, or on the default stream (default: own)",
    )
    parser.add_argument(
        "--arrays",
        choices=("auto", "torch", "numpy", "python"),
        default="auto",
        help="whose arrays hold block ids (default: torch's if it is installed, else "
        "NumPy's, else lists)",
    )
    parser.add_argument(
        "--device",
        type=_not_negative,
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
        "--driver_version",
        "--driver-version",
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
            f"{sys.executable} -m pip install 'kvswap[terminal]'"
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
    except (NoDriverError, ImportError, ValueError, kvswap.SwapError) as error:
        print(f"the demo could not run: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read has enough, as `head`; the interpreter flushes once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NO_READER
    except KeyboardInterrupt:
        print("\nStopped. All memory was given back.", file=sys.stderr)
        return _STOPPED
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the demo as a program of its own; the exit status."""
    parser = argparse.ArgumentParser(
        prog="kvswap demo",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    return run(parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
