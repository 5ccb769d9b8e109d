"""Long random programs: memory holds at every synchronisation what a model says."""

from __future__ import annotations

import pytest

import kvswap_sim
from tests import child_process
from tests.properties.bounds import counted, timeout_seconds


@pytest.mark.parametrize(("version", "programs"), [("12.4", 40), ("13.0", 150)])
def test_random_programs(version: str, programs: int) -> None:
    with counted(
        "random programs", f"calls in programs on driver {version}, bytes compared"
    ) as count:
        count.cases = child_process.run(
            "tests.properties.machine",
            "try_programs",
            programs,
            environment=kvswap_sim.environment(version),
            timeout_seconds=timeout_seconds(),
        )
