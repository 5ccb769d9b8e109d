"""Arrays of pointers and sizes: what is accepted, and that it is only borrowed."""

from __future__ import annotations

import array
import ctypes
import mmap
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest
import torch

import kvswap
from kvswap.testing.cuda_driver import CudaDriver
from tests.python.descriptors import BLOCK_BYTES, BLOCKS, Blocks, integers


def of_format(item_format: Any) -> Callable[[Sequence[int]], Any]:
    """Makes a writable memoryview of one of the struct module's 64-bit formats."""

    def make(values: Sequence[int]) -> memoryview:
        return memoryview(bytearray(integers(values).tobytes())).cast(item_format)

    return make


def of_ctypes(item: Any) -> Callable[[Sequence[int]], Any]:
    """Makes a ctypes array of `item`."""
    return lambda values: (item * len(values))(*values)


def of_mmap(values: Sequence[int]) -> memoryview:
    """Anonymous shared memory, as between processes."""
    content = integers(values).tobytes()
    mapping = mmap.mmap(-1, mmap.PAGESIZE)
    mapping[: len(content)] = content
    return memoryview(mapping)[: len(content)].cast("q")


def read_only(values: Sequence[int]) -> Any:
    """A NumPy array that cannot be written to."""
    frozen = numpy.array(values, numpy.int64)
    frozen.setflags(write=False)
    return frozen


def tensor(values: Sequence[int]) -> torch.Tensor:
    """A tensor of int64, also of no values."""
    return torch.tensor(values, dtype=torch.int64)


class Subclass(torch.Tensor):  # type: ignore[misc]  # torch is Any to mypy
    """A tensor of a class that is not torch's own."""


ARRAYS: dict[str, Callable[[Sequence[int]], Any]] = {
    "array q": lambda values: array.array("q", values),
    "array Q": lambda values: array.array("Q", values),
    "array l": lambda values: array.array("l", values),
    "array L": lambda values: array.array("L", values),
    **{
        f"memoryview {item_format}": of_format(item_format)
        for item_format in ("q", "Q", "l", "L", "n", "N", "P", "@q", "@L")
    },
    "memoryview of bytes": lambda values: memoryview(integers(values).tobytes()).cast(
        "q"
    ),
    "ctypes int64": of_ctypes(ctypes.c_int64),
    "ctypes uint64": of_ctypes(ctypes.c_uint64),
    "ctypes longlong": of_ctypes(ctypes.c_longlong),
    "ctypes size_t": of_ctypes(ctypes.c_size_t),
    "ctypes void_p": of_ctypes(ctypes.c_void_p),
    "mmap": of_mmap,
    "numpy int64": lambda values: numpy.array(values, numpy.int64),
    "numpy uint64": lambda values: numpy.array(values, numpy.uint64),
    "numpy intp": lambda values: numpy.array(values, numpy.intp),
    "numpy <i8": lambda values: numpy.array(values, "<i8"),
    "numpy read-only": read_only,
    "numpy slice": lambda values: numpy.array([7, *values, 7], numpy.int64)[1:-1],
    "torch int64": tensor,
    "torch uint64": lambda values: torch.tensor(values, dtype=torch.uint64),
    "torch slice": lambda values: tensor([7, *values, 7])[1:-1],
    "torch of NumPy": lambda values: torch.from_numpy(numpy.array(values, numpy.int64)),
    "torch subclass": lambda values: tensor(values).as_subclass(Subclass),
    "torch parameter": lambda values: torch.nn.Parameter(
        tensor(values), requires_grad=False
    ),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_kind_of_array(blocks: Blocks, kind: str) -> None:
    arguments = {
        name: ARRAYS[kind](list(values))
        for name, values in blocks.swap_in_arguments().items()
    }

    result = kvswap.swap_blocks_batch(**arguments, stream=2)

    assert (result.submitted, result.submitted_bytes) == (
        BLOCKS,
        BLOCKS * BLOCK_BYTES,
    )
    assert blocks.arrived()


@pytest.mark.parametrize("kind", ARRAYS)
def test_empty_array(context: None, kind: str) -> None:
    empty = ARRAYS[kind]([])
    result = kvswap.swap_blocks_batch(empty, empty, empty)
    assert (result.submitted, result.dropped) == (0, 0)


def test_kinds_can_be_mixed(blocks: Blocks) -> None:
    arguments = blocks.swap_in_arguments()
    kvswap.swap_blocks_batch(
        torch.tensor(list(arguments["src_ptrs"])),
        numpy.array(arguments["dst_ptrs"]),
        arguments["sizes"],
        stream=2,
    )
    assert blocks.arrived()


def test_one_element_has_no_stride(blocks: Blocks) -> None:
    source, destination, size = (
        numpy.array([value, 0], numpy.int64)[::2]
        for value in (blocks.host.address, blocks.gpu.address, len(blocks.content))
    )
    assert source.strides != (source.itemsize,)
    kvswap.swap_blocks_batch(source, destination, size, stream=2)
    assert blocks.arrived()


def test_arrays_can_be_reused_at_once(blocks: Blocks, driver: CudaDriver) -> None:
    """They are read before the call returns, though the copies run later."""
    arguments = blocks.swap_in_arguments()
    with driver.stream() as stream:
        kvswap.swap_blocks_batch(**arguments, stream=stream)
        for values in arguments.values():
            for index in range(BLOCKS):
                values[index] = 0
        stream.synchronize()
    assert blocks.arrived()


@pytest.mark.parametrize("fails", [False, True])
def test_buffers_are_given_back(blocks: Blocks, fails: bool) -> None:
    """A buffer that is lent cannot be resized: it can, after the call."""
    arguments = blocks.swap_in_arguments()
    if fails:
        arguments["sizes"][2] = -1
        with pytest.raises(ValueError, match=r"sizes\[2\]"):
            kvswap.swap_blocks_batch(**arguments)
    else:
        kvswap.swap_blocks_batch(**arguments, stream=2)
    for values in arguments.values():
        values.append(0)


def test_buffers_of_a_wrong_kind_are_given_back(blocks: Blocks) -> None:
    arguments = blocks.swap_in_arguments()
    wrong = array.array("d", [1.0] * BLOCKS)
    with pytest.raises(TypeError, match="sizes"):
        kvswap.swap_blocks_batch(**(arguments | {"sizes": wrong}))
    wrong.append(1.0)
    for values in arguments.values():
        values.append(0)


def test_arrays_are_not_written_to(blocks: Blocks) -> None:
    arguments = blocks.swap_in_arguments()
    before = {name: values.tobytes() for name, values in arguments.items()}
    kvswap.swap_blocks_batch(**arguments, stream=2)
    kvswap.plan(**arguments, stream=2)
    assert {name: values.tobytes() for name, values in arguments.items()} == before


def test_large_unsigned_numbers_are_not_taken_for_negative(blocks: Blocks) -> None:
    """They are wrong all the same, and the library says so."""
    sizes = numpy.full(BLOCKS, 2**64 - 1, numpy.uint64)
    arguments = blocks.swap_in_arguments() | {"sizes": sizes}
    with pytest.raises(ValueError, match="18446744073709551615"):
        kvswap.swap_blocks_batch(**arguments, stream=2)
