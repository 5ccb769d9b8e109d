"""Memory of every kind, and what the driver tells about it."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import pytest

from tests.sim import child
from tests.sim.client import Start, cuda_driver

MIB = 1 << 20
PAGE = 4096
MAPPING = ("mapping_size", "mapping_base")

UNKNOWN = {
    "memory_type": 0,
    "device_ordinal": -2,
    "device_pointer": 0,
    "access_flags": 0,
}


class Pages:
    """Host memory of whole pages."""

    def __init__(self, count: int) -> None:
        self._area = mmap.mmap(-1, count * PAGE)
        self._view = ctypes.c_char.from_buffer(self._area)
        self.address = ctypes.addressof(self._view)


def some(attributes: dict[str, int], like: dict[str, int]) -> dict[str, int]:
    return {name: attributes[name] for name in like}


@pytest.mark.parametrize("version", ["11.4", "12.4", "12.8", "13.0"])
def test_attributes_of_known_memory(start: Start, version: str) -> None:
    _, driver = start(version, devices=2)
    with driver.primary_context(1) as context:
        area = Pages(2)
        for memory, memory_type in (
            (driver.device_memory(1000), 2),
            (driver.managed_memory(1000), 2),
            (driver.pinned_memory(1000), 1),
            (driver.register(area.address + 100, 1000), 1),
        ):
            attributes = driver.pointer_attributes(memory.address + 5)
            assert attributes["memory_type"] == memory_type
            assert attributes["device_ordinal"] == 1
            assert attributes["device_pointer"] == memory.address + 5
            assert attributes["range_start"] == memory.address
            assert attributes["range_size"] == 1000
            assert attributes["access_flags"] == 3
            assert attributes["context"] == context.handle
            managed = isinstance(memory, cuda_driver.ManagedMemory)
            assert attributes["is_managed"] == managed


@pytest.mark.parametrize("version", ["11.4", "11.8"])
def test_mapping_attributes_are_refused_before_12_0(start: Start, version: str) -> None:
    _, driver = start(version)
    with driver.primary_context():
        memory = driver.device_memory(64)
        for name in MAPPING:
            with pytest.raises(cuda_driver.CudaError) as raised:
                driver.pointer_attributes(memory.address, ["memory_type", name])
            assert raised.value.code == 1


@pytest.mark.parametrize("version", ["12.0", "12.8", "13.0"])
def test_unknown_memory(start: Start, version: str) -> None:
    _, driver = start(version)
    with driver.primary_context():
        memory = driver.device_memory(64)
        reservation = driver.virtual_memory(4 * MIB)
        pageable = ctypes.create_string_buffer(64)
        for address in (
            ctypes.addressof(pageable),
            memory.address + MIB * 64,
            reservation.address,
        ):
            attributes = driver.pointer_attributes(address)
            assert some(attributes, UNKNOWN) == UNKNOWN
        reserved = driver.pointer_attributes(reservation.address + 5)
        assert reserved["range_size"] == 4 * MIB


def test_asking_for_one_attribute_of_unknown_memory_fails(start: Start) -> None:
    _, driver = start("13.0")
    with driver.primary_context():
        pageable = ctypes.create_string_buffer(64)
        word = ctypes.byref(ctypes.c_uint64())
        asked = ("cuPointerGetAttribute", word, ctypes.c_int(2))
        memory = driver.device_memory(64)
        address = ctypes.c_uint64(ctypes.addressof(pageable))
        assert driver.result(*asked, address) == 1
        assert driver.result(*asked, ctypes.c_uint64(memory.address)) == 0


def test_mappings(start: Start) -> None:
    _, driver = start("13.0")
    with driver.primary_context():
        memory = driver.virtual_memory(8 * MIB)
        memory.map(2 * MIB, 2 * MIB, 0)
        memory.map(4 * MIB, 2 * MIB, 0, access=[])
        names = ["range_start", "range_size", "device_pointer", "context", *MAPPING]
        inside = memory.address + 3 * MIB
        assert driver.pointer_attributes(inside, names) == {
            "range_start": memory.address,
            "range_size": 8 * MIB,
            "device_pointer": inside,
            "context": 0,
            "mapping_size": 2 * MIB,
            "mapping_base": memory.address + 2 * MIB,
        }
        without_access = driver.pointer_attributes(memory.address + 5 * MIB)
        assert without_access["device_pointer"] == 0
        assert without_access["access_flags"] == 0
        assert without_access["memory_type"] == 2
        memory.unmap(2 * MIB)
        unmapped = driver.pointer_attributes(inside)
        assert some(unmapped, UNKNOWN) == UNKNOWN
        memory.close()


def test_read_only_registration(start: Start) -> None:
    _, driver = start("13.0")
    with driver.primary_context():
        area = Pages(1)
        driver.register(area.address, PAGE, read_only=True)
        attributes = driver.pointer_attributes(area.address)
        assert attributes["device_pointer"] == area.address
        assert attributes["access_flags"] == 1


def test_without_a_current_context_there_is_no_device_pointer(
    start: Start,
) -> None:
    _, driver = start("13.0")
    with driver.retain_primary() as context:
        with context.current():
            memory = driver.device_memory(64), driver.pinned_memory(64)
        for one in memory:
            attributes = driver.pointer_attributes(one.address)
            assert attributes["device_pointer"] == 0
            assert attributes["range_size"] == 64


def test_peers(start: Start) -> None:
    _, driver = start("13.0", devices=2)
    with driver.primary_context(1) as far:
        memory = driver.device_memory(64)
        pool = ctypes.c_uint64()
        driver.call("cuMemAllocAsync", ctypes.byref(pool), ctypes.c_size_t(64), None)
        with driver.primary_context(0):
            addresses = (memory.address, pool.value)
            for address in addresses:
                attributes = driver.pointer_attributes(address)
                assert attributes["device_pointer"] == 0
                assert attributes["device_ordinal"] == 1
            driver.enable_peer_access(far)
            assert [
                driver.pointer_attributes(address)["device_pointer"]
                for address in addresses
            ] == [memory.address, 0]


def test_registrations_have_seams(start: Start) -> None:
    _, driver = start("13.0")
    with driver.primary_context():
        area = Pages(4)
        driver.register(area.address, PAGE)
        driver.register(area.address + PAGE, PAGE)
        second = driver.pointer_attributes(area.address + PAGE)
        assert second["range_start"] == area.address + PAGE
        device = driver.device_memory(2 * PAGE)
        stream = driver.stream()
        for size, code in ((PAGE, 0), (PAGE + 1, 1)):
            copy = (device.address, area.address, size)
            assert copy_code(driver, *copy, stream) == code
        # From there into pageable memory.
        copy = (device.address, area.address + PAGE, PAGE + 1)
        assert copy_code(driver, *copy, stream) == 1
        driver.synchronize()


def copy_code(driver: Any, *arguments: Any) -> int:
    try:
        driver.copy_async(*arguments)
    except cuda_driver.CudaError as error:
        return int(error.code)
    return 0


def test_separate_device_address_of_registered_memory(start: Start) -> None:
    """As on WSL 2, where a device cannot use the host's pointer."""
    simulator, driver = start("13.0")
    simulator.set_device_attribute(0, 91, 0)
    with driver.primary_context():
        area = Pages(1)
        registration = driver.register(area.address, PAGE)
        attributes = driver.pointer_attributes(area.address + 8)
        alias = attributes["device_pointer"]
        assert alias not in (0, area.address + 8)
        assert attributes["host_pointer"] == area.address + 8
        by_alias = driver.pointer_attributes(alias)
        assert by_alias["host_pointer"] == area.address + 8
        assert by_alias["device_pointer"] == alias
        device = driver.device_memory(64)
        ctypes.memset(area.address, 7, PAGE)
        stream = driver.stream()
        driver.copy_async(device.address, alias, 64, stream)
        stream.synchronize()
        assert device.read() == b"\7" * 64
        registration.close()
        unknown = driver.pointer_attributes(alias)
        assert some(unknown, UNKNOWN) == UNKNOWN


