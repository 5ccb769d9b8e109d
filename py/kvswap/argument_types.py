"""Types of the arguments of kvswap's calls, for type checkers.

They name what is accepted without importing torch or NumPy. What cannot be
expressed in a type (dtype, device, shape, contiguity) is checked by the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer


class TorchTensor(Protocol):
    """What kvswap reads of a torch CPU tensor of dtype int64 or uint64."""

    def dim(self) -> int: ...

    def numel(self) -> int: ...

    def is_contiguous(self) -> bool: ...

    def data_ptr(self) -> int: ...


class NumpyArray(Protocol):
    """A NumPy array of dtype int64 or uint64.

    It is read as any other buffer; NumPy's stubs declare it one only from
    Python 3.12 on.
    """

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


class TorchStream(Protocol):
    """A ``torch.cuda.Stream``: its ``cuda_stream`` is the cudaStream_t."""

    @property
    def cuda_stream(self) -> int: ...


class CudaStream(Protocol):
    """An object of the CUDA stream protocol, version 0."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """Returns (0, the cudaStream_t as an int)."""


IntegerArray: TypeAlias = "TorchTensor | NumpyArray | Buffer"
"""A one-dimensional, contiguous array of int64 or uint64 in host memory."""

Pairs: TypeAlias = "Sequence[tuple[int, int]] | TorchTensor | NumpyArray | Buffer"
"""(source block, destination block), as a list of tuples or int64 of shape (N, 2)."""

Stream: TypeAlias = "TorchStream | CudaStream | int"
"""A stream: an object, or a CUstream or cudaStream_t as an int."""
