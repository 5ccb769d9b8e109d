"""kvswap.warmup: what the first call would have to do. With a GPU: tests/gpu."""

from __future__ import annotations

import pytest

import kvswap
import kvswap_sim
from tests import child_process


def test_the_driver_is_found() -> None:
    outcome = child_process.run(
        "tests.pools.warmup_test",
        "lookups_after_warmup",
        environment=kvswap_sim.environment("13.0"),
    )
    assert outcome["before"] > 10
    assert outcome["after"] == 0


def lookups_after_warmup() -> dict[str, int]:
    """Look-ups of driver functions by warmup, and by a call after it."""
    kvswap.warmup()
    simulator = kvswap_sim.Simulator()
    before = len(simulator.trace("cuGetProcAddress"))
    simulator.clear_trace()
    kvswap.driver_info()
    return {"before": before, "after": len(simulator.trace("cuGetProcAddress"))}


def test_no_driver() -> None:
    outcome = child_process.run(
        "tests.pools.warmup_test",
        "warmup_error",
        environment={"KVSWAP_LIBCUDA": "/nowhere/libcuda.so.1"},
    )
    assert outcome["status"] == "no_driver"
    assert "/nowhere/libcuda.so.1" in outcome["message"]


def warmup_error() -> dict[str, str]:
    """The error of a warmup that must fail."""
    with pytest.raises(kvswap.SwapError) as raised:
        kvswap.warmup()
    return {"status": raised.value.status, "message": str(raised.value)}
