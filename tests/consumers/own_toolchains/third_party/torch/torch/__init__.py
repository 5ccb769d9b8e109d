"""What kvswap uses of torch: CPU tensors of 64-bit integers."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

int64 = object()
uint64 = object()


class Tensor:
    """A one-dimensional CPU tensor of ``int64``."""

    def __init__(self, values: Sequence[int]) -> None:
        self._values = array("q", values)
        self.dtype = int64
        self.is_cpu = True
        self.device = "cpu"

    def dim(self) -> int:
        return 1

    def numel(self) -> int:
        return len(self._values)

    def is_contiguous(self) -> bool:
        return True

    def data_ptr(self) -> int:
        return self._values.buffer_info()[0]


def tensor(values: Sequence[int]) -> Tensor:
    return Tensor(values)
