"""Block pools: paged caches, described once and copied between by block ids."""

from __future__ import annotations

import operator
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex

from kvswap import _core, in_flight
from kvswap.memory_layout import Array, Region, read_array, regions_of, split_like

__all__ = ["BlockPool", "Region"]


def _layers_of(tensors: Any) -> Iterator[tuple[str, int, Any]]:
    """Name, layer and tensor of each tensor that was passed."""
    if isinstance(tensors, Mapping):
        items = [(f"tensors[{key!r}]", value) for key, value in tensors.items()]
    elif isinstance(tensors, list | tuple):
        items = [(f"tensors[{i}]", value) for i, value in enumerate(tensors)]
    else:
        items = [("tensors", tensors)]
    for layer, (name, value) in enumerate(items):
        if isinstance(value, list | tuple):
            for i, part in enumerate(value):
                yield f"{name}[{i}]", layer, part
        else:
            yield name, layer, value


_MOST = 2**64 - 1
_MOST_LAYERS = 2**31


def _refuse_beyond(name: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, SupportsIndex):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if not least <= operator.index(value) <= most:
        raise ValueError(f"{name} is {value}; it must be from {least} to {most}")


def _in_range(region: Region, number: int) -> Region:
    for field in ("address", "stride", "block_bytes"):
        _refuse_beyond(f"regions[{number}].{field}", getattr(region, field), 0, _MOST)
    # One below zero is the library's to refuse.
    _refuse_beyond(
        f"regions[{number}].layer", region.layer, -_MOST_LAYERS, _MOST_LAYERS - 1
    )
    return region


