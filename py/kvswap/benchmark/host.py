"""What a call costs on the host, beside the driver's own work.

Calls kvswap on the simulated driver, which counts the time spent inside of it; what is
left of a call is kvswap's own, and the caller's Python. So it runs anywhere, and says
nothing of how fast blocks move: for that a GPU is needed. The processor is the
machine's, and other work on it shows: compare numbers of one run.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import kvswap
from kvswap.benchmark.arrays import ArrayLibrary, choose_array_library
from kvswap.testing.cuda_driver import CudaDriver

_BLOCK_BYTES = 64
_BLOCKS = 8192
_LAYERS = 80
_POOL_BLOCKS = 512
_LEAST_ROUNDS = 3


@dataclass(frozen=True)
class HostCost:
    """What one kind of call cost.

    Attributes:
        call: which call.
        copies: that it submits.
        rounds: how often it was made.
        host_microseconds: outside of the driver, the median of all rounds.
        least_host_microseconds: the same, of the quickest round.
        driver_microseconds: inside of the simulated driver, the median.
    """

    call: str
    copies: int
    rounds: int
    host_microseconds: float
    least_host_microseconds: float
    driver_microseconds: float


class HostBench:
    """Calls on the simulated driver, and what they cost."""

    def __init__(self, seconds: float, arrays: ArrayLibrary) -> None:
        """Chooses the driver of this process: before kvswap has looked for one.

        Raises:
            ImportError: the simulated driver is not installed.
        """
        import kvswap_sim

        os.environ.update(kvswap_sim.environment("13.0"))
        self._simulator = kvswap_sim.Simulator()
        self._driver = CudaDriver(self._simulator.path)
        self._seconds = seconds
        self._arrays = arrays

    def run(self) -> list[HostCost]:
        """Measures all calls."""
        with contextlib.ExitStack() as resources:
            resources.enter_context(self._driver.primary_context(0))
            stream = resources.enter_context(self._driver.stream(non_blocking=True))
            return [
                self._measure(name, copies, call)
                for name, copies, call in self._calls(stream, resources)
            ]

    def _calls(
        self, stream: Any, resources: contextlib.ExitStack
    ) -> Iterator[tuple[str, int, Callable[[], Any]]]:
        size = 2 * _LAYERS * _POOL_BLOCKS * _BLOCK_BYTES
        gpu = resources.enter_context(self._driver.device_memory(size)).address
        host = resources.enter_context(self._driver.pinned_memory(size)).address
        for count in (1, _BLOCKS):
            blocks = f"{count:,} block{'s' if count > 1 else ''}"
            source = [gpu + i * _BLOCK_BYTES for i in range(count)]
            target = [host + i * _BLOCK_BYTES for i in range(count)]
            yield f"C ABI by ctypes, {blocks}", count, _c_call(source, target, stream)
            numbers = self._arrays.numbers(count)
            src_ptrs = self._arrays.addresses(gpu, numbers, _BLOCK_BYTES)
            dst_ptrs = self._arrays.addresses(host, numbers, _BLOCK_BYTES)
            sizes = self._arrays.filled(count, _BLOCK_BYTES)
            yield (
                f"swap_blocks_batch, {blocks}",
                count,
                partial(
                    kvswap.swap_blocks_batch, src_ptrs, dst_ptrs, sizes, stream=stream
                ),
            )
        pairs = [(i, _POOL_BLOCKS - 1 - i) for i in range(_POOL_BLOCKS)]
        copy_blocks = partial(
            kvswap.copy_blocks, _pool(gpu), _pool(host), pairs, stream=stream
        )
        for name, ticket in (("without a ticket", False), ("with a ticket", True)):
            yield (
                f"copy_blocks, {_LAYERS} layers x K, V x {_POOL_BLOCKS} blocks, {name}",
                2 * _LAYERS * _POOL_BLOCKS,
                partial(copy_blocks, ticket=ticket),
            )

    def _measure(self, name: str, copies: int, call: Callable[[], Any]) -> HostCost:
        call()
        host: list[float] = []
        driver: list[float] = []
        end = time.perf_counter() + self._seconds
        while len(host) < _LEAST_ROUNDS or time.perf_counter() < end:
            self._driver.synchronize()
            self._simulator.clear_trace()
            inside_before = self._simulator.seconds_in_calls()
            begin = time.perf_counter()
            result = call()
            total = time.perf_counter() - begin
            inside = self._simulator.seconds_in_calls() - inside_before
            # What a caller does later, as the end of a ticket, is not the call's.
            del result
            host.append((total - inside) * 1e6)
            driver.append(inside * 1e6)
        self._driver.synchronize()
        return HostCost(
            name,
            copies,
            len(host),
            round(statistics.median(host), 2),
            round(min(host), 2),
            round(statistics.median(driver), 2),
        )


def _c_call(source: list[int], target: list[int], stream: Any) -> Callable[[], None]:
    """The C function on prepared arguments, to compare Python's calls with."""
    library = ctypes.CDLL(os.path.join(kvswap.get_library_dir(), "libkvswap.so"))
    function = library.kvswap_swap_blocks_batch
    function.argtypes = (
        [ctypes.c_void_p] * 3 + [ctypes.c_size_t] + [ctypes.c_void_p] * 3
    )
    count = len(source)
    addresses, sizes = ctypes.c_void_p * count, ctypes.c_size_t * count
    arguments = (
        addresses(*source),
        addresses(*target),
        sizes(*[_BLOCK_BYTES] * count),
        count,
        int(stream.__cuda_stream__()[1]),
        None,
        None,
    )

    def call() -> None:
        if function(*arguments) != 0:
            raise RuntimeError("the C ABI refused a call that is right")

    return call


def _pool(base: int) -> kvswap.BlockPool:
    layer_bytes = _POOL_BLOCKS * _BLOCK_BYTES
    return kvswap.BlockPool.from_regions(
        [
            (base + region * layer_bytes, _BLOCK_BYTES, _BLOCK_BYTES, region // 2)
            for region in range(2 * _LAYERS)
        ],
        _POOL_BLOCKS,
    )


def table_lines(costs: Sequence[HostCost]) -> list[str]:
    """The table, a line for each call, columns aligned."""
    rows = [["call", "copies", "host, median", "host, least", "rounds"]]
    rows += [
        [
            cost.call,
            f"{cost.copies:,}",
            f"{cost.host_microseconds:,.2f} us",
            f"{cost.least_host_microseconds:,.2f} us",
            f"{cost.rounds:,}",
        ]
        for cost in costs
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def report(seconds: float) -> tuple[list[str], dict[str, Any]]:
    """Measures for so many seconds a call.

    Returns:
        Lines for people, and the same as an object for JSON.

    Raises:
        ImportError: the simulated driver is not installed.
    """
    arrays = choose_array_library()
    costs = HostBench(seconds, arrays).run()
    lines = [
        f"kvswap {kvswap.__version__}: host cost of calls, {arrays.description}",
        "Time outside of the driver, which is simulated. No blocks of a GPU move.",
        "",
        *table_lines(costs),
    ]
    return lines, {
        "kvswap": kvswap.__version__,
        "arrays": arrays.description,
        "calls": [asdict(cost) for cost in costs],
    }
