"""The package on each driver version: engines, fallbacks, and what is said of both."""

from __future__ import annotations

from typing import Any

import pytest

import kvswap_sim
from tests import child_process
from tests.python.descriptors import BLOCKS

STREAMS = ("legacy", "per_thread", "created")


def has_batch(version: str) -> bool:
    """Whether drivers of that version have cuMemcpyBatchAsync."""
    return tuple(map(int, version.split("."))) >= (12, 8)


def describe(**options: Any) -> dict[str, Any]:
    """What a round of copies on each stream comes to on a simulated driver."""
    outcome: dict[str, Any] = child_process.run(
        "tests.python.child_bodies",
        "swap_on_each_stream",
        environment=kvswap_sim.environment(**options),
    )
    return outcome


@pytest.mark.parametrize("version", kvswap_sim.DRIVER_VERSIONS)
def test_version(version: str) -> None:
    outcome = describe(driver_version=version)
    major, minor = map(int, version.split("."))
    assert outcome["usable"] is True
    assert outcome["driver_version"] == major * 1000 + minor * 10
    assert outcome["batch_available"] is has_batch(version)
    assert outcome["violations"] == []
    for stream in STREAMS:
        round_trip = outcome[stream]
        assert round_trip["arrived"] is True
        if not has_batch(version):
            unavailable = {"batch": "no_batch_symbol"}
        elif stream == "legacy":
            unavailable = {"batch": "legacy_stream"}
        else:
            unavailable = {}
        engine = "loop" if unavailable else "batch"
        assert round_trip["unavailable"] == [unavailable] * 2
        assert round_trip["engine"] == [engine] * 2
        assert round_trip["copies"] == dict.fromkeys(
            ("batch", "loop", "kernel", "bridge"), 0
        ) | {engine: BLOCKS}


def test_entry_that_is_missing_in_spite_of_the_version() -> None:
    outcome = describe(driver_version="13.0", without=["cuMemcpyBatchAsync"])
    assert outcome["batch_available"] is False
    assert outcome["missing"] == ["cuMemcpyBatchAsync"]
    assert outcome["created"]["unavailable"] == [{"batch": "no_batch_symbol"}] * 2


@pytest.mark.parametrize(
    ("version", "engine", "cure"),
    [
        ("11.8", "kernel", "Update the NVIDIA driver to one for CUDA 12.0 or newer"),
        ("12.4", "batch", "Update the NVIDIA driver to one for CUDA 12.8 or newer"),
    ],
)
def test_a_strict_engine_that_an_old_driver_lacks(
    version: str, engine: str, cure: str
) -> None:
    message: str = child_process.run(
        "tests.python.child_bodies",
        "error_of_strict_engine",
        engine,
        environment=kvswap_sim.environment(version),
    )
    assert f"the {engine} engine was asked for strictly and cannot run: " in message
    assert f". {cure}" in message
    assert "Without strict, an engine that can run takes its place" in message


def test_driver_that_lacks_a_required_entry() -> None:
    outcome: dict[str, Any] = child_process.run(
        "tests.python.child_bodies",
        "error_without_driver",
        environment=kvswap_sim.environment("13.0", without=["cuMemcpyAsync"]),
    )
    assert outcome["usable"] is False
    assert outcome["status"] == "no_driver"
    assert "cuMemcpyAsync" in outcome["message"]
    assert (
        " (named by KVSWAP_LIBCUDA) lacks what every copy needs" in outcome["message"]
    )
    assert outcome["error"] == outcome["message"]


def test_no_driver() -> None:
    library = "/no/driver/here/libcuda.so.1"
    outcome: dict[str, Any] = child_process.run(
        "tests.python.child_bodies",
        "error_without_driver",
        environment={"KVSWAP_LIBCUDA": library},
    )
    assert outcome["usable"] is False
    assert outcome["path"] == ""
    assert outcome["status"] == "no_driver"
    assert any(library in line for line in outcome["tried"])
    # The variable and its value come first: they are what to mend.
    assert outcome["error"].startswith(
        f'the environment variable KVSWAP_LIBCUDA is "{library}", which cannot be loaded '
        "as the CUDA driver. Set it to the path of a libcuda.so.1, or unset it"
    )
    assert "Install the NVIDIA driver" not in outcome["error"]
    # Wrong arguments are reported all the same, and nothing to copy is no error.
    assert outcome["negative"] == "sizes[1] is negative: -1"
    assert outcome["dropped"] == 2
