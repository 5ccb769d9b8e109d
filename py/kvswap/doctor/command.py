"""The command ``kvswap doctor``."""

from __future__ import annotations

import argparse
import json

SUMMARY = "whether swaps work on this machine, how, and what to do if not"

DESCRIPTION = """\
Says whether swaps work on this machine and how: the driver that is found, its functions,
the GPUs and their links, the engine that each kind of stream takes and why, environment
variables, torch, limits, versions. It ends with what to do.

Nothing is changed. What may hang is asked in a child process with a time limit.

exit status:
  0  all well
  3  swaps work; something costs speed or may surprise
  4  swaps cannot work here

examples:
  kvswap doctor --verbose          all functions of the driver, device files, addresses
  kvswap doctor --json > doctor.json
                                   for a bug report: without user and host names
  kvswap doctor --gpu 1            one GPU of several
"""


def _ordinal(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of a GPU: 0, 1, ...")
    return int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    parser.add_argument(
        "--json", action="store_true", help="as JSON (docs/doctor.md has the schema)"
    )
    parser.add_argument(
        "--gpu", type=_ordinal, metavar="N", help="look at this GPU only (all)"
    )
    parser.add_argument("--verbose", action="store_true", help="show every detail")
    parser.add_argument(
        "--skip-torch", action="store_true", help="do not import torch: seconds faster"
    )


def run(options: argparse.Namespace) -> int:
    """Looks, and reports; the exit status."""
    from kvswap.doctor.report import collect
    from kvswap.doctor.show import show
    from kvswap.doctor.system import System
    from kvswap.terminal import open_terminal

    report = collect(System(), gpu=options.gpu, torch=not options.skip_torch)
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        show(report, open_terminal(), options.verbose)
    return report["exit_status"]
