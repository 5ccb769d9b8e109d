"""Many threads, the first use raced, captures beside swaps."""

from __future__ import annotations

import os

import pytest

import kvswap_sim
from kvswap.testing import cuda_driver
from tests import child_process

# More with FAULTS=all.
_TIMES = 10 if os.environ.get("FAULTS") == "all" else 1
_MODES = {
    "global": cuda_driver.CAPTURE_GLOBAL,
    "thread_local": cuda_driver.CAPTURE_THREAD_LOCAL,
    "relaxed": cuda_driver.CAPTURE_RELAXED,
}


# A driver that takes its time over what is done once: slow_driver.cc.
_SLOW_DRIVER = os.environ.get("SLOW_DRIVER")


def _run(
    function: str,
    *arguments: object,
    devices: int = 1,
    seed: int = 1,
    slow: bool = False,
) -> object:
    environment = kvswap_sim.environment("13.0", devices=devices, seed=seed)
    if slow and _SLOW_DRIVER:
        environment["SLOW_DRIVER_OF"] = environment["KVSWAP_LIBCUDA"]
        environment["KVSWAP_LIBCUDA"] = os.path.abspath(_SLOW_DRIVER)
    return child_process.run(
        "tests.faults.thread_bodies", function, *arguments, environment=environment
    )


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("streams", ["own", "shared", "null", "legacy", "per_thread"])
def test_many_threads(streams: str, devices: int) -> None:
    assert _run(
        "swap_on_threads", streams, devices, 12, 5 * _TIMES, devices=devices
    ) == {
        "wrong": 0,
        "grown": {},
        "violations": [],
    }


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("seed", range(_TIMES))
def test_first_use_raced_by_64_threads(seed: int, devices: int) -> None:
    """The driver is looked up once; on each GPU kernels are loaded and the bridge is
    opened once."""
    assert _run(
        "first_use_raced", 64, devices, devices=devices, seed=seed, slow=True
    ) == {
        "right": 64,
        "most_lookups_of_a_function": 1,
        "modules": 2 * devices,
        "module_loads": 2 * devices,
        "streams": devices,
        "events": 2 * devices,
        "violations": [],
    }


def test_threads_that_end_while_their_stream_copies() -> None:
    assert _run("threads_that_end", 3, 10 * _TIMES) == {
        "wrong": 0,
        "rounds_with_work_left": 3,
        "grown": {},
        "violations": [],
    }


@pytest.mark.parametrize("capturing", ["per_thread", "blocking", "non_blocking"])
def test_a_capture_while_others_swap_on_another_gpu(capturing: str) -> None:
    """No stream of another GPU's context has to do with the capture."""
    mode = cuda_driver.CAPTURE_GLOBAL
    outcomes = _run("captures_beside", capturing, mode, 5, 1, devices=2)
    assert isinstance(outcomes, dict)
    assert len(outcomes) == 5
    for other, outcome in outcomes.items():
        assert outcome.pop("nodes") > 0
        assert outcome == {
            "errors": [],
            "submitted": 10 * 24,
            "wrong": 0,
            "status": cuda_driver.CAPTURE_STATUS_ACTIVE,
            "captured": True,
            "is_alive": False,
            "violations": [],
        }, other


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("capturing", ["per_thread", "blocking", "non_blocking"])
def test_a_capture_while_others_swap(capturing: str, mode: str) -> None:
    """The capture is whole, and the swaps are right, or refused where the driver would
    order them with the capture: on the legacy stream beside a blocking one."""
    outcomes = _run("captures_beside", capturing, _MODES[mode], 5)
    assert isinstance(outcomes, dict)
    assert len(outcomes) == 5
    for other, outcome in outcomes.items():
        assert outcome.pop("nodes") > 0
        is_refused = other in ("null", "legacy") and capturing != "non_blocking"
        assert outcome == {
            "errors": [["capture", 906, 0]] * 10 if is_refused else [],
            "submitted": 0 if is_refused else 10 * 24,
            "wrong": 0,
            "status": cuda_driver.CAPTURE_STATUS_ACTIVE,
            "captured": True,
            "is_alive": False,
            "violations": [],
        }, other
