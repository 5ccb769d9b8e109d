"""The arrays of the demo: torch's, else NumPy's, else the standard library's.

All do the same few things here; arrays of the one are never mixed with another's.
"""

from __future__ import annotations

import array
import ctypes
import platform
import random
from typing import Any, Protocol


class ArrayLibrary(Protocol):
    """What the demo needs of an array library."""

    @property
    def description(self) -> str:
        """Its name and version."""

    def random_blocks(self, blocks: int, block_bytes: int) -> Any:
        """Random uint8 in host memory, of shape (blocks, block_bytes)."""

    def random_table(self, blocks: int) -> Any:
        """A random order of the block numbers, int64 of shape (blocks,)."""

    def numbers(self, blocks: int) -> Any:
        """The block numbers in order, int64 of shape (blocks,)."""

    def filled(self, blocks: int, value: int) -> Any:
        """The same value for each block, int64 of shape (blocks,)."""

    def addresses(self, base: int, table: Any, block_bytes: int) -> Any:
        """Where the blocks of a table are, in a cache that begins at `base`."""

    def pick(self, blocks: Any, table: Any) -> Any:
        """A copy of the blocks, in the order of the table."""

    def byte(self, blocks: Any, block: int, byte: int) -> int:
        """One byte of an array of blocks."""

    def of_memory(self, memory: memoryview, block_bytes: int) -> Any:
        """uint8 over a buffer, without a copy, of shape (-1, block_bytes)."""

    def empty_blocks(self, blocks: int, block_bytes: int) -> Any:
        """Uninitialised uint8 in host memory, of shape (blocks, block_bytes)."""

    def address(self, array: Any) -> int:
        """Where an array in host memory begins."""

    def first_difference(self, actual: Any, expected: Any) -> tuple[int, int] | None:
        """Block and byte of the first difference of two arrays of blocks, or None."""


