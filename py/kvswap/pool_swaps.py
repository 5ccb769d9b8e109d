"""Copies of blocks between pools."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from kvswap import _core, in_flight
from kvswap.pools import BlockPool
from kvswap.tickets import Ticket, make_ticket

if TYPE_CHECKING:
    from kvswap.argument_types import Pairs, Stream
    from kvswap.policies import Policy

_warned_of_pageable = False


def copy_blocks(
    src_pool: BlockPool,
    dst_pool: BlockPool,
    pairs: Pairs,
    *,
    stream: Stream | None = None,
    engine: str = "auto",
    src_access: str = "stream",
    max_batch: int | None = None,
    strict: bool = False,
    priority: str = "throughput",
    policy: Policy | None = None,
    prefer_overlap: bool = False,
    check: bool = True,
    layers: bool = False,
    ticket: bool = True,
) -> Ticket:
    """Submits copies of blocks from one pool to another (or to the same).

    For each pair, every region of block ``pair[0]`` of `src_pool` is copied to that of
    block ``pair[1]`` of `dst_pool`. Where blocks of one pool are k times as large, ids
    count blocks of the smaller size on both sides: id i of the other pool is part
    ``i % k`` of its block ``i // k``.

    The copies run in the stream's order as a whole, in no order among themselves, and
    may run after this returns. `pairs` may be changed then; the pools' tensors are kept
    until the copies are done (not with ``ticket=False``).

    Args:
        src_pool: pool to read.
        dst_pool: pool to write.
        pairs: (source block, destination block): a list of tuples, a NumPy array or a
            CPU tensor, int64 of shape (N, 2).
        stream: as in `swap_blocks_batch`; None is torch's current stream of the device
            that the pools are on.
        engine: as in `swap_blocks_batch`.
        src_access: as in `swap_blocks_batch`. Leave it "stream" for a source on a GPU
            that earlier work of the stream may still write.
        max_batch: as in `swap_blocks_batch`.
        strict: as in `swap_blocks_batch`.
        priority: as in `swap_blocks_batch`.
        policy: as in `swap_blocks_batch`.
        prefer_overlap: as in `swap_blocks_batch`.
        check: whether two pairs that write one block, and a block that one pair reads
            and another writes, are errors. Without it their outcome is undefined.
        layers: submit layer by layer, in ascending order, so that ``ticket.layer(i)``
            tells when layer i has arrived.
        ticket: whether the ticket can tell when the copies are done. Must be False on
            a stream that captures a graph.

    Raises:
        TypeError: an argument is of the wrong type, dtype or device.
        ValueError: pools that do not correspond or were invalidated; an id out of
            range; with `check`, blocks in conflict. Nothing was submitted.
        UnsupportedError: a ticket on a capturing stream; else as in
            `swap_blocks_batch`. Nothing was submitted.
        SwapError: memory that cannot be copied, no driver, or an error of the driver;
            ``index`` is the pair and ``region`` the region at fault.
    """
    _require_pool(src_pool, "src_pool")
    _require_pool(dst_pool, "dst_pool")
    if dst_pool.read_only:
        raise ValueError(f"dst_pool may only be read: {dst_pool!r}")
    in_flight.release_done()
    result, events = _core._swap_pools(
        src_pool._described,
        dst_pool._described,
        pairs,
        stream,
        engine,
        src_access,
        max_batch,
        strict,
        priority,
        policy,
        prefer_overlap,
        check,
        layers,
        ticket,
        in_flight.keep,
        (src_pool, dst_pool, src_pool._owners, dst_pool._owners),
    )
    if result.pageable:
        _warn_of_pageable()
    return make_ticket(result, events, src_pool.layers if layers else None)


def swap_out(
    src_pool: BlockPool,
    dst_pool: BlockPool,
    pairs: Pairs,
    *,
    stream: Stream | None = None,
    engine: str = "auto",
    src_access: str = "stream",
    max_batch: int | None = None,
    strict: bool = False,
    priority: str = "throughput",
    policy: Policy | None = None,
    prefer_overlap: bool = False,
    check: bool = True,
    layers: bool = False,
    ticket: bool = True,
) -> Ticket:
    """`copy_blocks` from a GPU's pool to a pool in host memory.

    The stream must wait for what writes the blocks on the GPU (docs/ordering.md).

    Raises:
        ValueError: `dst_pool` is on a GPU; else as `copy_blocks`.
    """
    _require_pool(dst_pool, "dst_pool")
    if dst_pool.device is not None:
        raise ValueError(
            f"swap_out copies to host memory, and dst_pool is on GPU "
            f"{dst_pool.device}: swap_in copies to a GPU, copy_blocks anywhere"
        )
    return copy_blocks(
        src_pool,
        dst_pool,
        pairs,
        stream=stream,
        engine=engine,
        src_access=src_access,
        max_batch=max_batch,
        strict=strict,
        priority=priority,
        policy=policy,
        prefer_overlap=prefer_overlap,
        check=check,
        layers=layers,
        ticket=ticket,
    )


def swap_in(
    src_pool: BlockPool,
    dst_pool: BlockPool,
    pairs: Pairs,
    *,
    stream: Stream | None = None,
    engine: str = "auto",
    src_access: str = "stream",
    max_batch: int | None = None,
    strict: bool = False,
    priority: str = "throughput",
    policy: Policy | None = None,
    prefer_overlap: bool = False,
    check: bool = True,
    layers: bool = False,
    ticket: bool = True,
) -> Ticket:
    """`copy_blocks` from a pool in host memory to a GPU's pool.

    Raises:
        ValueError: `src_pool` is on a GPU; else as `copy_blocks`.
    """
    _require_pool(src_pool, "src_pool")
    if src_pool.device is not None:
        raise ValueError(
            f"swap_in copies from host memory, and src_pool is on GPU "
            f"{src_pool.device}: swap_out copies from a GPU, copy_blocks from anywhere"
        )
    return copy_blocks(
        src_pool,
        dst_pool,
        pairs,
        stream=stream,
        engine=engine,
        src_access=src_access,
        max_batch=max_batch,
        strict=strict,
        priority=priority,
        policy=policy,
        prefer_overlap=prefer_overlap,
        check=check,
        layers=layers,
        ticket=ticket,
    )


def _require_pool(pool: object, name: str) -> None:
    if not isinstance(pool, BlockPool):
        raise TypeError(
            f"{name} must be a kvswap.BlockPool, not {type(pool).__name__}: make one of "
            "the cache's tensors, once"
        )


def _warn_of_pageable() -> None:
    global _warned_of_pageable
    if _warned_of_pageable:
        return
    _warned_of_pageable = True
    warnings.warn(
        "kvswap copies blocks of host memory that is not pinned: that is slow, and the "
        "calling thread may wait for it. kvswap.pinned_pool makes pinned pools. Said "
        "once; SwapResult.pageable tells it of each call",
        stacklevel=4,
    )
