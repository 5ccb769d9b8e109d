"""torch's operators on the simulated driver."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests.torch.caches import Caches, make_caches

# Before the first call of kvswap: a process resolves its driver once.
os.environ.update(kvswap_sim.environment("13.0", devices=2))
# Which calls of the driver copies become is to be known: the loop here, where the
# current stream is the legacy one. The operators take no engine.
os.environ["KVSWAP_ENGINE"] = "batch"
# torch's compiler keeps files.
if folder := os.environ.get("TEST_TMPDIR"):
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "inductor")


@pytest.fixture
def simulator() -> Iterator[kvswap_sim.Simulator]:
    """The simulated driver of this process, as it is after loading."""
    simulator = kvswap_sim.Simulator()
    simulator.reset()
    yield simulator
    assert simulator.violations() == []


@pytest.fixture
def driver(simulator: kvswap_sim.Simulator) -> CudaDriver:
    """A client of that driver."""
    return CudaDriver(simulator.path)


@pytest.fixture
def caches(driver: CudaDriver) -> Iterator[Caches]:
    """A cache of GPU 0 and one of the host, with that GPU's context current."""
    with driver.primary_context(0), make_caches(driver) as caches:
        yield caches
