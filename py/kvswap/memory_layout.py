"""How the blocks of a tensor lie in memory: the regions of a pool.

A region is a part of every block: block ``i`` has ``block_bytes`` bytes at
``address + i * stride``. A tensor whose blocks are one run of bytes is one region, one
whose blocks are several runs (K and V halves, heads apart from each other) is one
region for each.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

# More runs in one block of one tensor are taken for a wrong block dimension.
_MOST_RUNS = 1024


@dataclass(frozen=True, slots=True)
class Region:
    """A part of every block of a pool.

    Attributes:
        address: of the part of block 0.
        stride: bytes from a block's part to the next block's.
        block_bytes: bytes of the part.
        layer: the layer that it belongs to.
    """

    address: int
    stride: int
    block_bytes: int
    layer: int = 0


@dataclass(frozen=True, slots=True)
class Array:
    """A tensor or array, as far as its memory goes; strides are in bytes."""

    name: str
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    item_bytes: int
    device: int | None  # None: host memory
    read_only: bool

    def describe(self) -> str:
        """Its name, shape and strides, for messages."""
        return f"{self.name} (shape {self.shape}, strides in bytes {self.strides})"


def _packed_strides(shape: Sequence[int], item_bytes: int) -> tuple[int, ...]:
    strides = []
    stride = item_bytes
    for size in reversed(shape):
        strides.append(stride)
        stride *= size
    return tuple(reversed(strides))


def _from_torch(tensor: Any, name: str) -> Array:
    kind = tensor.device.type
    if kind not in ("cpu", "cuda"):
        raise TypeError(
            f"{name} is a tensor on device {tensor.device}; pools are of CUDA or CPU "
            "tensors"
        )
    try:
        address = tensor.data_ptr()
        strides = tensor.stride()
    except (RuntimeError, NotImplementedError) as error:
        raise TypeError(
            f"{name} is a tensor without memory of its own ({type(tensor).__name__}, "
            f"layout {tensor.layout})"
        ) from error
    if address == 0 and tensor.numel() != 0:
        raise TypeError(
            f"{name} is a tensor without memory ({type(tensor).__name__}), as one of "
            "torch's fake tensors"
        )
    item_bytes = tensor.element_size()
    return Array(
        name=name,
        address=address,
        shape=tuple(tensor.shape),
        strides=tuple(stride * item_bytes for stride in strides),
        item_bytes=item_bytes,
        device=tensor.device.index if kind == "cuda" else None,
        read_only=False,
    )


def _item_bytes(type_string: str, name: str) -> int:
    """Bytes of an item, of a type string of the array interface, as "<f4"."""
    match = re.fullmatch(r"[<>|=](?P<kind>[a-zA-Z])(?P<size>\d+)(\[.*\])?", type_string)
    if match is None or match["kind"] in "Ot":
        raise TypeError(
            f"{name} has items of type {type_string!r}; pools are of numbers, or of other "
            "items of whole bytes without references"
        )
    # Of texts the interface counts characters, which are UCS4.
    return int(match["size"]) * (4 if match["kind"] == "U" else 1)


def _from_interface(interface: dict[str, Any], name: str, device: int | None) -> Array:
    address, read_only = interface["data"]
    shape = tuple(interface["shape"])
    item_bytes = _item_bytes(interface["typestr"], name)
    return Array(
        name=name,
        address=address,
        shape=shape,
        strides=interface.get("strides") or _packed_strides(shape, item_bytes),
        item_bytes=item_bytes,
        device=device,
        read_only=read_only,
    )


def read_array(value: Any, name: str) -> Array:
    """The memory of a torch tensor (CUDA or CPU), a NumPy or a CUDA array.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(value, type):
        raise TypeError(f"{name} is the class {value.__qualname__}, not a tensor")
    if all(hasattr(value, member) for member in ("data_ptr", "stride", "element_size")):
        return _from_torch(value, name)
    if (interface := getattr(value, "__array_interface__", None)) is not None:
        return _from_interface(interface, name, device=None)
    if (interface := getattr(value, "__cuda_array_interface__", None)) is not None:
        device = getattr(value, "device", None)
        ordinal = getattr(device, "id", None)  # as CuPy has it
        return _from_interface(interface, name, 0 if ordinal is None else int(ordinal))
    raise TypeError(
        f"{name} must be a torch tensor, a NumPy array or an object with "
        f"__cuda_array_interface__, not {type(value).__name__}"
    )


