"""torch's operators count and log like all calls."""

from __future__ import annotations

import logging

import pytest
import torch

import kvswap
import kvswap.torch_ops
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests.observability.scenarios import Keep


@pytest.fixture
def keep() -> Keep:
    """What is logged."""
    keep = Keep()
    logger = logging.getLogger("kvswap")
    logger.addHandler(keep)
    logger.setLevel(logging.DEBUG)
    return keep


def test_operators(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, keep: Keep
) -> None:
    """Their lines come with the next call from Python."""
    host = driver.pinned_memory(4096)
    gpu = driver.device_memory(4096)
    before = kvswap.stats()
    torch.ops.kvswap.swap_blocks_batch(
        torch.tensor([host.address]),
        torch.tensor([gpu.address]),
        torch.tensor([4096]),
    )
    assert keep.records == []
    counted = kvswap.stats() - before
    driver.synchronize()
    assert (counted.calls, counted.errors) == (1, 0)
    assert counted.direction_bytes["host_to_device"] == 4096
    assert simulator.path in keep.records[0][1]
    assert keep.records[0][0] == "INFO"
