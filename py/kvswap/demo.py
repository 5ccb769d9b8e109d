"""An offload round: blocks out of the GPU and back in, every byte compared.

    python -m kvswap demo [--blocks=256] [--block_bytes=65536] [--engine=auto]

Fills a cache of blocks on the GPU, swaps them out to pinned memory by a random block
table, scrambles the GPU's cache, swaps them in to other places, and compares. Arrays
are torch's where it is installed, else NumPy's, else Python's own. Without a GPU the
simulated driver stands in, and the output says so: its times are not a GPU's.

The exit status is 1 if a byte is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import kvswap
from kvswap._demo_arrays import ArrayLibrary, Torch, choose_array_library
from kvswap._demo_driver import DemoDriver, NoDriverError, choose_driver
from kvswap._demo_memory import BlockMemory, DemoStream, DriverMemory, TorchMemory

SUMMARY = "an offload round: blocks out of the GPU and in again, every byte compared"

DESCRIPTION = """\
Fills a cache of blocks on the GPU, swaps them out to pinned memory by a random block
table, scrambles the GPU's cache, swaps them in to other places, and compares. Without a
GPU the simulated driver stands in, and the output says so: its times are not a GPU's.
The exit status is 1 if a byte is wrong.
"""


def _at_least(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{text} is below {least}")
        return number

    return parse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the demo's flags."""
    for flag, default, least, text in (
        ("--blocks", 256, 1, "number of blocks"),
        ("--block_bytes", 65536, 1, "size of a block in bytes"),
        ("--seed", 1, 0, "of the content and the block tables"),
        ("--device", 0, 0, "ordinal of the GPU"),
    ):
        parser.add_argument(
            flag,
            type=_at_least(least),
            default=default,
            metavar="N",
            help=f"{text} ({default})",
        )
    parser.add_argument(
        "--engine", default="auto", help="the engine, as kvswap's calls take it (auto)"
    )
    parser.add_argument(
        "--simulate",
        action="store_true",
        help="use the simulated driver even if there is a GPU",
    )
    parser.add_argument(
        "--driver_version",
        default="13.0",
        metavar="VERSION",
        help="CUDA version of the simulated driver, where it is used (13.0)",
    )


class WrongBytesError(Exception):
    """What came out of a copy is not what went in."""


@dataclass(frozen=True)
class Swap:
    """One line of the table.

    Attributes:
        step: "swap out" or "swap in".
        stream: name of the stream.
        result: what the call submitted.
        seconds: from before the call until the stream had passed the copies.
    """

    step: str
    stream: str
    result: kvswap.SwapResult
    seconds: float


class OffloadRound:
    """One round on one stream."""

    def __init__(
        self,
        memory: BlockMemory,
        arrays: ArrayLibrary,
        stream: DemoStream,
        engine: str,
        shape: tuple[int, int],
    ) -> None:
        self._memory = memory
        self._arrays = arrays
        self._stream = stream
        self._engine = engine
        self._shape = shape

    def run(self) -> list[Swap]:
        """Swaps out and in.

        Raises:
            WrongBytesError: a byte is not what it was.
        """
        memory, arrays, (blocks, block_bytes) = self._memory, self._arrays, self._shape
        content = arrays.random_blocks(blocks, block_bytes)
        host_table, gpu_table = arrays.random_table(blocks), arrays.random_table(blocks)
        host_blocks = arrays.addresses(memory.host_address, host_table, block_bytes)

        memory.write_gpu(content)
        numbers = arrays.numbers(blocks)
        gpu_blocks = arrays.addresses(memory.gpu_address, numbers, block_bytes)
        swap_out = self._swap("swap out", gpu_blocks, host_blocks)
        on_host = arrays.pick(memory.host_blocks, host_table)
        self._compare("swap out", on_host, content)

        memory.write_gpu(arrays.random_blocks(blocks, block_bytes))
        gpu_blocks = arrays.addresses(memory.gpu_address, gpu_table, block_bytes)
        swap_in = self._swap("swap in", host_blocks, gpu_blocks)
        on_gpu = arrays.pick(memory.read_gpu(), gpu_table)
        self._compare("swap in", on_gpu, content)
        return [swap_out, swap_in]

    def _swap(self, step: str, src_ptrs: Any, dst_ptrs: Any) -> Swap:
        sizes = self._arrays.filled(*self._shape)
        begin = time.perf_counter()
        result = kvswap.swap_blocks_batch(
            src_ptrs,
            dst_ptrs,
            sizes,
            stream=self._stream.argument,
            engine=self._engine,
        )
        self._stream.synchronize()
        return Swap(step, self._stream.name, result, time.perf_counter() - begin)

    def _compare(self, step: str, actual: Any, expected: Any) -> None:
        difference = self._arrays.first_difference(actual, expected)
        if difference is not None:
            block, byte = difference
            raise WrongBytesError(
                f"{step} on the stream {self._stream.name!r}: block {block}, byte "
                f"{byte} is {self._arrays.byte(actual, block, byte)} instead of "
                f"{self._arrays.byte(expected, block, byte)}"
            )


