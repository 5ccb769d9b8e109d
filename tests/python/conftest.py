"""The Python package on the simulated driver, in this process as in child processes."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests.python.descriptors import Blocks, make_blocks

# Before the first call of kvswap: a process resolves its driver once. Child processes
# inherit it, unless a test sets them up otherwise.
os.environ.update(kvswap_sim.environment("13.0", devices=2))


@pytest.fixture
def simulator() -> Iterator[kvswap_sim.Simulator]:
    """The simulated driver of this process, as it is after loading.

    At the end of a test it must not have seen a mistake that its answers to driver
    calls could not tell, as memory freed under a copy.
    """
    simulator = kvswap_sim.Simulator()
    simulator.reset()
    yield simulator
    assert simulator.violations() == []


@pytest.fixture
def driver(simulator: kvswap_sim.Simulator) -> CudaDriver:
    """A client of that driver."""
    return CudaDriver(simulator.path)


@pytest.fixture
def context(driver: CudaDriver) -> Iterator[None]:
    """The primary context of GPU 0, current."""
    with driver.primary_context(0):
        yield


@pytest.fixture
def blocks(driver: CudaDriver, context: None) -> Iterator[Blocks]:
    """Blocks to copy, in that context."""
    with make_blocks(driver) as blocks:
        yield blocks
