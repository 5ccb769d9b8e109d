"""Random calls: copies in an arena that do not depend on each other, and faults."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import kvswap
from tests.properties.arena import Area, Arena, Range
from tests.properties.copies_model import Copy

STREAMS = ("created", "blocking", "null", "legacy", "per_thread", "capturing")
ENGINES = ("auto", "batch", "loop", "kernel", "bridge")

_PLAIN: dict[str, Any] = {
    "engine": "kernel",
    "kernel": "plain",
    "ctas": 3,
    "threads": 64,
}
_BULK: dict[str, Any] = {
    "engine": "kernel",
    "kernel": "bulk",
    "ctas": 2,
    "threads": 32,
    "stages": 2,
    "stage_bytes": 256,
}
# What calls are about: anything on one GPU; memory of GPU 1 on streams of GPU 0, with and
# without peer access; some memory that the driver refuses to write, or to touch at all.
ABOUT = ("all", "peers", "no_peers", "refused")

# Policies of calls with engine "auto"; None: the one that kvswap brings along.
_POLICIES: tuple[list[dict[str, Any]] | None, ...] = (
    None,
    [_PLAIN],
    [_BULK],
    [{"engine": "loop", "max_size": 64}, {**_PLAIN, "max_size": 900}],
    [{**_BULK, "min_count": 3}, {"engine": "batch"}],
)

_SIZES = sorted(
    {0, 1, 2, 3, 5, 7, 513}
    | {(1 << power) + off for power in range(3, 13) for off in (-1, 0, 1)}
)
_PLACES = ("any", "first", "last", "border", "next", "next")
_FAULTS = (
    "null_source",
    "null_destination",
    "negative_source",
    "negative_size",
    "wild",
    "wall_source",
    "wall_destination",
    "end_source",
    "end_destination",
    "other_device",
)


@dataclass
class Call:
    """A call, and the state that it is made in."""

    copies: list[Copy]
    stream: str
    engine: str
    src_access: str
    max_batch: int | None
    priority: str
    strict: bool
    prefer_overlap: bool
    policy: int
    seed: int
    content: int
    hold: bool
    current: int
    device: int
    has_peers: bool

    def options(self) -> dict[str, Any]:
        """The keyword arguments, without the stream."""
        rules = _POLICIES[self.policy]
        return {
            "engine": self.engine,
            "src_access": self.src_access,
            "max_batch": self.max_batch,
            "priority": self.priority,
            "strict": self.strict,
            "prefer_overlap": self.prefer_overlap,
            "policy": None
            if rules is None
            else kvswap.Policy([kvswap.PolicyRule(**rule) for rule in rules]),
        }


class _Claims:
    """Which bytes are read and written, so that no copy depends on another."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._bytes = {area.name: bytearray(area.size) for area in arena.all}

    def take(self, copy: Copy) -> bool:
        """Claims both sides; False: it would depend on another one."""
        found = []
        for address in (copy.source, copy.destination):
            area = self._arena.area_at(address)
            if area is None or address + copy.size > area.address + area.size:
                return False
            offset = address - area.address
            found.append((self._bytes[area.name], slice(offset, offset + copy.size)))
        (reads, source), (writes, destination) = found
        if 2 in reads[source] or any(writes[destination]):
            return False
        writes[destination] = b"\2" * copy.size
        if 2 in reads[source]:
            # It overlaps itself.
            writes[destination] = bytes(copy.size)
            return False
        reads[source] = b"\1" * copy.size
        return True


def _address(
    where: tuple[Area, Range], place: str, size: int, number: int, after: int
) -> int:
    """Where a side of `size` bytes lies; perhaps where it cannot."""
    area, memory = where
    first = max(area.address, memory.start)
    last = min(area.address + area.size, memory.end) - size
    if place == "next":
        return after
    if place == "first":
        return first
    if place == "last":
        return last
    if place == "border" and memory.borders:
        return memory.borders[0] - number % (size + 1)
    return first + number % max(last - first + 1, 1)


