"""Memory of every kind, side by side with a model of its bytes."""

from __future__ import annotations

import ctypes
import mmap
import random
from dataclasses import dataclass
from typing import Any

from kvswap.testing.cuda_driver import CudaDriver
from kvswap_sim import Simulator

_PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

# Ends that are neither of pages nor of words.
_DEVICE_BYTES = 9001
_PINNED_BYTES = 6007
# Two registrations, and the seam between them, in the middle of pageable memory.
_FIRST_REGISTERED = 1013
_SEAM = 3001
_LAST_REGISTERED = 5003
_HOST_BYTES = 3 * _PAGE
# Around the border of two mappings.
_WINDOW = 4096


@dataclass(frozen=True)
class Range:
    """Addresses that one copy may lie in.

    Attributes:
        start: the first.
        end: one past the last.
        kind: "device", "pinned", "managed" or "pageable".
        device: whose memory it is; None: the host's.
        writable: whether the driver writes to it.
        borders: inside of it, where copies of the driver are split or go across.
    """

    start: int
    end: int
    kind: str
    device: int | None = None
    writable: bool = True
    borders: tuple[int, ...] = ()


@dataclass
class Area:
    """Memory whose bytes the model follows.

    Attributes:
        name: for examples that fail.
        address: where it begins.
        size: in bytes.
        ranges: what copies may lie in, in ascending order.
        model: what it must hold.
    """

    name: str
    address: int
    size: int
    ranges: tuple[Range, ...]
    model: bytearray

    def range_at(self, address: int) -> Range | None:
        """The range that holds an address."""
        for each in self.ranges:
            if each.start <= address < each.end:
                return each
        return None


class Arena:
    """All areas.

    Attributes:
        areas: those that calls of GPU 0 use.
        other: memory of GPU 1.
        wall: an address that is no memory, behind the end of pageable memory.
    """

    def __init__(self, driver: CudaDriver, simulator: Simulator) -> None:
        self._simulator = simulator
        self._owners: list[Any] = []
        device = self._keep(driver.device_memory(_DEVICE_BYTES))
        second = self._keep(driver.device_memory(_DEVICE_BYTES))
        pinned = self._keep(driver.pinned_memory(_PINNED_BYTES))
        managed = self._keep(driver.managed_memory(_PINNED_BYTES))
        self.areas = [
            _whole("device", device.address, device.size, "device", 0),
            _whole("device_2", second.address, second.size, "device", 0),
            _whole("pinned", pinned.address, pinned.size, "pinned"),
            _whole("managed", managed.address, managed.size, "managed", 0),
            self._registered(driver),
            self._read_only(driver),
            self._pageable(),
        ]
        if driver.version() >= 12000:
            self.areas.append(self._mapped(driver))
        with driver.primary_context(1):
            far = self._keep(driver.device_memory(_DEVICE_BYTES))
        self.other = _whole("other_device", far.address, far.size, "device", 1)
        self._all = [*self.areas, self.other]
        self.wall = self.areas[6].address + self.areas[6].size

    def _keep(self, owner: Any) -> Any:
        self._owners.append(owner)
        return owner

    def _host(self, size: int) -> int:
        memory = self._keep(mmap.mmap(-1, size))
        return ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def _registered(self, driver: CudaDriver) -> Area:
        address = self._host(_HOST_BYTES)
        first, seam, last, end = (
            address + offset
            for offset in (_FIRST_REGISTERED, _SEAM, _LAST_REGISTERED, _HOST_BYTES)
        )
        self._keep(driver.register(first, seam - first))
        self._keep(driver.register(seam, last - seam))
        return _area(
            "registered",
            address,
            _HOST_BYTES,
            Range(address, first, "pageable"),
            Range(first, last, "pinned", borders=(seam,)),
            Range(last, end, "pageable"),
        )

    def _read_only(self, driver: CudaDriver) -> Area:
        address = self._host(_PAGE)
        self._keep(driver.register(address, _PAGE, read_only=True))
        memory = Range(address, address + _PAGE, "pinned", writable=False)
        return _area("read_only", address, _PAGE, memory)

    def _pageable(self) -> Area:
        """With a page behind it that cannot be touched."""
        address = self._host(4 * _PAGE)
        wall = address + 3 * _PAGE
        assert _LIBC.mprotect(wall, _PAGE, 0) == 0
        return _whole("pageable", address, 3 * _PAGE, "pageable")

    def _mapped(self, driver: CudaDriver) -> Area:
        granularity = driver.mapping_granularity()
        virtual = self._keep(driver.virtual_memory(3 * granularity))
        for piece in (0, 1):
            virtual.map(piece * granularity, granularity, 0)
        border = virtual.address + granularity
        memory = Range(
            virtual.address,
            border + granularity,
            "device",
            0,
            borders=(border,),
        )
        return _area("mapped", border - _WINDOW, 2 * _WINDOW, memory)

    def fill(self, seed: int) -> None:
        """Gives every area new bytes."""
        generator = random.Random(seed)
        for area in self._all:
            area.model[:] = generator.randbytes(area.size)
            self._write(area)

    def _write(self, area: Area) -> None:
        if area.name in ("registered", "pageable", "read_only"):
            ctypes.memmove(area.address, bytes(area.model), area.size)
        else:
            self._simulator.poke(area.address, bytes(area.model))

    def read(self, area: Area) -> bytes:
        """What an area holds."""
        if area.name in ("registered", "pageable", "read_only"):
            return ctypes.string_at(area.address, area.size)
        return self._simulator.peek(area.address, area.size)

    def differences(self) -> list[str]:
        """Where memory is not as the model."""
        found = []
        for area in self._all:
            now = self.read(area)
            if now != area.model:
                offset = next(i for i in range(area.size) if now[i] != area.model[i])
                found.append(f"{area.name} differs from byte {offset} on")
        return found

    def area_at(self, address: int) -> Area | None:
        """The area that holds an address."""
        for area in self._all:
            if area.address <= address < area.address + area.size:
                return area
        return None

    def copy(self, source: int, destination: int, size: int) -> None:
        """What memcpy does, in the model."""
        from_, to = self.area_at(source), self.area_at(destination)
        assert from_ is not None and to is not None
        start = source - from_.address
        content = from_.model[start : start + size]
        assert len(content) == size
        to.model[destination - to.address : destination - to.address + size] = content


def _area(name: str, address: int, size: int, *ranges: Range) -> Area:
    return Area(name, address, size, ranges, bytearray(size))


def _whole(
    name: str, address: int, size: int, kind: str, device: int | None = None
) -> Area:
    return _area(name, address, size, Range(address, address + size, kind, device))
