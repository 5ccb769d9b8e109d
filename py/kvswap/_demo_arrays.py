"""The array library of the demo: torch, or NumPy where torch is missing.

Both do the same few things here; arrays of the one are never mixed with the other's.
"""

from __future__ import annotations

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

    def of_memory(self, memory: memoryview, block_bytes: int) -> Any:
        """uint8 over a buffer, without a copy, of shape (-1, block_bytes)."""

    def empty_blocks(self, blocks: int, block_bytes: int) -> Any:
        """Uninitialised uint8 in host memory, of shape (blocks, block_bytes)."""

    def address(self, array: Any) -> int:
        """Where an array in host memory begins."""

    def first_difference(self, actual: Any, expected: Any) -> tuple[int, int] | None:
        """Block and byte of the first difference of two arrays of blocks, or None."""


class Torch:
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


class Numpy:
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


def choose_array_library(seed: int) -> Torch | Numpy:
    """torch if it is installed, else NumPy.

    Raises:
        ImportError: neither is installed.
    """
    try:
        return Torch(seed)
    except ImportError:
        pass
    try:
        return Numpy(seed)
    except ImportError:
        raise ImportError("the demo needs torch or NumPy") from None
