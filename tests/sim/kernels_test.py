"""Launches of the copy kernels: their bytes, their order, and their mistakes."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from typing import Any

import pytest

import kvswap_sim
from tests.sim import kernels
from tests.sim.client import Start
from tests.sim.kernel_images import cubin

ILLEGAL_ADDRESS = 700
MISALIGNED = 716
LAUNCH_FAILED = 719
RING = (4, 4096)
RING_BYTES = 4 * 4096


class Scene:
    """A driver with the kernels loaded in the primary context of device 0."""

    def __init__(self, simulator: kvswap_sim.Simulator, driver: Any) -> None:
        self.simulator = simulator
        self.driver = driver
        self.stream = driver.stream(non_blocking=True)
        module = kernels.Module(driver)
        self.plain = module.function("kvswap_plain_sized_4k")
        self.bulk = module.function("kvswap_bulk_sized_4k")
        self.module = module
        # Host memory that has to outlive its use.
        self.kept: list[Any] = []

    def end_of(self, parameters: bytes, kind: str = "plain") -> int:
        """The code with which a launch ends."""
        function = self.plain if kind == "plain" else self.bulk
        shared = 0 if kind == "plain" else RING_BYTES
        function.launch(parameters, self.stream, shared_bytes=shared)
        return int(
            self.driver.result(
                "cuStreamSynchronize",
                ctypes.c_void_p(self.stream.handle),
            )
        )


@pytest.fixture
def scene(start: Start) -> Iterator[Scene]:
    simulator, driver = start("13.0", devices=2)
    with driver.primary_context():
        yield Scene(simulator, driver)


def random_copies(
    seed: int, source: int, destination: int, size: int, alignment: int
) -> list[kernels.Copy]:
    """Copies that do not meet, of many sizes."""
    generator = random.Random(seed)
    copies: list[kernels.Copy] = []
    offset = 0
    while len(copies) < 100:
        length = generator.choice([1, 3, 16, 100, 4096, 5000]) * alignment
        shift = generator.randrange(16) * alignment
        if offset + shift + length > size:
            break
        copies.append((source + offset + shift, destination + offset, length))
        offset += length + shift + generator.randrange(8) * alignment
    return copies


@pytest.mark.parametrize("suffix", ["4k", "32k"])
@pytest.mark.parametrize("kind", ["plain", "bulk"])
@pytest.mark.parametrize("grid", [1, 3])
def test_sized_copies(scene: Scene, kind: str, suffix: str, grid: int) -> None:
    driver = scene.driver
    size = 1 << 18
    alignment = 1 if kind == "plain" else 16
    pinned, device = driver.pinned_memory(size), driver.device_memory(size)
    content = random.Random(1).randbytes(size)
    pinned.view[:] = content
    device.write(b"\xaa" * size)
    copies = random_copies(2, pinned.address, device.address, size, alignment)
    module = kernels.Module(driver, cubin(kernels.descriptions(suffix)))
    function = module.function(f"kvswap_{kind}_sized_{suffix}")
    function.launch(
        kernels.sized_parameters(copies, suffix=suffix, ring=RING),
        scene.stream,
        grid=(grid, 1, 1),
        block=(64 if kind == "plain" else 32, 1, 1),
        shared_bytes=0 if kind == "plain" else RING_BYTES,
    )
    scene.stream.synchronize()
    expected = bytearray(b"\xaa" * size)
    for source, destination, length in copies:
        begin = source - pinned.address
        to = destination - device.address
        expected[to : to + length] = content[begin : begin + length]
    assert device.read() == bytes(expected)


@pytest.mark.parametrize("kind", ["plain", "bulk"])
def test_compact_copies(scene: Scene, kind: str) -> None:
    driver = scene.driver
    pinned, device = driver.pinned_memory(65536), driver.device_memory(65536)
    content = random.Random(1).randbytes(65536)
    pinned.view[:] = content
    offsets = [(i, 127 - i) for i in range(128)]
    scene.module.function(f"kvswap_{kind}_compact_4k").launch(
        kernels.compact_parameters(
            (pinned.address, device.address), offsets, 512, unit_shift=9, ring=RING
        ),
        scene.stream,
        grid=(2, 1, 1),
        shared_bytes=0 if kind == "plain" else RING_BYTES,
    )
    scene.stream.synchronize()
    blocks = [content[i * 512 : (i + 1) * 512] for i in range(128)]
    assert device.read() == b"".join(reversed(blocks))


# Memory that kernels touch: name, whether they may.
def reachable(scene: Scene, name: str, size: int = 4096) -> tuple[int, bool]:
    driver = scene.driver
    if name == "device":
        return driver.device_memory(size).address, True
    if name == "pinned":
        return driver.pinned_memory(size).address, True
    if name == "managed":
        return driver.managed_memory(size).address, True
    if name in {"registered", "read only", "separate"}:
        if name == "separate":
            scene.simulator.set_device_attribute(0, 91, 0)
        buffer = ctypes.create_string_buffer(size)
        scene.kept.append(buffer)
        address = ctypes.addressof(buffer)
        driver.register(address, size, read_only=name == "read only")
        return address, name == "registered"
    if name in {"mapped", "mapped elsewhere", "no access"}:
        unit = driver.mapping_granularity()
        memory = driver.virtual_memory(2 * unit)
        owner = 1 if name == "mapped elsewhere" else 0
        access = {"mapped": [0], "mapped elsewhere": [0, 1], "no access": []}[name]
        # The middle of the range is the seam of two mappings.
        for offset in (0, unit):
            memory.map(offset, unit, owner, access)
        return memory.address + unit - size // 2, name != "no access"
    if name == "reserved":
        return driver.virtual_memory(driver.mapping_granularity()).address, False
    if name == "pageable":
        buffer = ctypes.create_string_buffer(size)
        scene.kept.append(buffer)
        return ctypes.addressof(buffer), False
    if name == "past the end":
        return driver.device_memory(size).address + size // 2, False
    if name == "null":
        return 0, False
    if name == "freed":
        memory = driver.device_memory(size)
        memory.close()
        return memory.address, False
    assert name in {"peer", "peer with access"}
    peer = driver.retain_primary(1)
    with peer.current():
        address = driver.device_memory(size).address
    if name == "peer with access":
        driver.enable_peer_access(peer)
    return address, name == "peer with access"


MEMORY = [
    "device",
    "pinned",
    "managed",
    "registered",
    "read only",
    "separate",
    "mapped",
    "mapped elsewhere",
    "no access",
    "reserved",
    "pageable",
    "past the end",
    "null",
    "freed",
    "peer",
    "peer with access",
]


@pytest.mark.parametrize("name", MEMORY)
@pytest.mark.parametrize("kind", ["plain", "bulk"])
@pytest.mark.parametrize("access", ["read", "write"])
def test_what_kernels_reach(scene: Scene, name: str, kind: str, access: str) -> None:
    size = 4096
    address, allowed = reachable(scene, name, size)
    if name == "read only":
        allowed = access == "read"
    if kind == "bulk" and address % 16 != 0:
        address += 16 - address % 16
        size -= 16
    pinned = scene.driver.pinned_memory(size)
    content = random.Random(3).randbytes(size)
    if allowed and access == "read" and name != "read only":
        scene.driver.write(address, content)
    elif access == "write":
        pinned.view[:size] = content
    source, destination = address, pinned.address
    if access == "write":
        source, destination = destination, source
    parameters = kernels.sized_parameters([(source, destination, size)], ring=RING)
    assert scene.end_of(parameters, kind) == (0 if allowed else ILLEGAL_ADDRESS)
    if not allowed:
        return
    if access == "write":
        assert scene.driver.read(address, size) == content
    elif name != "read only":
        assert bytes(pinned.view[:size]) == content


def test_separate_address_of_registered_memory(scene: Scene) -> None:
    host, _ = reachable(scene, "separate")
    device = scene.driver.pointer_attributes(host)["device_pointer"]
    assert device not in (0, host)
    memory = scene.driver.device_memory(4096)
    scene.driver.write(host, b"\7" * 4096)
    parameters = kernels.sized_parameters([(device, memory.address, 4096)])
    assert scene.end_of(parameters) == 0
    assert memory.read() == b"\7" * 4096


def test_bytes_ahead_of_a_mistake_and_behind_it(scene: Scene) -> None:
    driver = scene.driver
    memory = driver.device_memory(64)
    copies = [
        (memory.address, memory.address + 32, 16),
        (memory.address, 0, 16),
        (memory.address, memory.address + 48, 16),
    ]
    scene.simulator.poke(memory.address, b"\5" * 16)
    assert scene.end_of(kernels.sized_parameters(copies)) == ILLEGAL_ADDRESS
    expected = b"\5" * 16 + bytes(16) + b"\5" * 16 + bytes(16)
    assert scene.simulator.peek(memory.address, 64) == expected


def test_mistakes_are_for_ever(scene: Scene) -> None:
    driver, result = scene.driver, scene.driver.result
    memory = driver.device_memory(4096)
    pinned = driver.pinned_memory(4096)
    event, other, blocking = driver.event(), driver.stream(), driver.stream()
    pinned.view[:] = b"\1" * 4096
    scene.simulator.hold()
    scene.plain.launch(kernels.sized_parameters([(0, memory.address, 8)]), scene.stream)
    driver.copy_async(memory.address, pinned.address, 4096, scene.stream)
    event.record(scene.stream)
    event_handle = ctypes.c_void_p(event.handle)
    assert result("cuEventSynchronize", event_handle) == ILLEGAL_ADDRESS
    # What came behind it never ran.
    scene.simulator.run()
    assert scene.simulator.peek(memory.address, 4096) == bytes(4096)
    word = ctypes.byref(ctypes.c_uint64())
    stream = ctypes.c_void_p(other.handle)
    function = scene.plain
    for answer in (
        result("cuCtxSynchronize"),
        result("cuEventQuery", event_handle),
        result("cuEventRecord", event_handle, stream),
        result("cuStreamSynchronize", stream),
        result("cuStreamQuery", stream),
        result("cuStreamQuery", None),
        result("cuStreamWaitEvent", stream, event_handle, 0),
        result("cuStreamIsCapturing", stream, word),
        result("cuStreamCreate", word, 0),
        result("cuEventCreate", word, 0),
        result("cuMemAlloc_v2", word, ctypes.c_size_t(64)),
        result("cuMemHostAlloc", word, ctypes.c_size_t(64), 0),
        result("cuModuleLoadData", word, cubin(kernels.descriptions("4k"))),
        result("cuModuleGetFunction", word, scene.module.handle, b"no kernel"),
        function.set_attribute(function.MAX_DYNAMIC_SHARED_BYTES, 0),
        function.launch_code(kernels.sized_parameters([]), other),
        result("cuMemFree_v2", ctypes.c_uint64(memory.address)),
        result("cuEventDestroy_v2", event_handle),
        result("cuStreamDestroy_v2", ctypes.c_void_p(blocking.handle)),
        result("cuModuleUnload", scene.module.handle),
    ):
        assert answer == ILLEGAL_ADDRESS
    # Other contexts go on.
    with driver.primary_context(1):
        driver.device_memory(64).write(bytes(64))


def test_a_context_begun_anew_works(scene: Scene) -> None:
    driver = scene.driver
    context = driver.create_context()
    with context.current():
        function = kernels.Module(driver).function("kvswap_plain_sized_4k")
        function.launch(kernels.sized_parameters([(0, 0, 1)]))
        assert driver.result("cuCtxSynchronize") == ILLEGAL_ADDRESS
    context.close()
    # The fixture's context is the primary one, in which nothing went wrong.
    driver.synchronize()
    assert scene.simulator.live()["modules"] == 1
    scene.plain.launch(kernels.sized_parameters([(0, 0, 1)]))
    assert driver.result("cuCtxSynchronize") == ILLEGAL_ADDRESS
    driver.call("cuDevicePrimaryCtxReset_v2", 0)
    with driver.primary_context():
        memory = driver.device_memory(64)
        function = kernels.Module(driver).function("kvswap_plain_sized_4k")
        function.launch(
            kernels.sized_parameters([(memory.address, memory.address + 32, 32)])
        )
        driver.synchronize()


@pytest.mark.parametrize(
    ("ring", "end"),
    [
        (RING, 0),
        ((1, 4096), LAUNCH_FAILED),
        ((33, 128), LAUNCH_FAILED),
        ((4, 0), LAUNCH_FAILED),
        ((3, 4096 + 16), LAUNCH_FAILED),
        # More than the launch asked for.
        ((5, 4096), LAUNCH_FAILED),
    ],
)
def test_rings(scene: Scene, ring: kernels.Ring, end: int) -> None:
    memory = scene.driver.device_memory(4096)
    copy = (memory.address, memory.address + 64, 64)
    parameters = kernels.sized_parameters([copy], ring=ring)
    assert scene.end_of(parameters, "bulk") == end


@pytest.mark.parametrize("shifts", [(8, 0, 0), (0, 8, 0), (0, 0, 8)])
def test_alignment_of_bulk_copies(scene: Scene, shifts: tuple[int, int, int]) -> None:
    memory = scene.driver.device_memory(4096)
    source, destination, size = shifts
    copy = (memory.address + source, memory.address + 64 + destination, 32 + size)
    parameters = kernels.sized_parameters([copy], ring=RING)
    assert scene.end_of(parameters, "bulk") == MISALIGNED


@pytest.mark.parametrize("kind", ["plain", "bulk"])
def test_more_items_than_fit(scene: Scene, kind: str) -> None:
    count = kernels.capacity("sized", "4k") + 1
    parameters = kernels.sized_parameters([], count=count, ring=RING)
    assert scene.end_of(parameters, kind) == LAUNCH_FAILED
