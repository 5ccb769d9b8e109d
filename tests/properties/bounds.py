"""How much the properties try, and how a run tells of it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import hypothesis

# Every run tries the same: more, and others each time, with a factor.
_FACTOR = "KVSWAP_PROPERTY_FACTOR"
_FILE = "KVSWAP_RELIABILITY_FILE"


def factor() -> int:
    """How many times as many examples as a run in CI tries."""
    return int(os.environ.get(_FACTOR) or 1)


def timeout_seconds() -> float:
    """What a child process with a property may take, on a busy machine too."""
    return 600.0 * factor()


def bounded(examples: int, steps: int = 50) -> hypothesis.settings:
    """Settings of a property that tries so many examples in CI."""
    return hypothesis.settings(
        max_examples=examples * factor(),
        stateful_step_count=steps,
        # The seed comes from the property itself. With a factor it is random, and a
        # failure prints the example and a line that repeats it.
        derandomize=factor() == 1,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )


@dataclass
class Count:
    """What was tried."""

    cases: int = 0


@contextmanager
def counted(suite: str, note: str) -> Iterator[Count]:
    """Tells of a suite's cases, as a line of JSON, in the file that is named for it.

    Args:
        suite: its name.
        note: what a case is.
    """
    count = Count()
    start = time.monotonic()
    failures = 1
    try:
        yield count
        failures = 0
    finally:
        row = {
            "suite": suite,
            "cases": count.cases,
            "seconds": round(time.monotonic() - start, 1),
            "failures": failures,
            "note": note,
        }
        print(json.dumps(row))
        path = os.environ.get(_FILE)
        if path:
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
