"""The first use of a device, before a request has to pay for it."""

from __future__ import annotations

import sys
from typing import Any

from kvswap import _core
from kvswap.pool_swaps import swap_in, swap_out
from kvswap.pools import BlockPool

_ENGINES = ("batch", "loop", "kernel")


def warmup(device: Any = None) -> None:
    """Does what the first call of a process, and of a device, would have to do.

    Finds the driver. Where torch is imported and has a GPU, swaps a block out and in by
    each engine that can run, on a stream of its own, and waits for it. Call it while no
    stream captures a graph.

    Args:
        device: what torch takes for a CUDA device; None is its current one.

    Raises:
        SwapError: there is no usable driver.
    """
    info = _core.driver_info()
    if not info.usable:
        from kvswap.errors import SwapError

        raise SwapError(info.message, status="no_driver")
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        gpu = torch.zeros((1, 4096), dtype=torch.uint8, device=stream.device)
        host = torch.zeros((1, 4096), dtype=torch.uint8, pin_memory=True)
        gpu_pool, host_pool = BlockPool(gpu), BlockPool(host)
        for engine in _ENGINES:
            swap_out(gpu_pool, host_pool, [(0, 0)], stream=stream, engine=engine)
            ticket = swap_in(
                host_pool, gpu_pool, [(0, 0)], stream=stream, engine=engine
            )
            ticket.wait()
