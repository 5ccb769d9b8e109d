"""What the import of kvswap needs and does, and what works without torch or NumPy."""

from __future__ import annotations

from typing import Any

import pytest

import kvswap_sim
from tests import child_process


def run(function: str, *arguments: Any) -> Any:
    """Runs a body of child_bodies on a simulated driver."""
    return child_process.run(
        "tests.python.child_bodies",
        function,
        *arguments,
        environment=kvswap_sim.environment("13.0"),
    )


@pytest.mark.parametrize(
    ("missing", "imported"),
    [
        (["torch"], []),
        (["torch"], ["numpy"]),
        (["numpy"], []),
        (["torch", "numpy"], []),
        ([], ["torch"]),
    ],
)
def test_works_without(missing: list[str], imported: list[str]) -> None:
    outcome = run("swap_without", missing, imported)
    assert outcome["missing"] == missing
    assert outcome["arrived"] is True
    assert outcome["engine"] == ["loop", "loop"]
    assert [error.split()[0] for error in outcome["errors"]] == [
        "src_ptrs",
        "dst_ptrs",
        "sizes",
    ]
    # Nothing was imported on the side.
    assert set(outcome["loaded"]) <= {"torch", "numpy"} - set(missing)
    if not imported:
        assert outcome["loaded"] == []


def test_import_and_counters_load_no_driver() -> None:
    """Nor do they call one, which they could not without; driver_info() does."""
    assert run("driver_libraries_after", "stats", "driver_info") == [
        False,
        False,
        True,
    ]
