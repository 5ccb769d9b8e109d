"""Which stream the operators submit to, and when they wait for it.

A torch without CUDA has no streams, so a library stands for the one of torch that has
them (libtorch_cuda.c), in a process of its own.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import kvswap.torch_ops  # noqa: F401  # registers the operators
import kvswap_sim
from tests import child_process
from tests.torch.caches import BLOCK_BYTES, Caches, integers

Outcomes = dict[str, Any]


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    """What became of each call of child_bodies.stream_scenarios."""
    found: Outcomes = child_process.run(
        "tests.torch.child_bodies",
        "stream_scenarios",
        environment=kvswap_sim.environment("13.0", devices=2),
    )
    return found


def test_without_cuda_the_legacy_stream(
    caches: Caches, simulator: kvswap_sim.Simulator
) -> None:
    """In this process: torch has no CUDA, and none is pretended."""
    simulator.clear_trace()
    torch.ops.kvswap.swap_blocks_batch(
        integers([caches.host_address(1)]),
        integers([caches.gpu_address(5)]),
        integers([BLOCK_BYTES]),
    )
    (call,) = simulator.trace("cuMemcpyAsync")
    assert call.arguments["stream"] == 0
    assert caches.gpu_block(5) == caches.original(1)


@pytest.mark.parametrize("operator", ["swap_blocks_batch", "swap_blocks"])
@pytest.mark.parametrize("device", [0, 1])
def test_current_stream_of_the_device_of_the_pointers(
    outcomes: Outcomes, operator: str, device: int
) -> None:
    outcome = outcomes[f"{operator} on {device}"]
    assert outcome["asked_device"] == device
    assert outcome["streams"] == [outcome["current_streams"][device]]
    assert outcome["calls"] == ["cuMemcpyBatchAsync"]
    assert outcome["arrived"] is True


def test_current_device_where_no_pointer_names_one(outcomes: Outcomes) -> None:
    outcome = outcomes["host to host"]
    assert outcome["asked_device"] == -1
    assert outcome["streams"] == [outcome["current_stream"]]


def test_device_that_torch_does_not_see(outcomes: Outcomes) -> None:
    """The legacy stream; torch, which logs an error each time, is asked once."""
    outcome = outcomes["unknown device"]
    assert outcome == {"streams": [0], "asked": 1, "arrived": True}


@pytest.mark.parametrize(("is_any", "order"), [(None, 1), (False, 1), (True, 3)])
def test_source_access_order(
    outcomes: Outcomes, is_any: bool | None, order: int
) -> None:
    assert outcomes[f"any {is_any}"] == [order]


def test_copies_become_nodes_of_a_graph(outcomes: Outcomes) -> None:
    assert outcomes["capture"] == {
        "nodes": 2,
        "before": False,
        "after": True,
        "waited": 0,
    }


class TestWaiting:
    """Out of the GPU into memory that is not pinned, so far as torch knows."""

    def test_for_the_stream_of_the_copies(self, outcomes: Outcomes) -> None:
        outcome = outcomes["wait out"]
        assert outcome["waited"] == [outcome["current_stream"]]
        assert outcome["arrived"] is True

    def test_not_for_copies_by_address(self, outcomes: Outcomes) -> None:
        assert outcomes["wait by address"]["waited"] == []

    def test_error_is_told(self, outcomes: Outcomes) -> None:
        assert "waiting for their stream failed" in outcomes["wait fails"]

    def test_nothing_is_left_out_in_silence(self, outcomes: Outcomes) -> None:
        message = outcomes["wait is not known to be allowed"]
        assert "the copies are submitted, and nothing waits for them" in message
        assert "(999) to cuStreamIsCapturing" in message

    def test_temporary_copies_of_a_compiled_graph(self, outcomes: Outcomes) -> None:
        """A graph without inductor calls with a copy of dst, read at once."""
        assert outcomes["compiled"] == {"arrived": True}