class _Indexed:
    """What arrays that compute and index as NumPy's have in common."""

    def addresses(self, base: int, table: Any, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        return base + table * block_bytes

    def pick(self, blocks: Any, table: Any) -> Any:
        """See ArrayLibrary."""
        return blocks[table]

    def byte(self, blocks: Any, block: int, byte: int) -> int:
        """See ArrayLibrary."""
        return int(blocks[block, byte])


class Torch(_Indexed):
    """torch; its tensors may also be on a GPU."""

    def __init__(self, seed: int) -> None:
        import torch

        self._torch: Any = torch
        self._generator = torch.Generator().manual_seed(seed)
        self.description = f"torch {torch.__version__}"

    def random_blocks(self, blocks: int, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        return self._torch.randint(
            0,
            256,
            (blocks, block_bytes),
            dtype=self._torch.uint8,
            generator=self._generator,
        )

    def random_table(self, blocks: int) -> Any:
        """See ArrayLibrary."""
        return self._torch.randperm(blocks, generator=self._generator)

    def numbers(self, blocks: int) -> Any:
        """See ArrayLibrary."""
        return self._torch.arange(blocks)

    def filled(self, blocks: int, value: int) -> Any:
        """See ArrayLibrary."""
        return self._torch.full((blocks,), value, dtype=self._torch.int64)

    def empty_blocks(self, blocks: int, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        return self._torch.empty((blocks, block_bytes), dtype=self._torch.uint8)

    def address(self, array: Any) -> int:
        """See ArrayLibrary."""
        return int(array.data_ptr())

    def of_memory(self, memory: memoryview, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        flat = self._torch.frombuffer(memory, dtype=self._torch.uint8)
        return flat.view(-1, block_bytes)

    def first_difference(self, actual: Any, expected: Any) -> tuple[int, int] | None:
        """See ArrayLibrary."""
        if self._torch.equal(actual, expected):
            return None
        block, byte = (actual != expected).nonzero()[0].tolist()
        return block, byte


class Numpy(_Indexed):
    """NumPy."""

    def __init__(self, seed: int) -> None:
        import numpy

        self._numpy: Any = numpy
        self._generator = numpy.random.default_rng(seed)
        self.description = f"NumPy {numpy.__version__}"

    def random_blocks(self, blocks: int, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        return self._generator.integers(
            0, 256, (blocks, block_bytes), dtype=self._numpy.uint8
        )

    def random_table(self, blocks: int) -> Any:
        """See ArrayLibrary."""
        return self._generator.permutation(blocks).astype(self._numpy.int64)

    def numbers(self, blocks: int) -> Any:
        """See ArrayLibrary."""
        return self._numpy.arange(blocks, dtype=self._numpy.int64)

    def filled(self, blocks: int, value: int) -> Any:
        """See ArrayLibrary."""
        return self._numpy.full(blocks, value, dtype=self._numpy.int64)

    def empty_blocks(self, blocks: int, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        return self._numpy.empty((blocks, block_bytes), dtype=self._numpy.uint8)

    def address(self, array: Any) -> int:
        """See ArrayLibrary."""
        return int(array.ctypes.data)

    def of_memory(self, memory: memoryview, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        flat = self._numpy.frombuffer(memory, dtype=self._numpy.uint8)
        return flat.reshape(-1, block_bytes)

    def first_difference(self, actual: Any, expected: Any) -> tuple[int, int] | None:
        """See ArrayLibrary."""
        if self._numpy.array_equal(actual, expected):
            return None
        block, byte = self._numpy.argwhere(actual != expected)[0].tolist()
        return block, byte


class StandardLibrary:
    """Python alone: arrays of blocks are two-dimensional memoryviews."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.description = f"arrays of Python {platform.python_version()} alone"

    def random_blocks(self, blocks: int, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        content = bytearray(self._random.randbytes(blocks * block_bytes))
        return self.of_memory(memoryview(content), block_bytes)

    def random_table(self, blocks: int) -> Any:
        """See ArrayLibrary."""
        return array.array("q", self._random.sample(range(blocks), blocks))

    def numbers(self, blocks: int) -> Any:
        """See ArrayLibrary."""
        return array.array("q", range(blocks))

    def filled(self, blocks: int, value: int) -> Any:
        """See ArrayLibrary."""
        return array.array("q", [value]) * blocks

    def empty_blocks(self, blocks: int, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        return self.of_memory(memoryview(bytearray(blocks * block_bytes)), block_bytes)

    def address(self, array: Any) -> int:
        """See ArrayLibrary."""
        return ctypes.addressof(ctypes.c_char.from_buffer(array.cast("B")))

    def addresses(self, base: int, table: Any, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        return array.array("q", [base + number * block_bytes for number in table])

    def pick(self, blocks: Any, table: Any) -> Any:
        """See ArrayLibrary."""
        flat, block_bytes = blocks.cast("B"), blocks.shape[1]
        picked = bytearray().join(
            flat[number * block_bytes : (number + 1) * block_bytes] for number in table
        )
        return self.of_memory(memoryview(picked), block_bytes)

    def byte(self, blocks: Any, block: int, byte: int) -> int:
        """See ArrayLibrary."""
        return int(blocks[block, byte])

    def of_memory(self, memory: memoryview, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        shape = (memory.nbytes // block_bytes, block_bytes)
        return memory.cast("B").cast("B", shape)

    def first_difference(self, actual: Any, expected: Any) -> tuple[int, int] | None:
        """See ArrayLibrary."""
        flat_actual, flat_expected = actual.cast("B"), expected.cast("B")
        if flat_actual == flat_expected:
            return None
        pairs = zip(flat_actual, flat_expected, strict=True)
        position = next(i for i, (one, other) in enumerate(pairs) if one != other)
        block, byte = divmod(position, actual.shape[1])
        return block, byte


def choose_array_library(seed: int) -> ArrayLibrary:
    """torch if it is installed, else NumPy, else Python's own arrays."""
    for library in (Torch, Numpy):
        try:
            return library(seed)
        except ImportError:
            pass
    return StandardLibrary(seed)
