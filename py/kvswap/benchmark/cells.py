"""What is measured: the cells of a benchmark, and sizes as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kvswap.close_names import none_of

H2D = "h2d"
D2H = "d2h"
D2D = "d2d"
BOTH = "both"  # h2d and d2h at once, each on a stream of its own
DIRECTIONS = (H2D, D2H, D2D, BOTH)

# As kvswap names them.
DIRECTION_NAMES = {
    H2D: "host_to_device",
    D2H: "device_to_host",
    D2D: "device_to_device",
}

DIRECTION_TEXTS = {
    H2D: "host to device",
    D2H: "device to host",
    D2D: "device to device",
    BOTH: "both directions at once",
}

CREATED = "created"
LEGACY = "legacy"
PER_THREAD = "per_thread"
REPLAY = "replay"  # captured on a created stream; the graph's launch is measured
STREAMS = (CREATED, LEGACY, PER_THREAD, REPLAY)
# What people also call them.
STREAM_SYNONYMS = {"per-thread": PER_THREAD, "captured": REPLAY, "graph": REPLAY}

THROUGHPUT = "throughput"
COMPUTE = "compute"
PRIORITIES = (THROUGHPUT, COMPUTE)  # in the order of kvswap's numbers

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
_UNITS = {"": 1, "K": KIB, "M": MIB, "G": GIB}


@dataclass(frozen=True)
class Cell:
    """One place of the grid.

    Attributes:
        direction: one of DIRECTIONS.
        size: bytes of a block.
        count: blocks; of each direction where there are two.
        stream: one of STREAMS.
        priority: one of PRIORITIES.
    """

    direction: str
    size: int
    count: int
    stream: str = CREATED
    priority: str = THROUGHPUT

    @property
    def parts(self) -> tuple[str, ...]:
        """The directions in which blocks move."""
        return (H2D, D2H) if self.direction == BOTH else (self.direction,)

    @property
    def total_bytes(self) -> int:
        """Bytes of all blocks, both directions together."""
        return self.size * self.count * len(self.parts)

    @property
    def exists(self) -> bool:
        """Whether there is such a cell: two directions at once need two streams."""
        return self.direction != BOTH or self.stream in (CREATED, REPLAY)

    def describe(self) -> str:
        """In a few words."""
        return (
            f"{self.direction} {self.count:,} x {size_text(self.size)}, "
            f"{self.stream}, {self.priority}"
        )


def parse_size(text: str) -> int:
    """Bytes: "2K", "64KiB", "1M", "2G", "4096".

    Raises:
        ValueError: it is no size.
    """
    match = re.fullmatch(r"(\d+)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None or int(match[1]) == 0:
        raise ValueError(f"{text!r} is no size: write 4096, 2K, 64KiB, 1M or 2G")
    return int(match[1]) * _UNITS[match[2].upper()]


def size_text(size: int) -> str:
    """Bytes in the largest unit that divides them."""
    for unit, suffix in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {suffix}"
    return f"{size} B"


def parse_stream(text: str) -> str:
    """A kind of stream.

    Raises:
        ValueError: it is none.
    """
    kind = STREAM_SYNONYMS.get(text, text)
    if kind not in STREAMS:
        raise ValueError(none_of(text, STREAMS))
    return kind


def usual_count(size: int) -> int:
    """Blocks of a size in the speed table: as many, but not above 512 MiB of them."""
    for limit, count in ((32 * KIB, 8192), (128 * KIB, 4096), (512 * KIB, 1024)):
        if size <= limit:
            return count
    return max(1, 512 * MIB // size)
