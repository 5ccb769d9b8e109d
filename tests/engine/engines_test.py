"""Every engine copies the same bytes: random copies against copies one by one.

Sizes, shifts, memory kinds, seams, neighbours, engines and priorities are drawn from a
seed, which a failure names. The copies run when the simulated driver's scheduler wills.
"""

from __future__ import annotations

import ctypes
import mmap
import random
from collections.abc import Iterator

import pytest

import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests.engine.calls import swap

_PAGE = mmap.PAGESIZE
_ENGINES = ("auto", "batch", "loop", "kernel", "bridge")
_AREA = 64 * _PAGE


class _Area:
    """Memory that copies are drawn from: one kind, with a model of its content."""

    def __init__(self, driver: CudaDriver, kind: str, draw: random.Random) -> None:
        self.driver = driver
        self.kind = kind
        self.content = bytearray(draw.randbytes(_AREA))
        self._owned: list[object] = []
        if kind == "device":
            memory = driver.device_memory(_AREA)
        elif kind == "managed":
            memory = driver.managed_memory(_AREA)
        elif kind == "virtual":
            granularity = driver.mapping_granularity()
            virtual = driver.virtual_memory(2 * granularity)
            for piece in (0, 1):
                virtual.map(piece * granularity, granularity, 0)
            self._owned.append(virtual)
            # The border between the mappings lies in the middle.
            self.address = virtual.address + granularity - _AREA // 2
            driver.write(self.address, bytes(self.content))
            return
        else:
            self._use_host_memory(kind)
            return
        self._owned.append(memory)
        self.address = memory.address
        driver.write(self.address, bytes(self.content))

    def _use_host_memory(self, kind: str) -> None:
        if kind == "pinned":
            pinned = self.driver.pinned_memory(_AREA)
            self._owned.append(pinned)
            self.address = pinned.address
        else:
            mapping = mmap.mmap(-1, _AREA)
            self._owned.append(mapping)
            self.address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
            if kind == "seams":
                for start, pages in ((0, 7), (7, 9), (16, 47), (63, 1)):
                    self._owned.append(
                        self.driver.register(
                            self.address + start * _PAGE, pages * _PAGE
                        )
                    )
        ctypes.memmove(self.address, bytes(self.content), _AREA)

    def read(self) -> bytes:
        """What lies there now."""
        if self.kind in ("device", "virtual", "managed"):
            return self.driver.read(self.address, _AREA)
        return ctypes.string_at(self.address, _AREA)


@pytest.fixture
def context(driver: CudaDriver) -> Iterator[CudaDriver]:
    """The driver with GPU 0's primary context current."""
    with driver.primary_context():
        yield driver


def _draw_size(draw: random.Random, room: int) -> int:
    size = draw.choice(
        (
            0,
            draw.randint(1, 40),
            draw.choice((16, 64, 128, 256)),
            draw.choice((1024, 4096)),
            draw.randint(1, 3 * _PAGE),
        )
    )
    return min(size, room)


def _draw_copies(draw: random.Random, count: int) -> list[tuple[int, int, int]]:
    """(source offset, destination offset, size), destinations apart from another.

    Destinations are laid out one after another with gaps, some without; sources lie
    anywhere, or follow the one before.
    """
    copies = []
    destination = draw.randint(0, 20)
    source = 0
    for _ in range(count):
        if destination > _AREA - 100:
            break
        if draw.random() < 0.5:
            destination += draw.choice((0, 1, 3, 8, 16, 100))
        size = _draw_size(draw, _AREA - destination)
        if draw.random() < 0.6:
            source = draw.randint(0, _AREA - size)
        source = min(source, _AREA - size)
        copies.append((source, destination, size))
        destination += size
        source += size
    draw.shuffle(copies)
    if draw.random() < 0.5:
        copies.sort()
    return copies


@pytest.mark.parametrize("stream_kind", ["created", "blocking", "null", "per_thread"])
@pytest.mark.parametrize("engine", _ENGINES)
@pytest.mark.parametrize("seed", range(12))
def test_random_copies(
    simulator: kvswap_sim.Simulator,
    context: CudaDriver,
    seed: int,
    engine: str,
    stream_kind: str,
) -> None:
    draw = random.Random(f"{seed} {engine} {stream_kind}")
    simulator.seed = seed
    created = context.stream(non_blocking=stream_kind == "created")
    stream = {"null": 0, "per_thread": 2}.get(stream_kind, created.handle)
    kinds = ("device", "managed", "virtual", "pinned", "seams", "pageable")
    source = _Area(context, draw.choice(kinds), draw)
    destination = _Area(context, draw.choice(kinds), draw)
    context.synchronize()
    copies = _draw_copies(draw, draw.choice((1, 3, 40, 300)))
    for start, to, size in copies:
        destination.content[to : to + size] = source.content[start : start + size]
    result = swap(
        [source.address + start for start, _, _ in copies],
        [destination.address + to for _, to, _ in copies],
        [size for _, _, size in copies],
        stream=stream,
        engine=engine,
        max_batch=draw.choice((None, 1, 7, 128)),
    )
    kept = [size for _, _, size in copies if size]
    assert result.submitted == len(kept)
    assert result.submitted_bytes == sum(kept)
    assert result.dropped == len(copies) - len(kept)
    assert sum(result.copies.values()) == len(kept)
    context.synchronize()
    assert source.read() == bytes(source.content), (source.kind, result)
    assert destination.read() == bytes(destination.content), (
        source.kind,
        destination.kind,
        result,
    )


@pytest.mark.parametrize("engine", ["kernel", "auto"])
@pytest.mark.parametrize("shift", range(17))
@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 33, 255, 513, 4095, 4113])
def test_every_shift(
    simulator: kvswap_sim.Simulator,
    context: CudaDriver,
    size: int,
    shift: int,
    engine: str,
) -> None:
    draw = random.Random(size * 100 + shift)
    source = _Area(context, "pinned", draw)
    destination = _Area(context, "device", draw)
    stream = context.stream(non_blocking=True)
    offsets = [
        (shift + n * 5000, n * 5000 + other) for n, other in enumerate(range(17))
    ]
    for start, to in offsets:
        destination.content[to : to + size] = source.content[start : start + size]
    result = swap(
        [source.address + start for start, _ in offsets],
        [destination.address + to for _, to in offsets],
        [size] * len(offsets),
        stream=stream,
        engine=engine,
    )
    assert result.copies["kernel"] == len(offsets)
    context.synchronize()
    assert destination.read() == bytes(destination.content)
    assert simulator.violations() == []
