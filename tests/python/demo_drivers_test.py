"""``python -m kvswap demo`` on every driver, and with every array library or none."""

from __future__ import annotations

import platform

import numpy
import pytest
import torch

import kvswap_sim
from tests.python.demo_runs import (
    END,
    SMALL,
    WITHOUT_BOTH,
    WITHOUT_TORCH,
    run,
    run_well,
    swaps,
)


@pytest.mark.parametrize(
    ("version", "missing"),
    [("12.4", ()), ("13.0", ())]
    + [(version, WITHOUT_TORCH) for version in kvswap_sim.DRIVER_VERSIONS],
)
def test_every_driver_version(version: str, missing: tuple[str, ...]) -> None:
    output = run_well(
        *SMALL, "--engine=batch", f"--driver_version={version}", missing=missing
    )
    assert f"SIMULATED driver for CUDA {version}" in output
    library = f"NumPy {numpy.__version__}" if missing else f"torch {torch.__version__}"
    assert library in output
    has_batch = tuple(map(int, version.split("."))) >= (12, 8)
    assert ("no_batch_symbol" in swaps(output)[0]) is not has_batch


def test_torch_without_numpy() -> None:
    outcome = run(*SMALL, missing=("numpy",))
    # torch itself warns of it.
    assert outcome["status"] == 0, outcome["errors"]
    assert END.search(outcome["output"])


def test_neither_torch_nor_numpy() -> None:
    output = run_well(*SMALL, missing=WITHOUT_BOTH)
    assert f"lists of Python {platform.python_version()} alone" in output


def test_arrays_by_name() -> None:
    assert "lists of Python" in run_well(*SMALL, "--arrays=python")
    outcome = run(*SMALL, "--arrays=numpy", missing=WITHOUT_BOTH)
    assert outcome["status"] == 1
    assert "--arrays=numpy: No module named 'numpy'. Install it" in outcome["errors"]


def test_driver_that_fails() -> None:
    environment = kvswap_sim.environment("13.0")
    environment["KVSWAP_SIM_FAULTS"] = "cuMemcpyBatchAsync#2=700,index=3"
    outcome = run(*SMALL, "--engine=batch", environment=environment)
    assert outcome["status"] == 1
    assert "kvswap demo: it could not go on: " in outcome["errors"]
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in outcome["errors"]
    assert "pairs[" in outcome["errors"]


def test_driver_that_the_environment_names() -> None:
    """It is taken as it is, and found to be the simulated one."""
    output = run_well(*SMALL, environment=kvswap_sim.environment("12.4"))
    assert "SIMULATED driver for CUDA 12.4" in output
    assert "because KVSWAP_LIBCUDA names it" in output


def test_driver_without_gpus() -> None:
    output = run_well(*SMALL, environment=kvswap_sim.environment("12.8", devices=0))
    assert "SIMULATED driver for CUDA 13.0" in output
    assert "CUDA_ERROR_NO_DEVICE" in output


def test_gpu_that_the_driver_does_not_have() -> None:
    output = run_well(*SMALL, "--device=2", environment=kvswap_sim.environment("12.8"))
    assert "because there is no GPU 2: the driver has 1" in output


def test_simulate() -> None:
    output = run_well(
        *SMALL,
        "--simulate",
        "--driver_version=12.9",
        environment=kvswap_sim.environment("12.4"),
    )
    assert "SIMULATED driver for CUDA 12.9" in output
    assert "because --simulate asks for it" in output


def test_no_simulated_driver() -> None:
    outcome = run(*SMALL, missing=("kvswap_sim", "torch"))
    assert outcome["status"] == 1
    errors = outcome["errors"]
    assert "there is no simulated driver, and the demo needs one here" in errors
    assert "needed because:  the environment variable KVSWAP_LIBCUDA is " in errors
    assert "pip install 'kvswap[sim]'" in errors
    assert "--find-links FOLDER" in errors


def test_unknown_simulated_version() -> None:
    outcome = run(*SMALL, "--driver_version=10.2")
    assert outcome["status"] == 1
    assert "10.2" in outcome["errors"]