class BlockPool:
    """A paged cache: N blocks, each of one or more runs of bytes.

    A description of memory that stays the caller's, and is kept alive by it. Two pools
    correspond when their blocks consist of runs of the same sizes in the same order,
    or those of one pool are k times as large.

    Attributes:
        regions: the runs that a block consists of: where they begin, how far apart they
            are from block to block, their size and layer.
        block_count: how many blocks there are.
        block_bytes: bytes of a block, over all regions.
        layers: numbers of the layers, in ascending order.
        device: ordinal of the GPU; None for host memory, and where it is not known.
        read_only: whether nothing may be copied to it.
    """

    regions: tuple[Region, ...]
    block_count: int
    block_bytes: int
    layers: tuple[int, ...]
    device: int | None
    read_only: bool

    def __init__(
        self,
        tensors: Any,
        block_dim: int = 0,
        *,
        like: BlockPool | None = None,
        blocks_per_block: int = 1,
    ) -> None:
        """Describes the cache that tensors hold.

        Args:
            tensors: torch tensors (CUDA or CPU), NumPy arrays or objects with
                ``__cuda_array_interface__``. One; or a list, tuple or dict of them, one
                for each layer; in place of each, a tuple of those of the layer, as
                (K, V).
            block_dim: the dimension of all tensors that counts blocks. What a block
                holds may be several runs of memory, as the K and V halves of a tensor
                of shape (2, blocks, …) with block_dim 1.
            like: another pool. Blocks are cut as its blocks are: for a layout that
                keeps the layers of a block together, as a host tensor of shape
                (blocks, bytes) for a GPU's cache of one tensor a layer. Layers are
                then those of `like`.
            blocks_per_block: with `like`, how many of its blocks a block here holds.

        Raises:
            TypeError: a value is no tensor, or one without memory.
            ValueError: tensors of unequal numbers of blocks or on several devices;
                blocks that are not contiguous runs; blocks unlike those of `like`.
        """
        arrays: list[Array] = []
        regions: list[Region] = []
        block_count: int | None = None
        for name, layer, tensor in _layers_of(tensors):
            array = read_array(tensor, name)
            own, blocks = regions_of(array, block_dim, layer)
            if block_count is None:
                block_count = blocks
            if blocks != block_count:
                raise ValueError(
                    f"{array.describe()} has {blocks} blocks along dimension "
                    f"{block_dim}, and {arrays[0].describe()} has {block_count}"
                )
            arrays.append(array)
            regions += own
        if block_count is None:
            raise ValueError("tensors is empty: a pool has one tensor at least")
        for array in arrays[1:]:
            if array.device != arrays[0].device:
                raise ValueError(
                    f"{array.name} is {_place(array.device)}, and {arrays[0].name} "
                    f"{_place(arrays[0].device)}: a pool is in one memory"
                )
        if like is not None:
            if blocks_per_block < 1:
                raise ValueError("blocks_per_block must be 1 at least")
            regions = split_like(regions, like.regions, blocks_per_block)
        elif blocks_per_block != 1:
            raise ValueError("blocks_per_block says how many blocks of `like`: pass it")
        # A list that the caller changes later must not let go of a tensor.
        owners = [tensor for _, _, tensor in _layers_of(tensors)]
        read_only = any(array.read_only for array in arrays)
        self._set(regions, block_count, arrays[0].device, owners, read_only)

    @classmethod
    def from_regions(
        cls,
        regions: Iterable[Region | Sequence[int]],
        block_count: int,
        *,
        device: int | None = None,
        owner: object = None,
        read_only: bool = False,
    ) -> BlockPool:
        """Describes memory by addresses, which are checked when blocks are copied.

        Args:
            regions: the runs that a block consists of: `Region`s, or tuples (address,
                stride, block_bytes[, layer]).
            block_count: how many blocks there are.
            device: ordinal of the GPU, if it is one's memory.
            owner: what is to be kept alive while the pool is used.
            read_only: whether nothing may be copied to it.

        Raises:
            TypeError: a number is no int.
            ValueError: there is no region, or a number does not fit into 64 bits (that
                of a layer: 31).
        """
        pool = cls.__new__(cls)
        made = [
            _in_range(r if isinstance(r, Region) else Region(*r), number)
            for number, r in enumerate(regions)
        ]
        if not made:
            raise ValueError("a pool has one region at least")
        _refuse_beyond("block_count", block_count, 0, _MOST)
        pool._set(made, block_count, device, [owner], read_only)
        return pool

    def _set(
        self,
        regions: list[Region],
        block_count: int,
        device: int | None,
        owners: list[object],
        read_only: bool,
    ) -> None:
        self.regions = tuple(regions)
        self.block_count = block_count
        self.device = device
        self.read_only = read_only
        self.block_bytes = sum(region.block_bytes for region in regions)
        self.layers = tuple(sorted({region.layer for region in regions}))
        self._owners: list[object] = owners
        self._described = _core._Regions(
            [(r.address, r.stride, r.block_bytes, r.layer) for r in regions],
            block_count,
        )

    @property
    def valid(self) -> bool:
        """Whether it can be used: `invalidate` has not been called."""
        return not self._described.invalid

    def invalidate(self, reason: str = "its memory was unmapped or moved") -> None:
        """Ends the pool's use, before its memory is unmapped, moved or freed.

        Later calls with it raise ValueError, with the reason. Copies that are under way
        are waited for; then the pool lets go of its tensors. Copies in a captured graph
        are the caller's own to stop.
        """
        self._described.invalidate(reason or "for no reason given")
        # Calls of other threads, which may still be submitting.
        while self._described.uses:
            time.sleep(0.0001)
        in_flight.wait_for(self)
        self._owners = []

    def __len__(self) -> int:
        return self.block_count

    def __repr__(self) -> str:
        place = "" if self.valid else ", invalidated"
        if self.device is not None:
            place = f", GPU {self.device}{place}"
        return (
            f"BlockPool({self.block_count} blocks of {self.block_bytes} bytes in "
            f"{len(self.regions)} regions, {len(self.layers)} layers{place})"
        )


def _place(device: int | None) -> str:
    return "in host memory" if device is None else f"on GPU {device}"
