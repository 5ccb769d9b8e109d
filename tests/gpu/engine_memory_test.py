"""What memory a kernel may touch, and that everything else goes by the copy engines."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from typing import Any

import pytest
from gpu_support import (
    SMALL,
    TWO_GPUS,
    Driver,
    assert_healthy,
    assert_ran,
    copies_by_engine,
    copy_blocks,
    kvswap,
    options_of,
    random_bytes,
    run_in_child,
    stream_of_kind,
    torch,
)

MIB = 1 << 20
BLOCK, COUNT = 4096, 64
SIZE = BLOCK * COUNT
OFFSETS = [block * BLOCK for block in range(COUNT)]
KERNELS = ("plain", "bulk")
_READ_ONLY = 8  # CU_MEMHOSTREGISTER_READ_ONLY


class Mapping:
    """Anonymous memory, as a uint8 tensor; registered in parts."""

    def __init__(self, size: int) -> None:
        self._mapping = mmap.mmap(-1, size)
        self.tensor = torch.frombuffer(self._mapping, dtype=torch.uint8)
        self._registered: list[int] = []

    def register(self, offset: int, size: int, flags: int = 0) -> None:
        """Registers a part; skips the test where the system refuses the flags."""
        address = self.tensor.data_ptr() + offset
        code = int(torch.cuda.cudart().cudaHostRegister(address, size, flags))
        if code != 0 and flags != 0:
            pytest.skip(f"this system has no such registration: error {code}")
        assert code == 0
        self._registered.append(address)

    def close(self) -> None:
        """Takes all registrations back."""
        torch.cuda.synchronize()
        for address in self._registered:
            torch.cuda.cudart().cudaHostUnregister(address)


@pytest.fixture
def mapping() -> Iterator[Mapping]:
    """Two MiB, not registered."""
    mapping = Mapping(2 * MIB)
    yield mapping
    mapping.close()


def there_and_back(device: Any, host: Any, **options: Any) -> list[kvswap.SwapResult]:
    """Copies random blocks to the host memory and back; both results, bytes checked."""
    content = random_bytes(SIZE)
    device.copy_(content)
    host[:SIZE].zero_()
    torch.cuda.synchronize()
    results = []
    with stream_of_kind("created") as stream:
        sizes = [BLOCK] * COUNT
        results.append(
            copy_blocks(
                device, OFFSETS, host, OFFSETS[::-1], sizes, stream=stream, **options
            )
        )
        torch.cuda.synchronize()
        device.zero_()
        torch.cuda.synchronize()
        results.append(
            copy_blocks(
                host, OFFSETS[::-1], device, OFFSETS, sizes, stream=stream, **options
            )
        )
    assert torch.equal(device.cpu(), content)
    blocks = content.view(COUNT, BLOCK)
    assert torch.equal(host[:SIZE].view(COUNT, BLOCK), blocks.flip(0))
    return results


@pytest.fixture
def device() -> Any:
    """Memory of torch's caching allocator, of a size that shares a segment."""
    return torch.zeros(SIZE, dtype=torch.uint8, device="cuda")


@pytest.mark.parametrize("way", KERNELS)
def test_pinned_by_torch(device: Any, way: str) -> None:
    host = torch.zeros(SIZE, dtype=torch.uint8).pin_memory()
    for result in there_and_back(device, host, **options_of(way)):
        assert_ran(result, way, COUNT)


@pytest.mark.parametrize("way", KERNELS)
def test_registered_mapping(device: Any, mapping: Mapping, way: str) -> None:
    mapping.register(0, 2 * MIB)
    for result in there_and_back(device, mapping.tensor, **options_of(way)):
        assert_ran(result, way, COUNT)


