"""Blocks in simulated device memory and pinned memory, for tests of copies."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy

from kvswap.testing.cuda_driver import CudaDriver, DeviceMemory, PinnedMemory

# A byte that no source holds: what was not to be written still holds it.
UNTOUCHED = 0xEE

# Bytes of a block at most. Odd sizes and shifts follow from the seed.
_MOST_BYTES = 700


@dataclass
class Table:
    """Descriptors of one call, and what the destination must hold afterwards."""

    sources: list[int] = field(default_factory=list)
    destinations: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def arrays(self) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
        """The three arrays that a call takes."""
        return (
            numpy.array(self.sources, dtype=numpy.int64),
            numpy.array(self.destinations, dtype=numpy.int64),
            numpy.array(self.sizes, dtype=numpy.int64),
        )

    def expected(
        self, source: bytes, source_base: int, size: int, destination_base: int
    ) -> bytes:
        """A destination of `size` bytes after the copies, one byte at a time."""
        content = bytearray([UNTOUCHED]) * size
        for i in range(len(self.sizes)):
            from_offset = self.sources[i] - source_base
            to_offset = self.destinations[i] - destination_base
            for k in range(self.sizes[i]):
                content[to_offset + k] = source[from_offset + k]
        return bytes(content)


def content(size: int, seed: int) -> bytes:
    """Random bytes, none of them UNTOUCHED."""
    generator = random.Random(seed)
    return bytes(generator.randrange(UNTOUCHED) for _ in range(size))


def block_table(
    source_base: int, destination_base: int, size: int, count: int, seed: int
) -> Table:
    """`count` blocks of odd sizes (some zero) at random places of both sides.

    Destinations do not overlap, as one call requires; each lies in a slot of its
    own, shifted inside it.
    """
    generator = random.Random(seed)
    slot = size // count
    slots = list(range(count))
    generator.shuffle(slots)
    table = Table()
    for index in range(count):
        is_dropped = index % 7 == 3
        block = 0 if is_dropped else generator.randint(1, min(slot, _MOST_BYTES))
        table.sizes.append(block)
        table.sources.append(source_base + generator.randint(0, size - block))
        table.destinations.append(
            destination_base
            + slots[index] * slot
            + generator.randint(0, slot - max(block, 1))
        )
    return table


class Memory:
    """A pinned and a device buffer of the same size, and a pinned one for results."""

    def __init__(self, driver: CudaDriver, size: int, seed: int) -> None:
        self.size = size
        self.content = content(size, seed)
        self.host: PinnedMemory = driver.pinned_memory(size)
        self.device: DeviceMemory = driver.device_memory(size)
        self.returned: PinnedMemory = driver.pinned_memory(size)
        self.host.view[:] = self.content
        self.device.write(bytes([UNTOUCHED]) * size)
        self.returned.view[:] = bytes([UNTOUCHED]) * size
