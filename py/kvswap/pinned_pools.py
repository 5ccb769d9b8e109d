"""Pools in pinned host memory."""

from __future__ import annotations

import importlib
import logging
import mmap
from typing import Any

from kvswap import _core
from kvswap.memory_layout import Region
from kvswap.pools import BlockPool

_logger = logging.getLogger("kvswap")


def _choose_node(
    address: int, size: int, wanted: int | None, device: int | None
) -> None:
    # Not with kvswap itself: it needs ctypes.
    from kvswap import numa

    node = wanted if wanted is not None else numa.node_of_gpu(device)
    if node is None:
        return
    try:
        numa.prefer_node(address, size, node)
    except OSError as error:
        if wanted is not None:
            raise
        _logger.warning(
            "kvswap: pinned memory is not placed on NUMA node %d, beside GPU %s: %s. "
            "Copies may be slower; `numactl --preferred=%d` places all memory there",
            node,
            device,
            error,
            node,
        )


def pinned_pool(
    like: BlockPool,
    block_count: int,
    *,
    blocks_per_block: int = 1,
    buffer: Any = None,
    allocator: str = "kvswap",
    device: int | None = None,
    max_chunk_bytes: int | None = None,
    numa_node: int | None = None,
) -> BlockPool:
    """A pool in pinned host memory whose blocks correspond to those of another.

    All parts of a block lie together, layer by layer, and blocks one after another, so
    that a block is one piece of memory (or of a file).

    The memory is let go of with the pool and all copies that use it.

    Args:
        like: a pool, as that of the GPU's cache.
        block_count: how many blocks.
        blocks_per_block: how many blocks of `like` one block holds.
        buffer: memory to use in place of new one: any buffer, as a memory map of a
            file. It is registered with the driver, and must stay as it is until the
            pool is gone. One that may only be read makes a pool to copy from.
        allocator: "kvswap": new memory is mapped from the system and registered. Or
            "torch": taken from torch's pinned allocator, which rounds its size up to a
            power of two.
        device: ordinal of the GPU whose context registers the memory; None is that of
            `like`, else the current context. Every GPU can use it.
        max_chunk_bytes: memory is registered in chunks of that many bytes at most, which
            end where blocks end; None is 64 GiB.
        numa_node: where new memory of the allocator "kvswap" is to lie, while the node
            has memory left. None: beside the GPU `device`, where torch and the system
            tell its node and let it be chosen, else as the process has it.

    Raises:
        TypeError: `buffer` is no buffer.
        ValueError: `buffer` is too small; an argument has a wrong value.
        OSError: the system does not let `numa_node` be chosen.
        SwapError: the driver refuses to register the memory. All that had been
            registered of it is taken back.
    """
    if block_count < 1 or blocks_per_block < 1:
        raise ValueError(
            "block_count and blocks_per_block must be 1 at least, not "
            f"{block_count} and {blocks_per_block}"
        )
    if max_chunk_bytes is not None and max_chunk_bytes < 1:
        raise ValueError(f"max_chunk_bytes must be above zero, not {max_chunk_bytes}")
    if allocator not in ("kvswap", "torch"):
        from kvswap.close_names import did_you_mean

        raise ValueError(
            f"allocator must be 'kvswap' or 'torch', not {allocator!r}"
            f"{did_you_mean(str(allocator), ('kvswap', 'torch'))}"
        )
    if numa_node is not None and (buffer is not None or allocator == "torch"):
        raise ValueError(
            "numa_node is for new memory of the allocator 'kvswap': memory of a buffer "
            "or of torch is where it is"
        )
    if numa_node is not None and numa_node < 0:
        raise ValueError(f"numa_node must not be negative, not {numa_node}")
    block_bytes = like.block_bytes * blocks_per_block
    size = block_bytes * block_count
    read_only = False
    owner: Any
    if buffer is None and allocator == "torch":
        torch = importlib.import_module("torch")
        owner = torch.empty(size, dtype=torch.uint8, pin_memory=True)
        address = owner.data_ptr()
    else:
        if device is None:
            device = like.device
        view = memoryview(mmap.mmap(-1, size) if buffer is None else buffer)
        address, available, read_only = _core._locate_buffer(view)
        if buffer is None:
            _choose_node(address, size, numa_node, device)
        if available < size:
            raise ValueError(
                f"buffer has {available} bytes, and {block_count} blocks of "
                f"{block_bytes} bytes need {size}"
            )
        owner = _core._Registration(
            address,
            size,
            -1 if device is None else device,
            block_bytes,
            max_chunk_bytes or 0,
            read_only,
            view,
        )
    regions = []
    offset = 0
    for region in like.regions:
        part = region.block_bytes * blocks_per_block
        regions.append(Region(address + offset, block_bytes, part, region.layer))
        offset += part
    return BlockPool.from_regions(
        regions, block_count, owner=owner, read_only=read_only
    )
