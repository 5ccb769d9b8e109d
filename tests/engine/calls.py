"""Calls of kvswap from lists, for tests of the engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

import kvswap

# The driver functions that copies are submitted with.
COPY_CALLS = frozenset({"cuMemcpyAsync", "cuMemcpyBatchAsync", "cuLaunchKernel"})


def arrays(*columns: Sequence[int]) -> list[numpy.ndarray]:
    """Each column as the array that a call takes."""
    return [numpy.array(column, dtype=numpy.int64) for column in columns]


def swap(
    sources: Sequence[int],
    destinations: Sequence[int],
    sizes: Sequence[int],
    **options: Any,
) -> kvswap.SwapResult:
    """swap_blocks_batch of lists."""
    return kvswap.swap_blocks_batch(*arrays(sources, destinations, sizes), **options)


def blocks(base: int, count: int, size: int) -> list[int]:
    """Addresses of `count` blocks of `size` bytes, one after another."""
    return [base + index * size for index in range(count)]


def last_first(base: int, count: int, size: int) -> list[int]:
    """The same blocks, the last one first.

    As the one side of copies whose other side is `blocks`, so that no copy continues
    the one before on both sides: copy engines get each by itself.
    """
    return blocks(base, count, size)[::-1]
