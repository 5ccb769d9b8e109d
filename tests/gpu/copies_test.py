"""Bytes that arrive: directions, streams, engines, sizes, alignments."""

from __future__ import annotations

from typing import Any

import pytest
from gpu_support import (
    BATCH_AVAILABLE,
    STREAM_KINDS,
    copy_blocks,
    is_legacy,
    kvswap,
    random_bytes,
    stream_of_kind,
    torch,
)

KIB = 1024
MIB = 1024 * KIB
SIZES = (1, 2, 3, 7, 8, 15, 16, 17, 31, 64, 255, 4 * KIB, 4 * KIB + 1, 64 * KIB)
LARGE_SIZES = (MIB - 1, MIB)
SLOT = MIB + 64
SLOTS = len(SIZES) + len(LARGE_SIZES)


def memory_of(direction: str) -> tuple[Any, Any]:
    """Source and destination, of random and so different content."""
    host = random_bytes(SLOTS * SLOT, pinned=True)
    device = random_bytes(SLOTS * SLOT, device="cuda")
    torch.cuda.synchronize()
    return (host, device) if direction == "host_to_device" else (device, host)


@pytest.mark.parametrize("direction", ["host_to_device", "device_to_host"])
@pytest.mark.parametrize("stream_kind", STREAM_KINDS)
@pytest.mark.parametrize("engine", ["auto", "batch", "loop"])
def test_every_size_and_alignment(
    direction: str, stream_kind: str, engine: str
) -> None:
    source, destination = memory_of(direction)
    sizes = SIZES + LARGE_SIZES
    # Slots in another order on each side, each with a shift of its own.
    source_offsets = [slot * SLOT + slot % 9 for slot in range(SLOTS)]
    destination_offsets = [
        (SLOTS - 1 - slot) * SLOT + (slot * 5) % 16 for slot in range(SLOTS)
    ]
    expected = destination.cpu().clone()
    source_bytes = source.cpu()
    for source_offset, destination_offset, size in zip(
        source_offsets, destination_offsets, sizes, strict=True
    ):
        expected[destination_offset : destination_offset + size] = source_bytes[
            source_offset : source_offset + size
        ]

    with stream_of_kind(stream_kind) as stream:
        result = copy_blocks(
            source,
            source_offsets,
            destination,
            destination_offsets,
            sizes,
            stream=stream,
            engine=engine,
        )

    # Beside the blocks too: nothing else may have been written.
    assert torch.equal(destination.cpu(), expected)
    assert result.submitted == SLOTS
    assert result.submitted_bytes == sum(sizes)
    assert result.device == 0
    assert sum(result.copies.values()) == SLOTS
    if engine == "loop":
        assert (result.engine, result.unavailable) == ("loop", {})
    elif engine == "batch":
        if not BATCH_AVAILABLE:
            assert result.unavailable["batch"] == "no_batch_symbol"
        elif is_legacy(stream_kind):
            assert result.unavailable["batch"] == "legacy_stream"
        else:
            assert (result.engine, result.unavailable) == ("batch", {})
        assert (result.engine == "batch") == (not result.unavailable)
    if engine != "auto":
        assert result.copies[result.engine] == SLOTS


@pytest.mark.parametrize("stream_kind", ["created", "torch_default"])
def test_plan_says_what_the_call_does(stream_kind: str) -> None:
    source, destination = memory_of("host_to_device")
    pointers = torch.tensor([source.data_ptr(), source.data_ptr() + SLOT])
    targets = torch.tensor([destination.data_ptr(), destination.data_ptr() + SLOT])
    sizes = torch.tensor([100, 200])
    with stream_of_kind(stream_kind) as stream:
        plan = kvswap.plan(pointers, targets, sizes, stream=stream)
        result = kvswap.swap_blocks_batch(pointers, targets, sizes, stream=stream)

    assert plan.engine == result.engine
    assert plan.unavailable == result.unavailable
    assert plan.copies == result.submitted == 2
    assert plan.bytes == result.submitted_bytes == 300
    assert plan.device == result.device == 0
    assert plan.capturing is False
    assert plan.stream_kind == ("legacy" if is_legacy(stream_kind) else "created")


def test_strict_batch_is_refused_on_the_legacy_stream() -> None:
    source, destination = memory_of("host_to_device")
    before = destination.clone()
    with pytest.raises(kvswap.UnsupportedError, match="batch") as raised:
        copy_blocks(
            source, [0], destination, [0], [SLOT], stream=0, engine="batch", strict=True
        )
    assert raised.value.submitted == 0
    assert raised.value.unavailable["batch"] in ("legacy_stream", "no_batch_symbol")
    torch.cuda.synchronize()
    assert torch.equal(destination, before)


