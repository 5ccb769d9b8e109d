"""What submitting costs the CPU, and how soon one block is there."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kvswap.benchmark import many_ranges
from kvswap.benchmark.c_abi import CAbi
from kvswap.benchmark.cells import D2H, H2D, KIB, MIB, Cell, size_text
from kvswap.benchmark.methods import METHODS, CAbiCall, Method, NotKvswap
from kvswap.benchmark.output import Row, table_lines
from kvswap.benchmark.pools import Blocks
from kvswap.benchmark.session import Session

MANY = 8192
MANY_SIZES = (2 * KIB, 8 * KIB, 32 * KIB)
_ONE_SIZES = (4 * KIB, 64 * KIB, MIB)
BARE = "cuMemcpyAsync by ctypes"


class BareCopy(NotKvswap):
    """cuMemcpyAsync of one block by ctypes: a call as the C ABI's is one."""

    def __init__(self, blocks: Blocks, stream: int) -> None:
        self._function = blocks.pools.gpu.driver.library.cuMemcpyAsync
        self._arguments = (
            ctypes.c_uint64(int(blocks.dst_ptrs[0])),
            ctypes.c_uint64(int(blocks.src_ptrs[0])),
            ctypes.c_size_t(blocks.size),
            ctypes.c_void_p(stream),
        )

    def submit(self) -> None:
        code = self._function(*self._arguments)
        if code != 0:
            raise RuntimeError(f"cuMemcpyAsync: error {code}")


def run(
    session: Session,
    many: int = MANY,
    sizes: Sequence[int] = MANY_SIZES,
) -> None:
    """Measures; rows go to the session.

    Args:
        session: takes the results.
        many: blocks of a call.
        sizes: of these blocks.
    """
    library = CAbi()
    places = [
        Cell(direction, size, count)
        for count, its_sizes in ((1, _ONE_SIZES), (many, sizes))
        for direction in (H2D, D2H)
        for size in its_sizes
    ]
    for cell, deadline in session.in_time(places):
        blocks = session.workshop.pools.blocks(cell)
        contenders = [
            session.attempt(
                name,
                cell,
                functools.partial(
                    session.workshop.contender, name, maker, cell, blocks
                ),
            )
            for name, maker in _makers(library, cell).items()
        ]
        rows = session.measure(
            cell, [each for each in contenders if each is not None], deadline
        )
        _add_costs(rows)
    if session.budget.seconds_left > 0:
        try:
            _add_costs(many_ranges.run(session, library))
        except Exception as error:  # the rest has been measured
            session.fail(f"many mappings: {type(error).__name__}: {error}")


def _makers(
    library: CAbi, cell: Cell
) -> dict[str, Callable[[Blocks, int, str], Method]]:
    def c_abi(engine: str) -> Callable[[Blocks, int, str], Method]:
        return lambda blocks, stream, _: CAbiCall(
            library, blocks, stream, engine=engine
        )

    makers: dict[str, Callable[[Blocks, int, str], Method]] = {
        "C ABI, auto": c_abi("auto"),
        "Python, auto": METHODS["auto"],
    }
    if cell.count == 1:
        return {BARE: lambda blocks, stream, _: BareCopy(blocks, stream), **makers}
    return {
        **makers,
        "C ABI, kernel": c_abi("kernel"),
        "C ABI, batch": c_abi("batch"),
        "Python, kernel": METHODS["kernel"],
        "one batch call": METHODS["one_batch_call"],
        "loop of cuMemcpyAsync": METHODS["copy_loop"],
    }


def _add_costs(rows: list[Row]) -> None:
    bare = next((row["median_us"] for row in rows if row["method"] == BARE), None)
    for row in rows:
        row["submit_ns_per_block"] = round(
            row["submit_median_us"] * 1e3 / row["count"], 3
        )
        row["ratio_to_bare"] = round(row["median_us"] / bare, 4) if bare else None


def lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """One table for many blocks, one for one."""
    measured = [
        {**row, "size": size_text(row["size"])}
        for row in rows
        if row.get("median_us") is not None
    ]
    names = ["direction", "size", "count", "method"]
    many = [row for row in measured if row["count"] > 1]
    for row in many:
        row["submit_us"] = row["submit_median_us"]
    one = [row for row in measured if row["count"] == 1]
    notes = sorted(
        {f"{row['method']}: {row['note']}" for row in rows if row.get("note")}
    )
    return [
        "CPU time of the call that submits, a block:",
        "",
        *table_lines(
            many, [*names, "submit_ns_per_block", "submit_us", "median_us", "engines"]
        ),
        "",
        f"One block: time to completion, and relative to {BARE}:",
        "",
        *table_lines(
            one, [*names, "median_us", "p10_us", "p90_us", "ratio_to_bare", "engines"]
        ),
        *notes,
    ]
