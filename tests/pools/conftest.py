"""Block pools on the simulated driver, which each test has as it is after loading."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import kvswap_sim
from kvswap import in_flight
from kvswap.testing.cuda_driver import CudaDriver

# Before the first call of kvswap: a process resolves its driver once.
os.environ.update(kvswap_sim.environment("13.0", devices=2))


@pytest.fixture
def simulator() -> Iterator[kvswap_sim.Simulator]:
    """Control of the driver.

    At the end of a test, no mistake went unreported, and nothing is left that kvswap
    made.
    """
    simulator = kvswap_sim.Simulator()
    # What earlier tests left under way belongs to a driver that is gone.
    in_flight._calls.clear()
    simulator.reset()
    yield simulator
    assert simulator.violations() == []
    simulator.run()
    in_flight.release_done()
    while in_flight.count():
        in_flight.release_done()
    live = simulator.live()
    assert (live["events"], live["registrations"]) == (0, 0)


@pytest.fixture
def driver(simulator: kvswap_sim.Simulator) -> CudaDriver:
    """A client of the driver, with two GPUs, and no context."""
    return CudaDriver(simulator.path)


@pytest.fixture
def context(driver: CudaDriver) -> Iterator[None]:
    """The primary context of GPU 0, current."""
    with driver.primary_context(0):
        yield
        driver.synchronize()
