"""What the code of the page for connectors does when a load fails."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import kvswap
from kvswap_sim import Simulator
from tests.docs.page_runner import names_of

_PAGE = "docs/connector.md"
_COPY_CALLS = ("cuMemcpyAsync", "cuMemcpyBatchAsync", "cuLaunchKernel")
_REQUESTS = {"first": [(0, 5), (1, 6)], "second": [(2, 7)], "third": [(3, 8)]}


def _with_unreadable_blocks(names: dict[str, Any]) -> Any:
    """An offloader of 16 host blocks, of which the last 8 may not be read."""
    offloader = names["Offloader"](names["kv_caches"], host_blocks=8)
    size = 8 * offloader.gpu.block_bytes
    assert size % mmap.PAGESIZE == 0
    memory = mmap.mmap(-1, 2 * size)
    readable = kvswap.pinned_pool(offloader.gpu, 8, buffer=memory)
    address = readable.regions[0].address
    libc = ctypes.CDLL(None, use_errno=True)
    nothing = 0  # PROT_NONE
    end = ctypes.c_void_p(address + size)
    assert libc.mprotect(end, ctypes.c_size_t(size), nothing) == 0
    offloader.host = kvswap.BlockPool.from_regions(
        [(r.address, r.stride, r.block_bytes, r.layer) for r in readable.regions],
        16,
        owner=readable,
    )
    return offloader


def one_at_fault() -> dict[str, Any]:
    """Of three requests, the second names a block that cannot be read."""
    with names_of(_PAGE) as names:
        offloader = _with_unreadable_blocks(names)
        requests = _REQUESTS | {"second": [(12, 7)]}
        before = kvswap.stats()
        lost = names["load_requests"](offloader, requests)
        passed = kvswap.stats() - before
        return {
            "lost": sorted(lost),
            "tickets": len(offloader.loads),
            "copies": passed.direction_copies["host_to_device"],
            "regions": len(offloader.gpu.regions),
        }


def refused_by_the_driver() -> dict[str, Any]:
    """Every copy call fails: all of the call has to be computed again."""
    with names_of(_PAGE) as names:
        offloader = names["Offloader"](names["kv_caches"], host_blocks=8)
        simulator = Simulator()
        for name in _COPY_CALLS:
            simulator.fail(name, 1, every=True)
        try:
            lost = names["load_requests"](offloader, _REQUESTS)
        finally:
            simulator.clear_faults()
        return {"lost": sorted(lost), "tickets": len(offloader.loads)}


def without_blame() -> str:
    """An error that is no request's is left to the caller."""
    with names_of(_PAGE) as names:
        offloader = names["Offloader"](names["kv_caches"], host_blocks=8)
        offloader.gpu.invalidate("the engine sleeps")
        try:
            names["load_requests"](offloader, _REQUESTS)
        except ValueError as error:
            return str(error)
        return ""
