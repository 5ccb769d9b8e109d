"""The simulated driver in this process, as it is after loading."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import kvswap_sim
import pytest


def _load_client() -> ModuleType:
    """kvswap.testing.cuda_driver, without its parent package's extension."""
    path = (
        Path(kvswap_sim.__file__).parent.parent
        / "kvswap"
        / "testing"
        / "cuda_driver.py"
    )
    spec = importlib.util.spec_from_file_location("cuda_driver", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cuda_driver"] = module
    spec.loader.exec_module(module)
    return module


cuda_driver = _load_client()

for variable in [name for name in os.environ if name.startswith("KVSWAP_")]:
    if variable != kvswap_sim.LIBRARY_DIRECTORY_VARIABLE:
        del os.environ[variable]

Start = Callable[..., tuple[kvswap_sim.Simulator, "cuda_driver.CudaDriver"]]


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