def test_host_cannot_touch_device_memory() -> None:
    result = child.run(
        """
        driver = cuda_driver.CudaDriver()
        with driver.primary_context():
            memory = driver.device_memory(64)
            ctypes.string_at(memory.address, 1)
        """
    )
    assert result.returncode == -11


def test_peek_and_poke(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        memory = driver.device_memory(64)
        simulator.poke(memory.address + 4, b"abc")
        assert simulator.peek(memory.address + 3, 5) == b"\0abc\0"
        assert memory.read(4, 3) == b"abc"
        with pytest.raises(ValueError, match="peek"):
            simulator.peek(memory.address + 60, 8)


def test_memory_runs_out(start: Start) -> None:
    _, driver = start("13.0")
    with driver.primary_context(), pytest.raises(cuda_driver.CudaError) as raised:
        driver.device_memory(1 << 50)
    assert raised.value.name == "CUDA_ERROR_OUT_OF_MEMORY"


def test_addresses_are_not_given_out_again(start: Start) -> None:
    _, driver = start("13.0")
    with driver.primary_context():
        addresses = set()
        for _ in range(20):
            with driver.device_memory(PAGE) as memory:
                addresses.add(memory.address)
        assert len(addresses) == 20


@pytest.mark.parametrize("way", ["copy", "batch", "synchronous"])
@pytest.mark.parametrize(
    ("side", "where"),
    [
        ("source", "wild"),
        ("source", "freed"),
        ("source", "reserved"),
        ("destination", "wild"),
        ("destination", "freed"),
        ("destination", "reserved"),
        ("destination", "read-only"),
    ],
)
def test_wild_addresses_end_the_process(way: str, side: str, where: str) -> None:
    result = child.run(
        f"""
        import mmap
        driver = cuda_driver.CudaDriver()
        with driver.primary_context():
            stream = driver.stream()
            good = driver.pinned_memory(64)
            if {where!r} == "wild":
                address = 0x123456789000
            elif {where!r} == "reserved":
                address = driver.virtual_memory(2 << 20).address
            elif {where!r} == "freed":
                memory = driver.device_memory(64)
                address = memory.address
                memory.close()
            else:
                libc = ctypes.CDLL(None)
                libc.mmap.restype = ctypes.c_void_p
                address = libc.mmap(None, 4096, 1, 0x22, -1, 0)
            copy = [address, good.address]
            if {side!r} == "source":
                copy.reverse()
            print("ready", flush=True)
            if {way!r} == "copy":
                driver.copy_async(*copy, 64, stream)
            elif {way!r} == "batch":
                driver.copy_batch_async(copy[:1], copy[1:], [64], stream)
            else:
                driver.call("cuMemcpy", *map(ctypes.c_uint64, (*copy, 64)))
            print("not here", flush=True)
        """
    )
    assert result.stdout == "ready\n", result.stderr
    assert result.returncode == -11
    access = "readable" if side == "source" else "writable"
    assert f"neither the driver's memory nor {access} host memory" in result.stderr
    assert len(result.stderr.splitlines()) == 1
