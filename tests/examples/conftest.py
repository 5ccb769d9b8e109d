"""Examples on the simulated driver, in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver

# Before the first call of kvswap: a process resolves its driver once.
os.environ.update(kvswap_sim.environment("13.0"))


@pytest.fixture
def driver() -> Iterator[CudaDriver]:
    """The driver, the primary context of GPU 0 current; as it is after loading."""
    simulator = kvswap_sim.Simulator()
    simulator.reset()
    driver = CudaDriver(simulator.path)
    with driver.primary_context(0):
        yield driver
        driver.synchronize()
    assert simulator.violations() == []
