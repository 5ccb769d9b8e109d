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
from tests.abi.engine_expectations import ROWS, expect
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


@pytest.mark.parametrize("engine", ["batch", "kernel"])
@pytest.mark.parametrize("version", drivers.ALL)
def test_a_round(version: str, engine: str) -> None:
    outcome = child_process.run(
        "tests.pools.drivers_test",
        "swap_round",
        engine,
        environment=kvswap_sim.environment(version),
    )
    assert outcome["right"] == [True, True]
    ran, _ = expect(ROWS, engine, version, "created", "pinned")
    assert outcome["ran"] == [ran]
    assert outcome["present"] == sorted(_NEW_FUNCTIONS)
    assert outcome["left"] == {"events": 0, "registrations": 0}
    assert outcome["violations"] == []


def swap_round(engine: str) -> dict[str, Any]:
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
        out = kvswap.swap_out(
            source.pool, host, [(5, 3), (0, 0)], stream=stream, engine=engine
        )
        ticket = kvswap.swap_in(
            host,
            destination.pool,
            [(3, 1), (0, 4)],
            stream=stream,
            engine=engine,
            layers=True,
        )
        ticket.layer(1).wait()
        wanted = expected(source, destination, [(5, 1), (0, 4)], 1, 1)
        right = [ticket.done(), destination.memory.read() == wanted]
        ran = sorted({out.result.engine, ticket.result.engine})
        host.invalidate()
        del out, ticket
        kvswap.copy_blocks(source.pool, destination.pool, [], stream=stream)
        live = simulator.live()
    return {
        "right": right,
        "ran": ran,
        "present": sorted(
            entry.name
            for entry in kvswap.driver_info().entries
            if entry.name in _NEW_FUNCTIONS and entry.present and not entry.required
        ),
        "left": {kind: live[kind] for kind in ("events", "registrations")},
        "violations": simulator.violations(),
    }
