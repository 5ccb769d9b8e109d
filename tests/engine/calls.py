"""Calls of kvswap from lists, for tests of the engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

import kvswap


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