@pytest.mark.parametrize("way", KERNELS)
def test_registration_seam(device: Any, mapping: Mapping, way: str) -> None:
    """Each side of it is reachable, so that a block across it is too."""
    seam = 8 * 4096
    mapping.register(0, seam)
    mapping.register(seam, 2 * MIB - seam)
    content = random_bytes(SIZE)
    device.copy_(content)
    torch.cuda.synchronize()
    # The block lies half on either side.
    with stream_of_kind("created") as stream:
        result = copy_blocks(
            device,
            [0, BLOCK],
            mapping.tensor,
            [seam - BLOCK // 2, seam + BLOCK],
            [BLOCK, BLOCK],
            stream=stream,
            **{**options_of(way), "strict": False},
        )
    assert result.submitted == 2
    actual = mapping.tensor[seam - BLOCK // 2 : seam + BLOCK // 2]
    assert torch.equal(actual, content[:BLOCK])
    assert torch.equal(
        mapping.tensor[seam + BLOCK : seam + 2 * BLOCK], content[BLOCK : 2 * BLOCK]
    )
    assert_healthy()


def test_pageable_memory_goes_by_a_copy_engine(device: Any) -> None:
    host = torch.zeros(SIZE, dtype=torch.uint8)
    for result in there_and_back(device, host, engine="kernel"):
        assert "kernel" not in copies_by_engine(result)
        assert sum(result.copies.values()) == COUNT
        assert result.unavailable["kernel"] == "not_reachable"
    assert_healthy()


def test_strict_kernel_refuses_pageable_memory(device: Any) -> None:
    host = random_bytes(SIZE)
    with pytest.raises(kvswap.UnsupportedError) as raised:
        copy_blocks(
            host,
            OFFSETS,
            device,
            OFFSETS,
            [BLOCK] * COUNT,
            stream=torch.cuda.Stream(),
            engine="kernel",
            strict=True,
        )
    assert raised.value.unavailable["kernel"] == "not_reachable"
    assert raised.value.submitted == 0
    torch.cuda.synchronize()
    assert device.eq(0).all()
    assert_healthy()


@pytest.mark.parametrize("engine", ["kernel", "auto"])
def test_one_call_of_pinned_and_pageable_memory(device: Any, engine: str) -> None:
    pinned, pageable = random_bytes(SIZE, pinned=True), random_bytes(SIZE)
    half = COUNT // 2
    pointers = torch.cat(
        [
            pinned.data_ptr() + torch.tensor(OFFSETS[:half]),
            pageable.data_ptr() + torch.tensor(OFFSETS[half:]),
        ]
    )
    order = torch.randperm(COUNT)
    with stream_of_kind("created") as stream:
        result = kvswap.swap_blocks_batch(
            pointers[order],
            (device.data_ptr() + torch.tensor(OFFSETS))[order],
            torch.full((COUNT,), BLOCK),
            stream=stream,
            engine=engine,
        )
    expected = torch.cat([pinned[: half * BLOCK], pageable[half * BLOCK :]])
    assert torch.equal(device.cpu(), expected)
    assert result.copies["kernel"] == half
    assert sum(result.copies.values()) == COUNT
    assert result.pageable == half


@pytest.mark.parametrize("engine", ["kernel", "auto", "batch", "loop"])
def test_read_only_registration_as_a_source(
    device: Any, mapping: Mapping, engine: str
) -> None:
    content = random_bytes(SIZE)
    mapping.tensor[:SIZE].copy_(content)
    mapping.register(0, 2 * MIB, _READ_ONLY)
    with stream_of_kind("created") as stream:
        result = copy_blocks(
            mapping.tensor,
            OFFSETS,
            device,
            OFFSETS,
            [BLOCK] * COUNT,
            stream=stream,
            engine=engine,
        )
    assert torch.equal(device.cpu(), content)
    assert result.submitted == COUNT
    if engine == "kernel":
        assert result.copies["kernel"] == COUNT
    assert_healthy()


@pytest.mark.parametrize("stream_kind", ["created", "legacy"])
@pytest.mark.parametrize("engine", ["kernel", "auto", "batch", "loop"])
def test_read_only_registration_as_a_destination(
    device: Any, mapping: Mapping, engine: str, stream_kind: str
) -> None:
    """Refused, and no store of a kernel: that would be the end of the context."""
    mapping.register(0, 2 * MIB, _READ_ONLY)
    before = mapping.tensor.clone()
    device.fill_(7)
    torch.cuda.synchronize()
    with (
        stream_of_kind(stream_kind) as stream,
        pytest.raises(kvswap.SwapError) as raised,
    ):
        copy_blocks(
            device,
            OFFSETS,
            mapping.tensor,
            OFFSETS,
            [BLOCK] * COUNT,
            stream=stream,
            engine=engine,
        )
    assert raised.value.status in ("driver", "memory")
    assert_healthy()
    assert torch.equal(mapping.tensor, before)
    # And the engines work on.
    host = torch.zeros(SIZE, dtype=torch.uint8).pin_memory()
    there_and_back(device, host, engine=engine)


@pytest.mark.parametrize("way", KERNELS)
def test_managed_memory(device: Any, way: str) -> None:
    driver, pointer = Driver(), ctypes.c_uint64()
    driver.check(
        "cuMemAllocManaged",
        ctypes.byref(pointer),
        ctypes.c_size_t(SIZE),
        ctypes.c_uint(1),
    )
    memory = (ctypes.c_uint8 * SIZE).from_address(pointer.value or 0)
    managed = torch.frombuffer(memory, dtype=torch.uint8)
    try:
        options = {**options_of(way), "strict": False}
        for result in there_and_back(device, managed, **options):
            assert sum(result.copies.values()) == COUNT
    finally:
        torch.cuda.synchronize()
        driver.check("cuMemFree_v2", pointer)
    assert_healthy()


@pytest.mark.parametrize("engine", ["kernel", "auto", "bridge"])
def test_wild_addresses_reach_no_engine(device: Any, engine: str) -> None:
    wild = mmap.mmap(-1, MIB)
    address = torch.frombuffer(wild, dtype=torch.uint8).data_ptr()
    wild.close()
    stream = 0 if engine == "bridge" else torch.cuda.Stream()
    for source, target in ((address, device.data_ptr()), (device.data_ptr(), address)):
        with pytest.raises(kvswap.SwapError) as raised:
            kvswap.swap_blocks_batch(
                torch.tensor([source] * 8),
                torch.tensor([target] * 8),
                torch.tensor([BLOCK] * 8),
                stream=stream,
                engine=engine,
            )
        assert (raised.value.status, raised.value.submitted) == ("memory", 0)
    assert_healthy()


@TWO_GPUS
@pytest.mark.parametrize("way", ["auto", *KERNELS])
def test_second_gpu(way: str) -> None:
    """Its own kernels run there, whatever device is current."""
    host = random_bytes(SIZE, pinned=True)
    device = torch.zeros(SIZE, dtype=torch.uint8, device="cuda:1")
    stream = torch.cuda.Stream(device=1)
    torch.cuda.synchronize(1)
    result = copy_blocks(
        host,
        OFFSETS,
        device,
        OFFSETS,
        [BLOCK] * COUNT,
        stream=stream,
        **options_of(way),
    )
    stream.synchronize()
    assert (result.device, torch.cuda.current_device()) == (1, 0)
    assert_ran(result, way, COUNT)
    assert torch.equal(device.cpu(), host)


@TWO_GPUS
@pytest.mark.parametrize("engine", ["kernel", "auto"])
def test_memory_of_a_peer_is_not_touched(engine: str) -> None:
    host = random_bytes(SIZE, pinned=True)
    near = torch.zeros(SIZE, dtype=torch.uint8, device="cuda:0")
    far = torch.zeros(SIZE, dtype=torch.uint8, device="cuda:1")
    torch.cuda.synchronize(1)
    with pytest.raises(kvswap.SwapError) as raised:
        kvswap.swap_blocks_batch(
            torch.tensor([host.data_ptr(), host.data_ptr()]),
            torch.tensor([near.data_ptr(), far.data_ptr()]),
            torch.tensor([BLOCK, BLOCK]),
            stream=torch.cuda.Stream(device=0),
            engine=engine,
        )
    assert (raised.value.status, raised.value.submitted) == ("devices", 0)
    assert_healthy()


_RANGES = """
import time, torch, kvswap
piece, most = 20 << 20, {ranges}  # what one mapping of an expandable segment holds
free, _ = torch.cuda.mem_get_info()
ranges = min(most, int(free * 0.8) // piece)
device = torch.empty(ranges * piece, dtype=torch.uint8, device="cuda")
assert all(s["is_expandable"] for s in torch.cuda.memory_snapshot())
size = 4096
host = torch.randint(0, 256, (ranges * size,), dtype=torch.uint8).pin_memory()
back = torch.zeros_like(host).pin_memory()
near = torch.arange(ranges) * size
# A block in each mapping, and every other one across the border to the next.
far = torch.arange(ranges) * piece + torch.where(
    torch.arange(ranges) % 2 == 0, 4096, piece - 2048)
far[-1] = (ranges - 1) * piece + 8192
sizes = torch.full_like(near, size)
stream = torch.cuda.Stream()
for engine in ("kernel", "auto", "batch"):
    best = 1e9
    for _ in range(20):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        result = kvswap.swap_blocks_batch(
            host.data_ptr() + near, device.data_ptr() + far, sizes,
            stream=stream, engine=engine)
        best = min(best, time.perf_counter() - begin)
    back.zero_()
    torch.cuda.synchronize()
    kvswap.swap_blocks_batch(device.data_ptr() + far, back.data_ptr() + near, sizes,
                             stream=stream, engine=engine)
    torch.cuda.synchronize()
    assert torch.equal(back, host), engine
    ran = {{name: copies for name, copies in result.copies.items() if copies}}
    if engine == "kernel":
        assert ran == {{"kernel": ranges}}, result
    print(f"{{ranges}} ranges by {{engine}} ({{ran}}): call {{best * 1e3:.3f}} ms")
print("bytes equal")
"""


@pytest.mark.skipif(SMALL, reason="takes long under compute-sanitizer")
def test_expandable_segments_of_many_ranges() -> None:
    """The time of the call is told, not judged: `pytest -s` shows it."""
    configuration = "expandable_segments:True"
    output = run_in_child(
        _RANGES.format(ranges=3000),
        PYTORCH_CUDA_ALLOC_CONF=configuration,
        PYTORCH_ALLOC_CONF=configuration,
    )
    print(output)
    assert "bytes equal" in output