@pytest.mark.parametrize("src_access", ["stream", "during_api_call", "any"])
@pytest.mark.parametrize("direction", ["host_to_device", "device_to_host"])
def test_source_access(src_access: str, direction: str) -> None:
    if src_access == "during_api_call" and not BATCH_AVAILABLE:
        pytest.skip("the driver has no cuMemcpyBatchAsync")
    source, destination = memory_of(direction)
    with stream_of_kind("created") as stream:
        copy_blocks(
            source, [3], destination, [5], [MIB], stream=stream, src_access=src_access
        )
    assert torch.equal(source[3 : 3 + MIB].cpu(), destination[5 : 5 + MIB].cpu())


@pytest.mark.parametrize("engine", ["batch", "loop"])
def test_sizes_of_zero_are_dropped(engine: str) -> None:
    source, destination = memory_of("host_to_device")
    expected = destination.cpu()
    expected[2 * SLOT : 2 * SLOT + 10] = source[SLOT : SLOT + 10]
    pointers = torch.tensor([0, source.data_ptr() + SLOT, source.data_ptr()])
    targets = torch.tensor([destination.data_ptr(), 0, 0])
    targets[1] = destination.data_ptr() + 2 * SLOT
    with stream_of_kind("created") as stream:
        result = kvswap.swap_blocks_batch(
            pointers, targets, torch.tensor([0, 10, 0]), stream=stream, engine=engine
        )
    assert (result.submitted, result.dropped) == (1, 2)
    assert torch.equal(destination.cpu(), expected)


@pytest.mark.parametrize("engine", ["auto", "batch", "loop"])
def test_no_descriptors(engine: str) -> None:
    nothing = torch.empty(0, dtype=torch.int64)
    with stream_of_kind("created") as stream:
        result = kvswap.swap_blocks_batch(
            nothing, nothing, nothing, stream=stream, engine=engine
        )
    assert (result.submitted, result.dropped) == (0, 0)


@pytest.mark.parametrize("max_batch", [1, 7, 128, 1000])
def test_batches_of_any_length(max_batch: int) -> None:
    count, size = 300, 1000
    source = random_bytes(count * size, device="cuda")
    destination = torch.zeros(count * size, dtype=torch.uint8).pin_memory()
    offsets = [block * size for block in range(count)]
    with stream_of_kind("created") as stream:
        result = copy_blocks(
            source,
            offsets,
            destination,
            offsets[::-1],
            [size] * count,
            stream=stream,
            max_batch=max_batch,
        )
    assert result.submitted == count
    blocks = source.cpu().view(count, size)
    assert torch.equal(destination.view(count, size), blocks.flip(0))


@pytest.mark.parametrize("engine", ["batch", "loop"])
@pytest.mark.parametrize("direction", ["host_to_device", "device_to_host"])
def test_hundred_thousand_descriptors(engine: str, direction: str) -> None:
    count, size = 100_000, 64
    host = random_bytes(count * size, pinned=True)
    device = random_bytes(count * size, device="cuda")
    source, destination = (
        (host, device) if direction == "host_to_device" else (device, host)
    )
    order = torch.randperm(count)
    expected = source.cpu().view(count, size)[order].clone()
    with stream_of_kind("created") as stream:
        result = kvswap.swap_blocks_batch(
            source.data_ptr() + order * size,
            destination.data_ptr() + torch.arange(count) * size,
            torch.full((count,), size),
            stream=stream,
            engine=engine,
        )
    assert result.submitted == count
    assert torch.equal(destination.cpu().view(count, size), expected)


def test_device_to_device_and_host_to_host() -> None:
    host = random_bytes(2 * MIB, pinned=True)
    device = random_bytes(2 * MIB, device="cuda")
    expected_host = torch.cat([host[MIB:], host[MIB:]])
    expected_device = torch.cat([device[MIB:], device[MIB:]]).cpu()
    with stream_of_kind("created") as stream:
        kvswap.swap_blocks_batch(
            torch.tensor([host.data_ptr() + MIB, device.data_ptr() + MIB]),
            torch.tensor([host.data_ptr(), device.data_ptr()]),
            torch.tensor([MIB, MIB]),
            stream=stream,
        )
    assert torch.equal(host, expected_host)
    assert torch.equal(device.cpu(), expected_device)
