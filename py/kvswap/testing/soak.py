"""A long random offload workload, every block checked, memory watched.

    python3 -m kvswap.testing.soak --seconds 3600

Works on a GPU through torch, or on the simulated driver, which also fails on demand.
Exit status 1: a block was wrong, an error came unasked, or something grew.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from kvswap.testing.soak_devices import SoakDevice, choose_device
from kvswap.testing.soak_workload import Workload

# What the process may grow after its warm-up: allocators keep some.
_GROWTH_BYTES = 48 << 20


@dataclasses.dataclass(frozen=True)
class _Memory:
    resident_bytes: int
    live: dict[str, int]


def _measure(device: SoakDevice) -> _Memory:
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as statm:
        pages = int(statm.read().split()[1])
    return _Memory(pages * os.sysconf("SC_PAGESIZE"), device.live())


def run(
    device: SoakDevice,
    *,
    seconds: float,
    seed: int = 1,
    streams: int = 4,
    graphs: float = 0.05,
    faults: float = 0.1,
) -> dict[str, Any]:
    """Runs the workload; its numbers.

    Args:
        device: where.
        seconds: how long.
        seed: of everything random.
        streams: how many streams, special ones among them.
        graphs: share of steps that capture a graph and launch it.
        faults: share of calls in which the driver is to fail, where it can.
    """
    start = time.monotonic()
    workload = Workload(device, seed, streams, graphs, faults)
    counts = workload.counts
    steps, warm = 0, None
    while time.monotonic() - start < seconds or warm is None:
        workload.step()
        steps += 1
        if warm is None and time.monotonic() - start > 0.3 * seconds:
            workload.settle()
            warm = _measure(device)
        if len(counts.problems) > 20:
            break
    workload.settle()
    end = _measure(device)
    warm = warm or end
    leaks = {
        kind: count - warm.live[kind]
        for kind, count in end.live.items()
        if count > warm.live[kind]
    }
    grown = end.resident_bytes - warm.resident_bytes
    problems = counts.problems + device.violations()
    if leaks:
        problems.append(f"the driver's objects grew: {leaks}")
    if grown > _GROWTH_BYTES:
        problems.append(f"the process grew by {grown >> 20} MiB")
    return {
        "device": device.name,
        "seed": seed,
        "streams": streams,
        "seconds": round(time.monotonic() - start, 1),
        "steps": steps,
        **{
            field.name: getattr(counts, field.name)
            for field in dataclasses.fields(counts)
            if field.name != "problems"
        },
        "grown_bytes": grown,
        "leaks": sum(leaks.values()),
        "problems": problems,
    }


def _text(numbers: dict[str, Any]) -> str:
    lines = []
    for name, value in numbers.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {count:,}" for key, count in value.items())
        elif isinstance(value, list):
            value = "".join(f"\n  {item}" for item in value) or "none"
        elif isinstance(value, int):
            value = f"{value:,}" if name != "seed" else value
        lines.append(f"{name.replace('_', ' '):18} {value}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser(
        prog="python3 -m kvswap.testing.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--streams", type=int, default=4, help="1 or more")
    parser.add_argument(
        "--graphs", type=float, default=0.05, help="share of steps with a graph"
    )
    parser.add_argument(
        "--faults",
        type=float,
        default=0.1,
        help="share of calls in which the simulated driver is to fail",
    )
    parser.add_argument(
        "--device", choices=("auto", "torch", "simulated"), default="auto"
    )
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    options = parser.parse_args(arguments)
    if options.streams < 1:
        parser.error("--streams must be 1 or more")
    numbers = run(
        choose_device(options.device, options.seed),
        seconds=options.seconds,
        seed=options.seed,
        streams=options.streams,
        graphs=options.graphs,
        faults=options.faults,
    )
    print(_text(numbers))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(numbers, file, indent=2)
    return 1 if numbers["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
