"""Results as --json writes them, made from the numbers of the README: a test fixture.

No run made them. What the README does not tell (times, spreads, other sizes) is filled in
so that it is of a plausible size; "fixture" in the environment says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvswap.benchmark.cells import usual_count
from kvswap.benchmark.output import SCHEMA

ENVIRONMENT = {
    "device": "NVIDIA H200",
    "driver_cuda": "13.0",
    "driver_build": "580.159.04",
    "kvswap": "0.1.0",
    "python": "3.12.3",
    "cpu": "INTEL(R) XEON(R) PLATINUM 8480+",
    "date": "2026-11-30T12:00:00Z",
    "torch": "2.11.0",
    "seed": 1,
    "fixture": "numbers of the README and made-up ones, not a run",
}

_METHODS = (
    "auto",
    "kernel",
    "batch",
    "loop",
    "one_batch_call",
    "copy_loop",
    "cuda_core",
    "torch_copy",
    "gather",
)
LIMITS = {"h2d": 55.4, "d2h": 54.9, "d2d": 1600.0}
LIMIT_BYTES = 512 << 20

# Of each direction KiB of a block, and GB/s in the order of _METHODS.
_RATES: Mapping[str, Mapping[int, Sequence[float]]] = {
    "h2d": {
        2: (39.6, 39.7, 2.1, 0.7, 1.1, 0.7, 0.7, 0.4, 7.9),
        4: (44.4, 44.3, 4.1, 1.4, 1.9, 1.4, 1.3, 0.8, 10.4),
        8: (48.0, 48.1, 7.9, 2.5, 2.8, 2.6, 2.1, 1.6, 12.6),
        16: (49.6, 49.7, 16.1, 4.9, 8.9, 5.0, 5.6, 3.0, 14.1),
        32: (50.4, 50.3, 32.1, 9.1, 17.5, 9.2, 11.8, 6.1, 15.0),
        64: (51.6, 50.5, 51.6, 15.2, 36.7, 15.5, 27.2, 11.8, 15.4),
        256: (53.8, 50.6, 53.8, 32.0, 49.3, 32.5, 44.2, 29.1, 15.9),
        1024: (54.9, 50.7, 54.9, 46.2, 53.7, 46.4, 52.3, 44.8, 16.0),
    },
    "d2h": {
        2: (39.4, 39.5, 3.7, 0.8, 3.6, 0.8, 1.9, 0.4, 6.3),
        4: (46.8, 46.9, 8.5, 1.4, 6.1, 1.5, 3.5, 0.8, 8.8),
        8: (50.1, 50.0, 16.3, 2.6, 10.4, 2.7, 6.2, 1.6, 11.0),
        16: (50.9, 51.0, 27.8, 5.1, 16.8, 5.2, 10.4, 3.1, 12.5),
        32: (51.3, 51.4, 38.2, 9.6, 26.2, 9.8, 16.7, 6.3, 13.4),
        64: (52.0, 51.9, 48.7, 16.0, 35.8, 16.3, 27.7, 12.0, 13.8),
        256: (52.2, 52.3, 52.4, 34.1, 48.6, 34.8, 43.8, 30.0, 14.2),
        1024: (53.9, 52.4, 53.9, 47.0, 52.8, 47.5, 51.9, 45.6, 14.3),
    },
}


def row(
    method: str,
    gb_per_s: float,
    size: int,
    count: int,
    spread: float = 0.02,
    **columns: Any,
) -> dict[str, Any]:
    """A row of the speed table.

    Args:
        method: as there.
        gb_per_s: by the median.
        size: of a block.
        count: of blocks.
        spread: of the times: 10th and 90th percentile lie so far from the median.
        columns: others than the usual ones.
    """
    total = LIMIT_BYTES if method == "limit" else size * count
    median = total / gb_per_s / 1e3
    direction = columns.get("direction", "h2d")
    return {
        "direction": direction,
        "size": size,
        "count": count,
        "stream": "created",
        "priority": "throughput",
        "method": method,
        "bytes": total,
        "rounds": 30,
        "median_us": round(median, 3),
        "p10_us": round(median * (1 - spread), 3),
        "p90_us": round(median * (1 + spread), 3),
        "event_median_us": round(median * 0.98, 3),
        "submit_median_us": round(count * 0.01, 3),
        "submit_p10_us": round(count * 0.0098, 3),
        "submit_p90_us": round(count * 0.0102, 3),
        "gb_per_s": gb_per_s,
        "share_of_limit": round(gb_per_s / LIMITS[direction], 4),
        "ratio_to_best": None,
        "engines": f"kernel {count}" if method == "auto" else "",
        "note": "",
        **columns,
    }


def document(preset: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows as a file has them."""
    return {
        "schema": SCHEMA,
        "preset": preset,
        "environment": dict(ENVIRONMENT),
        "problems": [],
        "rows": [{**each, **ENVIRONMENT} for each in rows],
    }


def speed_table(
    factor: float = 1.0,
    spread: float = 0.02,
    streams: Sequence[str] = ("created",),
    methods: Sequence[str] = _METHODS,
) -> dict[str, Any]:
    """A speed table, kvswap's methods so many times as fast as in the README."""
    rows = []
    for stream in streams:
        for direction, by_size in _RATES.items():
            for kib, rates in by_size.items():
                size = kib << 10
                count = usual_count(size)
                place = {"direction": direction, "stream": stream}
                rows.append(
                    row("limit", LIMITS[direction], size, count, spread, **place)
                )
                rows += [
                    row(
                        method,
                        round(rate * (factor if method == "auto" else 1.0), 4),
                        size,
                        count,
                        spread,
                        **place,
                    )
                    for method, rate in zip(_METHODS, rates, strict=True)
                    if method in methods
                ]
    return document("table", rows)
