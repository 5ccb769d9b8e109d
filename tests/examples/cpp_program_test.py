"""examples/cpp_program on simulated drivers, and without any."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import kvswap_sim

PROGRAM = Path(os.environ["PROGRAM"]).absolute()


def run(environment: dict[str, str]) -> tuple[int, list[str], str]:
    """Exit status, lines of standard output, standard error."""
    # On old drivers kvswap warns of each kind of fallback: not what is looked at here.
    quiet = {"KVSWAP_LOG": "error"}
    outcome = subprocess.run(
        [PROGRAM], env=os.environ | quiet | environment, capture_output=True, text=True
    )
    return outcome.returncode, outcome.stdout.splitlines(), outcome.stderr


@pytest.mark.parametrize("version", ["11.8", "12.4", "12.8", "13.0"])
def test_output(version: str) -> None:
    status, lines, errors = run(kvswap_sim.environment(version))
    assert (status, errors) == (0, "")
    driver, out, back, right, fault, refused = lines
    assert driver == (f"driver for CUDA {version}: {kvswap_sim.library_path(version)}")
    assert out.startswith("32 blocks by the engine ")
    assert back.startswith("32 blocks by the engine ")
    assert right == "every byte is right"
    assert fault == "pair 1 is at fault (invalid_argument)"
    assert refused.startswith("refused: pairs[1] = (1, 64): block 64 is out of range")


def test_an_error_of_the_driver() -> None:
    environment = kvswap_sim.environment("11.8")
    environment["KVSWAP_SIM_FAULTS"] = "cuMemcpyAsync#8=700"
    status, lines, errors = run(environment)
    assert status == 1
    assert "every byte is right" not in lines
    # The eighth copy of the loop.
    assert lines[-1] == "pair 7 is at fault (driver)"
    assert errors.startswith("swap_pools: the driver answered CUDA_ERROR_ILLEGAL")


def test_no_driver() -> None:
    status, lines, errors = run({"KVSWAP_LIBCUDA": "/nowhere/libcuda.so.1"})
    assert (status, lines) == (1, [])
    assert "which cannot be loaded as the CUDA driver" in errors