@st.composite
def _refused(draw: st.DrawFn, arena: Arena, device: int) -> tuple[Copy, int]:
    """A copy that is refused, by the driver if not by kvswap, and a position for it."""
    everything = [(area, r) for area in arena.areas_of(device) for r in area.ranges]
    usable = [each for each in everything if _is_for(each[1], 0) and each[1].writable]
    sides = [draw(st.sampled_from(usable)), draw(st.sampled_from(usable))]
    closed = [each for each in everything if not _is_for(each[1], 0)]
    is_closed = draw(st.booleans())
    if closed and is_closed:
        sides[draw(st.integers(0, 1))] = draw(st.sampled_from(closed))
    else:
        locked = [each for each in everything if not each[1].writable]
        sides[1] = draw(st.sampled_from(locked))
    size = draw(st.integers(1, 900))
    source, destination = (
        _address(side, "any", size, draw(st.integers(0, 1 << 16)), 0) for side in sides
    )
    return Copy(source, destination, size), draw(st.integers(0, 5000))


@st.composite
def calls(draw: st.DrawFn, arena: Arena, about: str = "all") -> Call:
    """Calls whose copies are independent of each other, some of them at fault.

    Args:
        draw: given by hypothesis.
        arena: the memory.
        about: one of ABOUT.
    """
    device = 0 if about == "all" else 1
    if about == "refused":
        device = draw(st.integers(0, 1))
    everything = [(area, r) for area in arena.areas_of(device) for r in area.ranges]
    sources = [(area, r) for area, r in everything if _is_for(r, 0)]
    if about in ("peers", "no_peers"):
        # Most copies have a side there.
        sources = 3 * [each for each in sources if each[1].device == 1] + sources
    destinations = [(area, r) for area, r in sources if r.writable]
    claims = _Claims(arena)
    copies: list[Copy] = []
    singles = st.tuples(
        st.sampled_from(sources),
        st.sampled_from(destinations),
        st.sampled_from(_SIZES) | st.integers(0, 2500),
        st.sampled_from(_PLACES),
        st.sampled_from(_PLACES),
        st.integers(0, 1 << 16),
        st.integers(0, 1 << 16),
    )
    source_end = destination_end = 0
    for from_, to, size, from_place, to_place, from_number, to_number in draw(
        st.lists(singles, min_size=int(about != "all"), max_size=14)
    ):
        # Neighbours are so on both sides mostly, and now and then on one.
        if "next" in (from_place, to_place) and from_number % 4:
            from_place = to_place = "next"
        if not copies:
            from_place, to_place = (
                "any" if place == "next" else place for place in (from_place, to_place)
            )
        source = _address(from_, from_place, size, from_number, source_end)
        destination = _address(to, to_place, size, to_number, destination_end)
        copy = Copy(source, destination, size)
        if size and not (_fits(arena, copy) and claims.take(copy)):
            continue
        copies.append(copy)
        source_end, destination_end = source + size, destination + size
    for from_, to, size, gap, count, seed in draw(
        st.lists(
            st.tuples(
                st.sampled_from(sources),
                st.sampled_from(destinations),
                st.integers(1, 40),
                st.integers(0, 3),
                st.sampled_from([2, 3, 127, 128, 129, 700, 4200]),
                st.integers(0, 3),
            ),
            max_size=1,
        )
    ):
        copies += _many(arena, claims, from_, to, size, gap, count, seed)
    if about == "refused":
        for copy, position in draw(
            st.lists(_refused(arena, device), min_size=1, max_size=3)
        ):
            if _fits(arena, copy, may_be_refused=True) and claims.take(copy):
                copies.insert(position % (len(copies) + 1), copy)
    for kind, position, number in draw(
        st.lists(
            st.tuples(
                st.sampled_from(_FAULTS), st.integers(0, 5000), st.integers(1, 70)
            ),
            max_size=2,
        )
        if about == "all" and draw(st.integers(0, 2)) == 0
        else st.just([])
    ):
        if copies:
            position %= len(copies)
            other = arena.device[1 - device][0].address
            copies[position] = _spoilt(arena, copies[position], kind, number, other)
    # Kernels are what such memory matters to most.
    is_for_kernels = about != "all"
    named = is_for_kernels or draw(st.booleans())
    return Call(
        copies=copies,
        stream=draw(st.sampled_from(STREAMS)),
        engine=draw(
            st.sampled_from(
                (*ENGINES, "kernel", "kernel") if is_for_kernels else ENGINES
            )
        ),
        src_access=draw(
            st.sampled_from(
                ["stream", "stream", "stream", "any"]
                + (["during_api_call"] if about == "all" else [])
            )
        ),
        max_batch=draw(st.sampled_from([None, 1, 2, 3, 7, 128, 40000])),
        priority=draw(st.sampled_from(["throughput", "compute"])),
        strict=about == "all" and draw(st.integers(0, 5)) == 5,
        prefer_overlap=draw(st.booleans()),
        policy=draw(st.integers(0, len(_POLICIES) - 1)) if named else 0,
        seed=draw(st.integers(1, 1 << 20)),
        content=draw(st.integers(0, 9)),
        hold=draw(st.booleans()),
        current=draw(st.sampled_from([0, 0, 0, 1])),
        device=device,
        has_peers=about == "peers",
    )


