"""The simulated driver of this process, as it is after loading."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver

# Before the first call of kvswap: a process resolves its driver once.
os.environ.update(kvswap_sim.environment("13.0"))


@pytest.fixture
def simulator() -> Iterator[kvswap_sim.Simulator]:
    """Control of the driver; at the end, no test has made an unreported mistake."""
    simulator = kvswap_sim.Simulator()
    simulator.reset()
    yield simulator
    assert simulator.violations() == []


@pytest.fixture
def driver(simulator: kvswap_sim.Simulator) -> Iterator[CudaDriver]:
    """A client of the driver, with GPU 0's primary context current."""
    driver = CudaDriver(simulator.path)
    with driver.primary_context():
        yield driver
