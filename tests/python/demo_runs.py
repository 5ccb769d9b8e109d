"""Runs ``python -m kvswap demo`` where standard output is no terminal."""

from __future__ import annotations

import re
from typing import Any

from tests import child_process

# Importing torch takes seconds: only tests that are about it have it.
WITHOUT_TORCH = ("torch",)
WITHOUT_BOTH = ("numpy", "torch")

SMALL = ("--blocks=40", "--block_bytes=1001")

END = re.compile(r"Every byte of \d+ blocks? came back as it was\.")


def run(
    *arguments: str,
    missing: tuple[str, ...] = WITHOUT_TORCH,
    spoilt_call: int | None = None,
    environment: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Runs the program, by default on a machine without a driver and without torch."""
    outcome: dict[str, Any] = child_process.run(
        "tests.python.child_bodies",
        "run_program",
        ["demo", *arguments],
        missing,
        spoilt_call,
        environment=environment or {"KVSWAP_LIBCUDA": "/no/driver/here/libcuda.so.1"},
    )
    return outcome


def run_well(*arguments: str, **options: Any) -> str:
    """What it prints; it must find every byte right."""
    outcome = run(*arguments, **options)
    assert (outcome["status"], outcome["errors"]) == (0, "")
    assert END.search(outcome["output"])
    return str(outcome["output"])


def swaps(output: str) -> list[str]:
    """The lines that tell of calls of the library."""
    return re.findall(r"^    (swap (?:out|in): .*)$", output, re.MULTILINE)
