"""Pools, tickets and registrations on drivers of every age, in child processes."""

from __future__ import annotations

import random
from typing import Any

import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests import child_process
from tests.abi import drivers
from tests.pools.model import expected, make_pool

_NEW_FUNCTIONS = {
    "cuEventCreate",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuEventDestroy",
    "cuStreamWaitEvent",
    "cuThreadExchangeStreamCaptureMode",
    "cuMemHostRegister",
    "cuMemHostUnregister",
}


@pytest.mark.parametrize("version", drivers.ALL)
def test_a_round(version: str) -> None:
    outcome = child_process.run(
        "tests.pools.drivers_test",
        "swap_round",
        environment=kvswap_sim.environment(version),
    )
    assert outcome["right"] == [True, True]
    assert outcome["engine"] == ("batch" if version in drivers.WITH_BATCH else "loop")
    assert outcome["present"] == sorted(_NEW_FUNCTIONS)
    assert outcome["left"] == {"events": 0, "registrations": 0}
    assert outcome["violations"] == []


def swap_round() -> dict[str, Any]:
    """Out of the GPU to a pinned pool and in again, with tickets."""
    generator = random.Random(3)
    driver = CudaDriver()
    simulator = kvswap_sim.Simulator()
    with driver.primary_context():
        stream = driver.stream(non_blocking=True)
        source, destination = (
            make_pool(
                driver, "gpu", "gaps", [24, 40], [0, 1], 6, generator, content=content
            )
            for content in (True, False)
        )
        host = kvswap.pinned_pool(source.pool, 3, blocks_per_block=2)
        out = kvswap.swap_out(source.pool, host, [(5, 3), (0, 0)], stream=stream)
        ticket = kvswap.swap_in(
            host, destination.pool, [(3, 1), (0, 4)], stream=stream, layers=True
        )
        ticket.layer(1).wait()
        wanted = expected(source, destination, [(5, 1), (0, 4)], 1, 1)
        right = [ticket.done(), destination.memory.read() == wanted]
        host.invalidate()
        del out, ticket
        kvswap.copy_blocks(source.pool, destination.pool, [], stream=stream)
        live = simulator.live()
    return {
        "right": right,
        "engine": "batch" if kvswap.stats().copies["batch"] else "loop",
        "present": sorted(
            entry.name
            for entry in kvswap.driver_info().entries
            if entry.name in _NEW_FUNCTIONS and entry.present and not entry.required
        ),
        "left": {kind: live[kind] for kind in ("events", "registrations")},
        "violations": simulator.violations(),
    }
