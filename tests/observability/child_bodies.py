"""Bodies of tests that need a process of their own."""

from __future__ import annotations

import dataclasses
import logging
import sys
from typing import Any

from tests.observability.scenarios import Keep


def imported_and_logged(hidden: bool) -> list[Any]:
    """Whether kvswap has imported nvtx, and what it logged.

    Args:
        hidden: whether nvtx cannot be imported.
    """
    keep = Keep()
    logging.getLogger("kvswap").addHandler(keep)
    if hidden:
        sys.modules["nvtx"] = None  # type: ignore[assignment]
    from kvswap import tracing

    return [tracing._nvtx is not None, [text for _, text in keep.records]]


def swap_by_the_operator() -> dict[str, Any]:
    """What a call of torch's operator counts, and when it is logged."""
    import torch

    import kvswap
    import kvswap.torch_ops
    from kvswap.testing.cuda_driver import CudaDriver

    keep = Keep()
    logging.getLogger("kvswap").addHandler(keep)
    driver = CudaDriver()
    with driver.primary_context():
        host = driver.pinned_memory(4096)
        gpu = driver.device_memory(4096)
        torch.ops.kvswap.swap_blocks_batch(
            torch.tensor([host.address]),
            torch.tensor([gpu.address]),
            torch.tensor([4096]),
        )
        at_once = list(keep.records)
        counted = kvswap.stats()
        driver.synchronize()
    return {
        "at once": at_once,
        "later": keep.records,
        "stats": dataclasses.asdict(counted),
    }
