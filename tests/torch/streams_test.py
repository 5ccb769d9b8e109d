"""Which stream the operators submit to. Each test in a process of its own.

A torch without CUDA has no streams, so a library stands for the one of torch that has
them (libtorch_cuda.c).
"""

from __future__ import annotations

from typing import Any

import pytest

import kvswap_sim
from tests import child_process


def run(function: str, *arguments: Any) -> Any:
    return child_process.run(
        "tests.torch.child_bodies",
        function,
        *arguments,
        environment=kvswap_sim.environment("13.0", devices=2),
    )


def test_without_cuda_the_legacy_stream() -> None:
    assert run("streams_without_cuda") == {"streams": [0], "arrived": True}


@pytest.mark.parametrize("operator", ["swap_blocks_batch", "swap_blocks"])
@pytest.mark.parametrize("device", [0, 1])
def test_current_stream_of_the_device_of_the_pointers(
    operator: str, device: int
) -> None:
    outcome = run("current_stream", operator, device)
    assert outcome["asked_device"] == device
    assert outcome["streams"] == [outcome["current_streams"][device]]
    assert outcome["calls"] == ["cuMemcpyBatchAsync"]
    assert outcome["arrived"] is True


def test_current_device_where_no_pointer_names_one() -> None:
    outcome = run("host_to_host")
    assert outcome["asked_device"] == -1
    assert outcome["streams"] == [outcome["current_stream"]]


def test_device_that_torch_does_not_see() -> None:
    """The legacy stream; torch, which logs an error each time, is asked once."""
    outcome = run("unknown_device")
    assert outcome == {"streams": [0], "asked": 1, "arrived": True}


@pytest.mark.parametrize(("is_any", "order"), [(None, 1), (False, 1), (True, 3)])
def test_source_access_order(is_any: bool | None, order: int) -> None:
    assert run("source_access_order", is_any) == [order]


def test_copies_become_nodes_of_a_graph() -> None:
    assert run("capture") == {"nodes": 2, "before": False, "after": True, "waited": 0}


class TestWaiting:
    """Out of the GPU into memory that is not pinned, so far as torch knows."""

    def test_for_the_stream_of_the_copies(self) -> None:
        outcome = run("wait", "out")
        assert outcome["waited"] == [[outcome["current_stream"], 0]]
        assert outcome["arrived"] is True

    def test_not_for_copies_by_address(self) -> None:
        assert run("wait", "by_address")["waited"] == []

    def test_error_is_told(self) -> None:
        assert "waiting for their stream failed" in run("wait_fails")

    def test_temporary_copies_of_a_compiled_graph(self) -> None:
        """A graph without inductor calls with a copy of dst, read at once."""
        assert run("compiled_copy_out") == {"arrived": True, "blocks": 2}
