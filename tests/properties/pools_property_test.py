"""Copies between random pools do what a model, and NumPy, says, or are refused."""

from __future__ import annotations

import pytest

import kvswap_sim
from tests import child_process
from tests.properties.bounds import counted, timeout_seconds


@pytest.mark.parametrize(
    ("version", "body", "examples"),
    [
        ("12.4", "try_regions", 60),
        ("13.0", "try_regions", 200),
        ("13.0", "try_arrays", 200),
    ],
)
def test_random_pools(version: str, body: str, examples: int) -> None:
    with counted("random pools", f"calls on driver {version}, bytes compared") as count:
        count.cases = child_process.run(
            "tests.properties.pools_property",
            body,
            examples,
            environment=kvswap_sim.environment(version, devices=2),
            timeout_seconds=timeout_seconds(),
        )
