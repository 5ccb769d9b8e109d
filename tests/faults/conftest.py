"""The simulated driver of this process."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import kvswap_sim

# Before the first call of kvswap: a process resolves its driver once.
os.environ.update(kvswap_sim.environment("13.0", devices=2))


@pytest.fixture
def simulator() -> Iterator[kvswap_sim.Simulator]:
    """Control of the driver, as it is after loading."""
    simulator = kvswap_sim.Simulator()
    simulator.reset()
    yield simulator
    simulator.reset()
