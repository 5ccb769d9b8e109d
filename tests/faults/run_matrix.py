"""The fault matrix of some engines, as a program: a line of JSON with its numbers.

python -m tests.faults.run_matrix [--all] [--engines auto,loop] [--streams null]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

import kvswap_sim
from tests.faults import matrix
from tests.faults.operations import ENGINES
from tests.faults.world import STREAMS


def main(arguments: list[str] | None = None) -> int:
    """Runs it; the exit status is 1 where there was a problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every code at every call")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--streams", default=",".join(STREAMS))
    options = parser.parse_args(arguments)
    os.environ.update(kvswap_sim.environment("13.0", devices=2))
    simulator = kvswap_sim.Simulator()
    summary = matrix.Summary()
    start = time.monotonic()
    for engine in options.engines.split(","):
        for stream in options.streams.split(","):
            number = len(STREAMS) * ENGINES.index(engine) + STREAMS.index(stream)
            cases = matrix.cases(engine, stream)
            if engine == ENGINES[0] and stream == STREAMS[0]:
                cases += matrix.other_cases()
            for position, case in enumerate(cases):
                code_count = len(matrix.CODES) if options.all else 1
                summary.add(
                    matrix.run_case(simulator, case, number + position, code_count)
                )
            print(f"{engine} {stream}: {summary}", file=sys.stderr, flush=True)
    for problem in summary.problems:
        print(problem, file=sys.stderr)
    numbers = {
        "faults": len(summary.faults),
        "functions": len(summary.entries),
        "cases": summary.cases,
        "outcomes": dict(summary.kinds),
        "problems": len(summary.problems),
        "leaks": sum("leaked" in problem for problem in summary.problems),
        "seconds": round(time.monotonic() - start, 1),
    }
    print(json.dumps(numbers))
    return 1 if summary.problems else 0


if __name__ == "__main__":
    sys.exit(main())