def _refuse_overlap(array: Array, dimensions: Sequence[tuple[int, int]]) -> None:
    """`dimensions` are (stride, size), by ascending stride."""
    extent = array.item_bytes
    for stride, size in dimensions:
        if stride < extent:
            raise ValueError(
                f"blocks of {array.describe()} overlap: elements share memory, as in "
                "an expanded tensor"
            )
        extent = stride * (size - 1) + extent


def regions_of(array: Array, block_dim: int, layer: int) -> tuple[list[Region], int]:
    """The regions that the blocks of an array consist of, and how many blocks it has.

    Regions come in the order of the array's dimensions.

    Raises:
        ValueError: its blocks are not contiguous runs.
    """
    dimensions = len(array.shape)
    if not -dimensions <= block_dim < dimensions:
        raise ValueError(
            f"{array.describe()} has no dimension {block_dim}, the block_dim"
        )
    block_dim %= dimensions
    blocks = array.shape[block_dim]
    inner = [i for i in range(dimensions) if i != block_dim and array.shape[i] != 1]
    if math.prod(array.shape[i] for i in inner) == 0:
        raise ValueError(f"blocks of {array.describe()} have no elements")
    if any(stride < 0 for stride in array.strides):
        raise ValueError(f"{array.describe()} has a negative stride")
    ascending = sorted(
        (array.strides[i], array.shape[i]) for i in inner + [block_dim] if blocks > 0
    )
    _refuse_overlap(array, [(stride, size) for stride, size in ascending if size != 1])

    run = array.item_bytes
    outer: list[int] = []
    for i in sorted(inner, key=lambda i: array.strides[i]):
        if not outer and array.strides[i] == run:
            run *= array.shape[i]
        else:
            outer.append(i)
    runs = math.prod(array.shape[i] for i in outer)
    if outer and run == array.item_bytes or runs > _MOST_RUNS:
        raise ValueError(
            f"blocks of {array.describe()} along dimension {block_dim} are not "
            f"contiguous: each would be {runs} runs of {run} bytes. Is block_dim the "
            "dimension of blocks? Pass the tensor as it is stored, or a contiguous copy"
        )
    stride = array.strides[block_dim] if blocks > 1 else run
    offsets = itertools.product(
        *(
            [index * array.strides[i] for index in range(array.shape[i])]
            for i in sorted(outer)
        )
    )
    regions = [
        Region(array.address + sum(offset), stride, run, layer) for offset in offsets
    ]
    return regions, blocks


def split_like(
    regions: Sequence[Region], like: Sequence[Region], blocks_per_block: int
) -> list[Region]:
    """Cuts regions so that they correspond to another pool's.

    Together they hold, one after another, all parts of a block of the other pool (of
    `blocks_per_block` blocks, for each part in turn).

    Raises:
        ValueError: they do not.
    """
    wanted = iter(like)
    made: list[Region] = []
    for region in regions:
        offset = 0
        while offset < region.block_bytes:
            other = next(wanted, None)
            size = other.block_bytes * blocks_per_block if other is not None else 0
            if other is None or offset + size > region.block_bytes:
                raise _not_alike(regions, like, blocks_per_block)
            made.append(
                Region(region.address + offset, region.stride, size, other.layer)
            )
            offset += size
    if next(wanted, None) is not None:
        raise _not_alike(regions, like, blocks_per_block)
    return made


def _not_alike(
    regions: Sequence[Region], like: Sequence[Region], blocks_per_block: int
) -> ValueError:
    def sizes(parts: Iterator[int]) -> str:
        first = list(itertools.islice(parts, 5))
        return ", ".join(map(str, first[:4])) + (", …" if len(first) > 4 else "")

    return ValueError(
        f"blocks do not correspond: a block is here {len(regions)} runs of "
        f"{sizes(r.block_bytes for r in regions)} bytes, and must hold one after "
        f"another {blocks_per_block} blocks of `like`, which are {len(like)} runs of "
        f"{sizes(r.block_bytes for r in like)} bytes"
    )
