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
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import kvswap
from kvswap.benchmark.arrays import ArrayLibrary, choose_array_library
from kvswap.benchmark.c_abi import CAbi
from kvswap.benchmark.cells import CREATED, D2H, THROUGHPUT
from kvswap.benchmark.environment import host_environment
from kvswap.benchmark.methods import engines_text
from kvswap.benchmark.output import Row, table_lines
from kvswap.benchmark.progress import Progress
from kvswap.benchmark.samples import Summary
from kvswap.testing.cuda_driver import CudaDriver

DEFAULT_COUNTS = (1, 8192)
DEFAULT_ENGINES = ("auto",)
_BLOCK_BYTES = 64
_LAYERS = 80
_POOL_BLOCKS = 512
_LEAST_ROUNDS = 3


@dataclass(frozen=True)
class HostCall:
    """A call that is ready to be made again and again.

    Attributes:
        name: which call.
        copies: that it submits.
        call: makes it; returns kvswap's result where there is one.
    """

    name: str
    copies: int
    call: Callable[[], Any]


class HostBench:
    """Calls on the simulated driver, and what they cost."""

    def __init__(self, seconds: float, arrays: ArrayLibrary) -> None:
        """Chooses the driver of this process: before kvswap has looked for one.

        Args:
            seconds: of the run; each call gets the same share.
            arrays: that hold the pointers.

        Raises:
            ImportError: the simulated driver is not installed.
            FileNotFoundError: it is, without its libraries.
        """
        import kvswap_sim

        os.environ.update(kvswap_sim.environment("13.0"))
        self._simulator = kvswap_sim.Simulator()
        self._driver = CudaDriver(self._simulator.path)
        self._seconds = seconds
        self._arrays = arrays

    def run(
        self, counts: Sequence[int], engines: Sequence[str], progress: Progress
    ) -> list[Row]:
        """Measures all calls: a row for each."""
        rows: list[Row] = []
        with contextlib.ExitStack() as resources:
            resources.enter_context(self._driver.primary_context(0))
            stream = resources.enter_context(self._driver.stream(non_blocking=True))
            total = 2 * len(counts) * len(engines) + 2
            share = self._seconds / total
            progress.begin(total)
            calls = self._calls(counts, engines, stream, resources)
            for number, call in enumerate(calls):
                progress.step(
                    number,
                    f"{call.name}, {call.copies:,} block{'s'[: call.copies - 1]}",
                    (total - number) * share,
                )
                rows.append(self._measure(call, share))
            progress.end()
        return rows

    def _calls(
        self,
        counts: Sequence[int],
        engines: Sequence[str],
        stream: Any,
        resources: contextlib.ExitStack,
    ) -> Iterator[HostCall]:
        blocks = max(2 * _LAYERS * _POOL_BLOCKS, *counts)
        size = blocks * _BLOCK_BYTES
        gpu = resources.enter_context(self._driver.device_memory(size)).address
        host = resources.enter_context(self._driver.pinned_memory(size)).address
        handle = int(stream.__cuda_stream__()[1])
        library = CAbi()
        for count in counts:
            prepared = _PreparedBlocks(gpu, host, count)
            numbers = self._arrays.numbers(count)
            swap = partial(
                kvswap.swap_blocks_batch,
                self._arrays.addresses(gpu, numbers, _BLOCK_BYTES),
                self._arrays.addresses(host, numbers, _BLOCK_BYTES),
                self._arrays.filled(count, _BLOCK_BYTES),
                stream=stream,
            )
            for engine in engines:
                yield HostCall(
                    f"C ABI, {engine}",
                    count,
                    library.prepare(prepared, handle, engine),
                )
                yield HostCall(f"Python, {engine}", count, partial(swap, engine=engine))
        pairs = [(i, _POOL_BLOCKS - 1 - i) for i in range(_POOL_BLOCKS)]
        copy_blocks = partial(
            kvswap.copy_blocks, _pool(gpu), _pool(host), pairs, stream=stream
        )
        copies = 2 * _LAYERS * _POOL_BLOCKS
        yield HostCall("pool, no ticket", copies, partial(copy_blocks, ticket=False))
        yield HostCall("pool, ticket", copies, partial(copy_blocks, ticket=True))

    def _measure(self, call: HostCall, seconds: float) -> Row:
        before = kvswap.stats().copies
        call.call()
        copies_by_engine = {
            name: count - before.get(name, 0)
            for name, count in kvswap.stats().copies.items()
        }
        host: list[float] = []
        driver: list[float] = []
        end = time.perf_counter() + seconds
        while len(host) < _LEAST_ROUNDS or time.perf_counter() < end:
            self._driver.synchronize()
            self._simulator.clear_trace()
            inside_before = self._simulator.seconds_in_calls()
            begin = time.perf_counter()
            result = call.call()
            total = time.perf_counter() - begin
            inside = self._simulator.seconds_in_calls() - inside_before
            # What a caller does later, as the end of a ticket, is not the call's.
            del result
            host.append((total - inside) * 1e6)
            driver.append(inside * 1e6)
        self._driver.synchronize()
        cost = Summary.of(host)
        return {
            "direction": D2H,
            "size": _BLOCK_BYTES,
            "count": call.copies,
            "stream": CREATED,
            "priority": THROUGHPUT,
            "method": call.name,
            "rounds": cost.rounds,
            "host_us": round(cost.median, 3),
            "host_p10_us": round(cost.low, 3),
            "host_p90_us": round(cost.high, 3),
            "host_least_us": round(min(host), 3),
            "host_ns_per_copy": round(cost.median * 1e3 / call.copies, 2),
            "driver_us": round(Summary.of(driver).median, 3),
            "engines": engines_text(copies_by_engine),
            "note": "",
        }


