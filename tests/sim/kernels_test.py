"""Launches of the copy kernels: their bytes, their order, and their mistakes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import kvswap_sim
from tests.sim import kernels
from tests.sim.client import Start, cuda_driver
from tests.sim.kernel_images import cubin

ILLEGAL_ADDRESS = 700
MISALIGNED = 716
LAUNCH_FAILED = 719
RING = {"stages": 4, "stage_bytes": 4096}
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

    def end_of(self, parameters: bytes, kind: str = "plain") -> int:
        """The code with which a launch ends."""
        function = self.plain if kind == "plain" else self.bulk
        shared = 0 if kind == "plain" else RING_BYTES
        function.launch(parameters, self.stream, shared_bytes=shared)
        return int(
            self.driver.result(
                "cuStreamSynchronize",
                cuda_driver.ctypes.c_void_p(self.stream.handle),
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
    copies = []
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
        kernels.sized_parameters(copies, suffix, **RING),
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
            (pinned.address, device.address), offsets, 512, unit_shift=9, **RING
        ),
        scene.stream,
        grid=(2, 1, 1),
        shared_bytes=0 if kind == "plain" else RING_BYTES,
    )
    scene.stream.synchronize()
    blocks = [content[i * 512 : (i + 1) * 512] for i in range(128)]
    assert device.read() == b"".join(reversed(blocks))
