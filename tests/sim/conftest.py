"""The simulated driver in this process, as it is after loading."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import kvswap_sim
from tests.sim.client import Start, cuda_driver

for variable in [name for name in os.environ if name.startswith("KVSWAP_")]:
    if variable != kvswap_sim.LIBRARY_DIRECTORY_VARIABLE:
        del os.environ[variable]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a fresh driver: ``start("12.8", devices=2)``.

    At the end, no test has made an unreported mistake; one that makes some takes
    them away by ``clear_violations()``.
    """
    started: list[kvswap_sim.Simulator] = []

    def run(
        driver_version: str = "13.0", *, devices: int = 1, seed: int = 1
    ) -> tuple[kvswap_sim.Simulator, cuda_driver.CudaDriver]:
        monkeypatch.setenv("KVSWAP_SIM_DEVICES", str(devices))
        simulator = kvswap_sim.Simulator(driver_version)
        simulator.reset()
        simulator.driver_version = driver_version
        simulator.seed = seed
        started.append(simulator)
        return simulator, cuda_driver.CudaDriver(simulator.path)

    yield run
    for simulator in started:
        assert simulator.violations() == []
        simulator.reset()
