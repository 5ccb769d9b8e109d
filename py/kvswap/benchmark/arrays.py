"""The arrays of pointers and sizes: torch's, else NumPy's, else the standard library's."""

from __future__ import annotations

import array
import platform
from typing import Any, Protocol


class ArrayLibrary(Protocol):
    """What the benchmark of the host needs of an array library."""

    @property
    def description(self) -> str:
        """Its name and version."""

    def numbers(self, blocks: int) -> Any:
        """The block numbers in order, int64 of shape (blocks,)."""

    def filled(self, blocks: int, value: int) -> Any:
        """The same value for each block, int64 of shape (blocks,)."""

    def addresses(self, base: int, table: Any, block_bytes: int) -> Any:
        """Where the blocks of a table are, in a cache that begins at `base`."""


class Torch:
    """torch."""

    def __init__(self) -> None:
        import torch

        self._torch: Any = torch
        self.description = f"torch {torch.__version__}"

    def numbers(self, blocks: int) -> Any:
        """See ArrayLibrary."""
        return self._torch.arange(blocks)

    def filled(self, blocks: int, value: int) -> Any:
        """See ArrayLibrary."""
        return self._torch.full((blocks,), value, dtype=self._torch.int64)

    def addresses(self, base: int, table: Any, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        return base + table * block_bytes


class Numpy:
    """NumPy."""

    def __init__(self) -> None:
        import numpy

        self._numpy: Any = numpy
        self.description = f"NumPy {numpy.__version__}"

    def numbers(self, blocks: int) -> Any:
        """See ArrayLibrary."""
        return self._numpy.arange(blocks, dtype=self._numpy.int64)

    def filled(self, blocks: int, value: int) -> Any:
        """See ArrayLibrary."""
        return self._numpy.full(blocks, value, dtype=self._numpy.int64)

    def addresses(self, base: int, table: Any, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        return base + table * block_bytes


class StandardLibrary:
    """Python alone."""

    def __init__(self) -> None:
        self.description = f"arrays of Python {platform.python_version()} alone"

    def numbers(self, blocks: int) -> Any:
        """See ArrayLibrary."""
        return array.array("q", range(blocks))

    def filled(self, blocks: int, value: int) -> Any:
        """See ArrayLibrary."""
        return array.array("q", [value]) * blocks

    def addresses(self, base: int, table: Any, block_bytes: int) -> Any:
        """See ArrayLibrary."""
        return array.array("q", [base + number * block_bytes for number in table])


def choose_array_library() -> ArrayLibrary:
    """torch if it is installed, else NumPy, else Python's own arrays."""
    for library in (Torch, Numpy):
        try:
            return library()
        except ImportError:
            pass
    return StandardLibrary()
