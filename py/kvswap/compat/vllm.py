"""The swap functions of vLLM's ``_custom_ops``, by kvswap.

In place of ``from vllm import _custom_ops as ops``::

    from kvswap.compat import vllm as ops

Both run on torch's current stream of the device that the memory is on, and may run
after they return.
"""

from __future__ import annotations

from typing import Any

from kvswap import _core
from kvswap.memory_layout import read_array
from kvswap.pool_swaps import copy_blocks
from kvswap.pools import BlockPool

__all__ = ["swap_blocks", "swap_blocks_batch"]


def swap_blocks(
    src: Any, dst: Any, block_size_in_bytes: int, block_mapping: Any
) -> None:
    """Copies blocks of one tensor to another.

    Args:
        src: tensor whose memory is blocks of that size, one after another.
        dst: the same.
        block_size_in_bytes: bytes of a block.
        block_mapping: (block of src, block of dst): CPU tensor, int64 of shape (N, 2).

    Raises:
        As `kvswap.copy_blocks`; ids are checked against the tensors' sizes.
    """
    copy_blocks(
        _pool(src, "src", block_size_in_bytes),
        _pool(dst, "dst", block_size_in_bytes),
        block_mapping,
        check=False,
        ticket=False,
    )


def swap_blocks_batch(
    src_ptrs: Any, dst_ptrs: Any, sizes: Any, is_src_access_order_any: bool = False
) -> None:
    """Submits N copies of ``sizes[i]`` bytes from ``src_ptrs[i]`` to ``dst_ptrs[i]``.

    Args:
        src_ptrs: addresses: CPU tensor, int64 of shape (N,).
        dst_ptrs: like src_ptrs.
        sizes: like src_ptrs.
        is_src_access_order_any: whether sources may be read ahead of earlier work of
            the stream; wrong for blocks that such work may still write.

    Raises:
        As `kvswap.swap_blocks_batch`.
    """
    _core.swap_blocks_batch(
        src_ptrs,
        dst_ptrs,
        sizes,
        src_access="any" if is_src_access_order_any else "stream",
    )


def _pool(tensor: Any, name: str, block_bytes: int) -> BlockPool:
    if block_bytes < 1:
        raise ValueError(f"block_size_in_bytes must be above zero, not {block_bytes}")
    array = read_array(tensor, name)
    extent = 0
    if all(array.shape):
        extent = array.item_bytes + sum(
            (size - 1) * stride
            for size, stride in zip(array.shape, array.strides, strict=True)
        )
    return BlockPool.from_regions(
        [(array.address, block_bytes, block_bytes)],
        extent // block_bytes,
        device=array.device,
        owner=tensor,
        read_only=array.read_only,
    )
