"""What a call is to do with its copies: slow, one by one, and without a driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.properties.arena import Arena, Range

_LEGACY = ("null", "legacy")


@dataclass(frozen=True)
class Copy:
    """One descriptor."""

    source: int
    destination: int
    size: int


@dataclass(frozen=True)
class Fault:
    """Why a call is refused.

    Attributes:
        status: as SwapError has it; "argument": ValueError.
        index: of the descriptor at fault.
    """

    status: str
    index: int


@dataclass(frozen=True)
class Place:
    """Where a call's copies run.

    Attributes:
        device: the GPU of the context.
        has_peers: whether that of GPU 0 has access to the memory of GPU 1.
    """

    device: int
    has_peers: bool


class Model:
    """The rules, for a driver and its memory.

    Args:
        arena: the memory.
        version: of the driver, as 12080.
    """

    def __init__(self, arena: Arena, version: int) -> None:
        self._ranges = [r for area in arena.all for r in area.ranges]
        self._version = version

    def range_at(self, address: int) -> Range | None:
        """The range that holds an address."""
        for each in self._ranges:
            if each.start <= address < each.end:
                return each
        return None

    def fault(self, copies: Sequence[Copy]) -> Fault | None:
        """The first one, in the order in which checks are promised."""
        kept = [(i, copy) for i, copy in enumerate(copies) if copy.size != 0]
        # Negative numbers are those of the first array that has one.
        for name in ("source", "destination", "size"):
            for index, copy in kept:
                if getattr(copy, name) < 0:
                    return Fault("argument", index)
        for index, copy in kept:
            if copy.source == 0 or copy.destination == 0:
                return Fault("argument", index)
        device: int | None = None
        for index, copy in kept:
            for address in (copy.source, copy.destination):
                memory = self.range_at(address)
                if memory is None or address + copy.size > memory.end:
                    return Fault("memory", index)
                is_written = address == copy.destination
                if memory.kind == "pageable" and is_written and not memory.writable:
                    return Fault("memory", index)
                if memory.kind != "device":
                    continue
                if device is None:
                    device = memory.device
                if memory.device != device:
                    return Fault("devices", index)
        return None

    def batch_runs(self, stream: str) -> bool:
        """Whether the driver's batch call can be used on a kind of stream."""
        return self._version >= 12080 and stream not in (*_LEGACY, "capturing")

    def copy_engine(self, stream: str, engine: str) -> str:
        """The engine of copies that no kernel makes."""
        if engine == "loop":
            return "loop"
        if self.batch_runs(stream):
            return "batch"
        if self._version >= 12080 and stream in _LEGACY and engine != "batch":
            return "bridge"
        return "loop"

    def place(self, copies: Sequence[Copy], stream: str, has_peers: bool) -> Place:
        """Where copies that have no fault run."""
        if stream not in (*_LEGACY, "per_thread"):
            return Place(0, has_peers)
        for copy in copies:
            for address in (copy.source, copy.destination):
                memory = self.range_at(address)
                if memory is not None and memory.kind == "device":
                    assert memory.device is not None
                    return Place(memory.device, has_peers)
        # Host and managed memory is every GPU's.
        return Place(0, has_peers)

    def reached(self, copy: Copy, place: Place) -> bool:
        """Whether a kernel may make a copy."""
        destination = self.range_at(copy.destination)
        assert destination is not None
        return (
            self._version >= 12000
            and destination.writable
            and self._touched(copy.source, place)
            and self._touched(copy.destination, place)
        )

    def _touched(self, address: int, place: Place) -> bool:
        memory = self.range_at(address)
        assert memory is not None
        if memory.mapped_for is not None:
            return place.device in memory.mapped_for
        if memory.kind == "device" and memory.device != place.device:
            return place.has_peers
        return memory.kind != "pageable"

    def driver_refuses(self, copy: Copy, place: Place) -> bool:
        """Whether the driver alone knows that a copy cannot be."""
        for address in (copy.source, copy.destination):
            memory = self.range_at(address)
            assert memory is not None
            if address == copy.destination and not memory.writable:
                return True
            if memory.mapped_for is not None and place.device not in memory.mapped_for:
                return True
        return False

    def engines(
        self, copies: Sequence[Copy], stream: str, engine: str, place: Place
    ) -> dict[str, int]:
        """How many copies each engine makes, for an engine that is named."""
        by_kernel = 0
        if engine == "kernel":
            by_kernel = sum(self.reached(copy, place) for copy in copies)
        found = {"kernel": by_kernel}
        found[self.copy_engine(stream, engine)] = len(copies) - by_kernel
        return {name: count for name, count in found.items() if count != 0}

    def is_split(self, copy: Copy) -> bool:
        """Whether a border lies inside one side of a copy."""
        for address in (copy.source, copy.destination):
            memory = self.range_at(address)
            assert memory is not None
            for border in memory.borders:
                if address < border < address + copy.size:
                    return True
        return False

    def joined(self, copies: Sequence[Copy]) -> int:
        """Copies that continue the one before on both sides, in one range each."""
        return sum(
            self._continues(before.source, before.size, copy.source, copy.size)
            and self._continues(
                before.destination, before.size, copy.destination, copy.size
            )
            for before, copy in zip(copies, copies[1:], strict=False)
        )

    def _continues(self, before: int, length: int, start: int, size: int) -> bool:
        memory = self.range_at(start)
        if before + length != start or memory is None or memory.kind == "pageable":
            return False
        return memory.start <= before and start not in memory.borders

    def pageable(self, copies: Sequence[Copy]) -> int:
        """Copies of which a side is host memory that is not pinned."""
        count = 0
        for copy in copies:
            ranges = self.range_at(copy.source), self.range_at(copy.destination)
            count += any(r is not None and r.kind == "pageable" for r in ranges)
        return count