def _is_for(memory: Range, device: int) -> bool:
    """Whether a GPU may use memory, if not perhaps write it."""
    return memory.mapped_for is None or device in memory.mapped_for


def _fits(arena: Arena, copy: Copy, may_be_refused: bool = False) -> bool:
    """Whether both sides lie inside one range each, and are written where allowed."""
    for address, is_written in ((copy.source, False), (copy.destination, True)):
        area = arena.area_at(address)
        memory = None if area is None else area.range_at(address)
        if memory is None or address + copy.size > memory.end:
            return False
        if is_written and not memory.writable and not may_be_refused:
            return False
    return True


def _many(
    arena: Arena,
    claims: _Claims,
    from_: tuple[Area, Range],
    to: tuple[Area, Range],
    size: int,
    gap: int,
    count: int,
    seed: int,
) -> list[Copy]:
    """Small copies of one size, in order (seed 0) or not."""
    starts = [max(area.address, memory.start) for area, memory in (from_, to)]
    order = list(range(count))
    if seed:
        random.Random(seed).shuffle(order)
    found = []
    for index in order:
        offset = index * (size + gap)
        copy = Copy(starts[0] + offset, starts[1] + offset, size)
        if _fits(arena, copy) and claims.take(copy):
            found.append(copy)
    return found


def _spoilt(arena: Arena, copy: Copy, kind: str, number: int, other: int) -> Copy:
    """The copy with a fault, at the byte behind an end at least.

    Args:
        arena: the memory.
        copy: it, without a fault.
        kind: of the fault.
        number: how far.
        other: where memory of another GPU begins.
    """
    if copy.size == 0 and kind == "other_device":
        return copy
    source, destination, size = copy.source, copy.destination, max(copy.size, 1)
    end = _end_of(arena, destination if kind.endswith("destination") else source)
    if kind.startswith("end"):
        # What lies wholly behind pinned memory can be other host memory.
        size = max(size, 2)
        # One byte is the hardest to see.
        number = 1 if number % 2 else 1 + number % (size - 1)
    match kind:
        case "null_source":
            source = 0
        case "null_destination":
            destination = 0
        case "negative_source":
            source = -number
        case "negative_size":
            size = -number
        case "wild":
            source = 0x10000 + number
        case "wall_source":
            source = arena.wall - size + number
        case "wall_destination":
            destination = arena.wall - size + number
        case "end_source" if end is not None:
            source = end - size + number
        case "end_destination" if end is not None:
            destination = end - size + number
        case "other_device":
            source, size = other + number, min(size, 900)
    return Copy(source, destination, size)


def _end_of(arena: Arena, address: int) -> int | None:
    """The end of CUDA's memory at an address."""
    area = arena.area_at(address)
    memory = None if area is None else area.range_at(address)
    return None if memory is None or memory.kind == "pageable" else memory.end