def describe_driver(driver: DemoDriver, device: int) -> list[str]:
    """Lines that say which driver and GPU these are."""
    info = kvswap.driver_info()
    version = f"{info.driver_version // 1000}.{info.driver_version % 1000 // 10}"
    kind = "SIMULATED driver" if driver.simulated else "driver"
    lines = [
        f"{kind} for CUDA {version}: {info.path}",
        f"GPU {device}: {driver.client.device_name(device)}",
    ]
    if driver.simulated:
        lines += [
            f"Simulated, because {driver.reason}.",
            "The times below are the simulation's, not a GPU's.",
        ]
    return lines


def table_lines(swaps: Sequence[Swap]) -> list[str]:
    """The table, a line for each swap, columns aligned."""
    header = ["step", "stream", "engine", "blocks", "bytes", "time", "did not run"]
    rows = [header]
    for swap in swaps:
        result = swap.result
        rows.append(
            [
                swap.step,
                swap.stream,
                result.engine,
                f"{result.submitted:,}",
                f"{result.submitted_bytes:,}",
                f"{swap.seconds * 1e3:.3f} ms",
                ", ".join(
                    f"{engine} ({reason})"
                    for engine, reason in result.unavailable.items()
                ),
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    numeric = {3, 4, 5}
    return [
        "  ".join(
            cell.rjust(width) if column in numeric else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _torch_sees_gpu(arrays: ArrayLibrary) -> bool:
    if not isinstance(arrays, Torch):
        return False
    import torch

    return bool(torch.cuda.is_available())


def run_demo(
    driver: DemoDriver, arrays: ArrayLibrary, options: argparse.Namespace
) -> list[Swap]:
    """All rounds, one for each kind of stream."""
    shape = (options.blocks, options.block_bytes)
    with contextlib.ExitStack() as resources:
        memory: BlockMemory
        if not driver.simulated and _torch_sees_gpu(arrays):
            memory = TorchMemory(*shape, options.device)
        else:
            resources.enter_context(driver.client.primary_context(options.device))
            memory = DriverMemory(driver.client, arrays, *shape, resources)
        return [
            swap
            for stream in memory.streams
            for swap in OffloadRound(
                memory, arrays, stream, options.engine, shape
            ).run()
        ]


def run(options: argparse.Namespace) -> int:
    """Runs the demo; the exit status."""
    try:
        arrays = choose_array_library(options.seed)
        driver = choose_driver(options.device, options.simulate, options.driver_version)
        print(
            f"kvswap {kvswap.__version__}: an offload round with {arrays.description}"
        )
        print("\n".join(describe_driver(driver, options.device)))
        swaps = run_demo(driver, arrays, options)
    except WrongBytesError as error:
        print(f"WRONG BYTES after {error}", file=sys.stderr)
        return 1
    except (NoDriverError, ValueError, kvswap.SwapError) as error:
        print(f"the demo could not run: {error}", file=sys.stderr)
        return 1
    print()
    print("\n".join(table_lines(swaps)))
    print()
    print(
        f"Every byte of {options.blocks:,} blocks came back as it was, on each stream."
    )
    return 0


if __name__ == "__main__":
    from kvswap.command_line import main

    sys.exit(main(["demo", *sys.argv[1:]]))
