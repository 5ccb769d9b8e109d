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
# What a program without the driver writes, byte by byte.
_OF_HOST = ("registered", "pageable", "read_only", "locked")


@dataclass(frozen=True)
class Range:
    """Addresses that one copy may lie in.

    Attributes:
        start: the first.
        end: one past the last.
        kind: "device", "pinned", "managed" or "pageable".
        device: whose memory it is; None: the host's.
        writable: whether it may be written.
        mapped_for: the GPUs that have access to a mapping; None: it is none.
        borders: inside of it, where copies of the driver are split or go across.
    """

    start: int
    end: int
    kind: str
    device: int | None = None
    writable: bool = True
    mapped_for: tuple[int, ...] | None = None
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
        host: host and managed memory.
        device: memory of each GPU.
        wall: an address that is no memory, behind the end of pageable memory.
    """

    def __init__(self, driver: CudaDriver, simulator: Simulator) -> None:
        self._simulator = simulator
        self._owners: list[Any] = []
        device = self._keep(driver.device_memory(_DEVICE_BYTES))
        second = self._keep(driver.device_memory(_DEVICE_BYTES))
        pinned = self._keep(driver.pinned_memory(_PINNED_BYTES))
        managed = self._keep(driver.managed_memory(_PINNED_BYTES))
        pageable = self._pageable()
        self.wall = pageable.address + pageable.size
        self.host = [
            _whole("pinned", pinned.address, pinned.size, "pinned"),
            _whole("managed", managed.address, managed.size, "managed", 0),
            self._registered(driver),
            self._read_only(driver),
            pageable,
            self._locked(),
        ]
        with driver.primary_context(1):
            other = self._keep(driver.device_memory(_DEVICE_BYTES))
        self.device = [
            [
                _whole("device", device.address, device.size, "device", 0),
                _whole("device_2", second.address, second.size, "device", 0),
            ],
            [_whole("other_device", other.address, other.size, "device", 1)],
        ]
        if driver.version() >= 12000:
            self.device[0] += [
                self._mapped(driver, "mapped", 0, (0,)),
                self._mapped(driver, "mapped_to_read", 0, (0,), read_only=True),
            ]
            self.device[1] += [
                self._mapped(driver, "mapped_for_both", 1, (0, 1)),
                self._mapped(driver, "mapped_for_other", 1, (1,)),
            ]
        self._all = [*self.host, *self.device[0], *self.device[1]]

    def areas_of(self, device: int) -> list[Area]:
        """What calls whose device memory is one GPU's may use."""
        return [*self.device[device], *self.host]

    @property
    def all(self) -> list[Area]:
        """Every area."""
        return self._all

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

    def _locked(self) -> Area:
        """A page that the host itself may only read."""
        address = self._host(_PAGE)
        memory = Range(address, address + _PAGE, "pageable", writable=False)
        return _area("locked", address, _PAGE, memory)

    def _mapped(
        self,
        driver: CudaDriver,
        name: str,
        device: int,
        mapped_for: tuple[int, ...],
        *,
        read_only: bool = False,
    ) -> Area:
        granularity = driver.mapping_granularity()
        virtual = self._keep(driver.virtual_memory(3 * granularity))
        for piece in (0, 1):
            virtual.map(
                piece * granularity,
                granularity,
                device,
                mapped_for,
                read_only=read_only,
            )
        border = virtual.address + granularity
        memory = Range(
            virtual.address,
            border + granularity,
            "device",
            device,
            writable=not read_only,
            mapped_for=mapped_for,
            borders=(border,),
        )
        return _area(name, border - _WINDOW, 2 * _WINDOW, memory)

    def fill(self, seed: int) -> None:
        """Gives every area new bytes."""
        generator = random.Random(seed)
        for area in self._all:
            area.model[:] = generator.randbytes(area.size)
            self._write(area)

    def _write(self, area: Area) -> None:
        if area.name in _OF_HOST:
            if area.name == "locked":
                _protect(area, mmap.PROT_READ | mmap.PROT_WRITE)
            ctypes.memmove(area.address, bytes(area.model), area.size)
            if area.name == "locked":
                _protect(area, mmap.PROT_READ)
        else:
            self._simulator.poke(area.address, bytes(area.model))

    def read(self, area: Area) -> bytes:
        """What an area holds."""
        if area.name in _OF_HOST:
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

    def states(self, source: int, destination: int, size: int) -> tuple[bool, bool]:
        """Whether a destination is as before a copy, and whether as after it."""
        from_, to = self.area_at(source), self.area_at(destination)
        assert from_ is not None and to is not None
        part = slice(destination - to.address, destination - to.address + size)
        now = self.read(to)[part]
        start = source - from_.address
        return now == to.model[part], now == from_.model[start : start + size]

    def take_over(self, source: int, destination: int, size: int) -> None:
        """Lets the model be as a copy that was made in part left its destination."""
        from_, to = self.area_at(source), self.area_at(destination)
        assert from_ is not None and to is not None
        part = slice(destination - to.address, destination - to.address + size)
        content = from_.model[source - from_.address :][:size]
        now = self.read(to)[part]
        for byte, old, new in zip(now, to.model[part], content, strict=True):
            assert byte in (old, new)
        to.model[part] = now

    def copy(self, source: int, destination: int, size: int) -> None:
        """What memcpy does, in the model."""
        from_, to = self.area_at(source), self.area_at(destination)
        assert from_ is not None and to is not None
        start = source - from_.address
        content = from_.model[start : start + size]
        assert len(content) == size
        to.model[destination - to.address : destination - to.address + size] = content


def _protect(area: Area, protection: int) -> None:
    assert _LIBC.mprotect(area.address, area.size, protection) == 0


def _area(name: str, address: int, size: int, *ranges: Range) -> Area:
    return Area(name, address, size, ranges, bytearray(size))


def _whole(
    name: str, address: int, size: int, kind: str, device: int | None = None
) -> Area:
    return _area(name, address, size, Range(address, address + size, kind, device))
