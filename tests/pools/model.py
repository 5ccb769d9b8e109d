"""Pools in simulated memory, and a slow model of what copies between them do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import kvswap
from kvswap.testing.cuda_driver import CudaDriver

# What was not to be written still holds it.
UNTOUCHED = 0xEE

KINDS = ("gpu", "pinned")
LAYOUTS = ("tensors", "pages", "gaps")


@dataclass
class Memory:
    """Memory of one kind with the content that it was given."""

    kind: str
    owner: Any
    content: bytes

    @property
    def address(self) -> int:
        """Where it begins."""
        return int(self.owner.address)

    def read(self) -> bytes:
        """What it holds now."""
        if self.kind == "gpu":
            return bytes(self.owner.read())
        return bytes(self.owner.view)


def make_memory(driver: CudaDriver, kind: str, content: bytes) -> Memory:
    """New memory, "gpu" or "pinned", that holds `content`."""
    owner: Any
    if kind == "gpu":
        owner = driver.device_memory(len(content))
        owner.write(content)
    else:
        owner = driver.pinned_memory(len(content))
        owner.view[:] = content
    return Memory(kind, owner, content)


@dataclass
class ModelPool:
    """A pool, and the memory that it describes."""

    pool: kvswap.BlockPool
    memory: Memory
    offsets: list[int]  # of each region in the memory

    def span(self, region: int, block: int, part: int, parts: int) -> slice:
        """Where part `part` of `parts` of a block's region lies in the memory."""
        described = self.pool.regions[region]
        size = described.block_bytes // parts
        start = self.offsets[region] + block * described.stride + part * size
        return slice(start, start + size)


def make_pool(
    driver: CudaDriver,
    kind: str,
    layout: str,
    sizes: Sequence[int],
    layers: Sequence[int],
    blocks: int,
    generator: random.Random,
    *,
    content: bool,
) -> ModelPool:
    """A pool whose regions have blocks of `sizes`.

    Args:
        driver: the driver whose memory it is.
        kind: "gpu" or "pinned".
        layout: "tensors": each region by itself; "pages": all regions of a block
            together; "gaps": by itself, with bytes between blocks.
        sizes: bytes of a block in each region.
        layers: the layer of each region.
        blocks: how many there are.
        generator: of the content and the gaps.
        content: whether it has content, or all is UNTOUCHED.
    """
    offsets: list[int] = []
    strides: list[int] = []
    total = 0
    for size in sizes:
        stride = sum(sizes) if layout == "pages" else size
        if layout == "gaps":
            stride += generator.randrange(1, 40)
        offsets.append(total)
        strides.append(stride)
        total += size if layout == "pages" else stride * blocks
    if layout == "pages":
        total *= blocks
    filled = bytes(
        generator.randrange(UNTOUCHED) if content else UNTOUCHED for _ in range(total)
    )
    memory = make_memory(driver, kind, filled)
    pool = kvswap.BlockPool.from_regions(
        [
            (memory.address + offset, stride, size, layer)
            for offset, stride, size, layer in zip(
                offsets, strides, sizes, layers, strict=True
            )
        ],
        blocks,
        device=0 if kind == "gpu" else None,
        owner=memory,
    )
    return ModelPool(pool, memory, offsets)


def expected(
    source: ModelPool,
    destination: ModelPool,
    pairs: Sequence[tuple[int, int]],
    source_parts: int,
    destination_parts: int,
) -> bytes:
    """What the destination's memory holds after the copies."""
    content = bytearray(destination.memory.content)
    for region in range(len(source.pool.regions)):
        for source_id, destination_id in pairs:
            to = destination.span(
                region,
                destination_id // destination_parts,
                destination_id % destination_parts,
                destination_parts,
            )
            from_ = source.span(
                region,
                source_id // source_parts,
                source_id % source_parts,
                source_parts,
            )
            content[to] = source.memory.content[from_]
    return bytes(content)