class _Words:
    """Numbers where the C ABI finds them, with the one method that is asked of tensors."""

    def __init__(self, values: Sequence[int]) -> None:
        self._array = (ctypes.c_uint64 * len(values))(*values)

    def data_ptr(self) -> int:
        return ctypes.addressof(self._array)


class _PreparedBlocks:
    """Blocks of the C ABI's arguments."""

    def __init__(self, source: int, target: int, count: int) -> None:
        offsets = [number * _BLOCK_BYTES for number in range(count)]
        self.src_ptrs = _Words([source + offset for offset in offsets])
        self.dst_ptrs = _Words([target + offset for offset in offsets])
        self.sizes = _Words([_BLOCK_BYTES] * count)
        self.count = count


def _pool(base: int) -> kvswap.BlockPool:
    layer_bytes = _POOL_BLOCKS * _BLOCK_BYTES
    return kvswap.BlockPool.from_regions(
        [
            (base + region * layer_bytes, _BLOCK_BYTES, _BLOCK_BYTES, region // 2)
            for region in range(2 * _LAYERS)
        ],
        _POOL_BLOCKS,
    )


def measure(
    seconds: float, counts: Sequence[int], engines: Sequence[str], progress: Progress
) -> tuple[dict[str, Any], list[Row]]:
    """Measures for about so many seconds.

    Returns:
        Where it was measured, and a row for each call.

    Raises:
        ImportError: the simulated driver is not installed.
        FileNotFoundError: it is, without its libraries.
    """
    arrays = choose_array_library()
    rows = HostBench(seconds, arrays).run(counts, engines, progress)
    return {
        "device": "simulated driver",
        **host_environment(),
        "arrays": arrays.description,
    }, rows


def lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each call."""
    shown = [
        {
            "call": row["method"],
            "blocks": row["count"],
            "median": microseconds_text(row["host_us"]),
            "p10": microseconds_text(row["host_p10_us"]),
            "p90": microseconds_text(row["host_p90_us"]),
            "ns a block": f"{row['host_ns_per_copy']:,.1f}",
            "in the driver": microseconds_text(row["driver_us"]),
            "rounds": row["rounds"],
            # Runs of older versions have none for some calls.
            "engines": row["engines"] or "-",
        }
        for row in rows
    ]
    return [
        "Host time of a call outside of the driver, which is simulated: no block of a GPU "
        "moves.",
        "",
        *(table_lines(shown, list(shown[0])) if shown else []),
        "",
        *_EXPLANATIONS,
    ]


_EXPLANATIONS = (
    "C ABI, auto:      kvswap_swap_blocks_batch with the engine auto, by ctypes",
    "Python, auto:     kvswap.swap_blocks_batch with the same",
    f"pool:             kvswap.copy_blocks: {_LAYERS} layers, keys and values, "
    f"{_POOL_BLOCKS} blocks of each",
    "ticket:           with an event that tells when the copies are done, or without",
    "median, p10, p90: time of a call, without the driver's part: that is beside it",
    "engines:          which submitted the blocks, and how many",
)


def microseconds_text(microseconds: float) -> str:
    """ "0.85 us", "12.3 us", "1.23 ms"."""
    if microseconds >= 1000:
        return f"{microseconds / 1000:.2f} ms"
    digits = 2 if microseconds < 10 else 1
    return f"{microseconds:.{digits}f} us"
