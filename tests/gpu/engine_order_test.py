"""The order of the kernel and bridge engines' copies against kernels and streams."""

from __future__ import annotations

from typing import Any

import pytest
from gpu_support import (
    STREAM_KINDS,
    assert_ran,
    blocking_stream,
    copy_blocks,
    is_legacy,
    options_of,
    stream_of_kind,
    torch,
    torch_stream,
)

BLOCK, COUNT = 16 << 10, 64
SIZE = BLOCK * COUNT
OFFSETS = [block * BLOCK for block in range(COUNT)]
OLD, NEW, LATER = 17, 34, 51
SLEEP_CYCLES = 100_000_000  # about a twentieth of a second

WAYS_AND_KINDS = [
    (way, kind)
    for way in ("auto", "plain", "bulk", "bridge")
    for kind in STREAM_KINDS
    if way != "bridge" or is_legacy(kind)
]


def copy(source: Any, destination: Any, stream: Any, way: str) -> None:
    """Copies all blocks, by the engine that the way says."""
    result = copy_blocks(
        source,
        OFFSETS,
        destination,
        OFFSETS[::-1],
        [BLOCK] * COUNT,
        stream=stream,
        **options_of(way),
    )
    assert_ran(result, way, COUNT)


def filled(value: int, *, pinned: bool) -> Any:
    if pinned:
        return torch.full((SIZE,), value, dtype=torch.uint8).pin_memory()
    return torch.full((SIZE,), value, dtype=torch.uint8, device="cuda")


def all_are(tensor: Any, value: int) -> bool:
    return bool(tensor.cpu().eq(value).all())


@pytest.mark.parametrize(("way", "stream_kind"), WAYS_AND_KINDS)
def test_copy_out_waits_for_the_kernel_before(way: str, stream_kind: str) -> None:
    device, host = filled(OLD, pinned=False), filled(0, pinned=True)
    torch.cuda.synchronize()
    with stream_of_kind(stream_kind) as stream:
        with torch.cuda.stream(torch_stream(stream)):
            torch.cuda._sleep(SLEEP_CYCLES)
            device.fill_(NEW)
        copy(device, host, stream, way)
        with torch.cuda.stream(torch_stream(stream)):
            device.fill_(LATER)
    assert all_are(host, NEW)


@pytest.mark.parametrize(("way", "stream_kind"), WAYS_AND_KINDS)
def test_kernels_around_a_copy_in(way: str, stream_kind: str) -> None:
    host, device = filled(NEW, pinned=True), filled(OLD, pinned=False)
    before, after = torch.zeros_like(device), torch.zeros_like(device)
    torch.cuda.synchronize()
    with stream_of_kind(stream_kind) as stream:
        with torch.cuda.stream(torch_stream(stream)):
            torch.cuda._sleep(SLEEP_CYCLES)
            before.copy_(device + 0)
        copy(host, device, stream, way)
        with torch.cuda.stream(torch_stream(stream)):
            after.copy_(device + 0)
    assert all_are(before, OLD)
    assert all_are(after, NEW)


@pytest.mark.parametrize("other_kind", ["blocking", "per_thread"])
@pytest.mark.parametrize("way", ["auto", "plain", "bulk", "bridge", "loop"])
def test_legacy_stream_and_those_in_step_with_it(way: str, other_kind: str) -> None:
    """Work of another stream before waits for nothing, and is waited for; then again."""
    device, host = filled(OLD, pinned=False), filled(0, pinned=True)
    with blocking_stream() as blocking:
        other = torch.cuda.ExternalStream(blocking if other_kind == "blocking" else 2)
        torch.cuda.synchronize()
        with torch.cuda.stream(other):
            torch.cuda._sleep(SLEEP_CYCLES)
            device.fill_(NEW)
        copy(device, host, 0, way)
        with torch.cuda.stream(other):
            device.fill_(LATER)
        copy(device, host, 0, way)
        torch.cuda.synchronize()
        assert all_are(host, LATER)

        with torch.cuda.stream(other):
            torch.cuda._sleep(SLEEP_CYCLES)
            device.fill_(NEW)
        copy(device, host, 0, way)
        with torch.cuda.stream(other):
            device.fill_(OLD)
        torch.cuda.synchronize()
        assert all_are(host, NEW)


@pytest.mark.parametrize("way", ["auto", "plain", "bulk"])
def test_two_streams_do_not_wait_for_each_other(way: str) -> None:
    device, host = filled(OLD, pinned=False), filled(0, pinned=True)
    busy, free = torch.cuda.Stream(), torch.cuda.Stream()
    # The first use loads the module, which may wait for the GPU.
    copy(device, host, free, way)
    torch.cuda.synchronize()
    with torch.cuda.stream(busy):
        torch.cuda._sleep(10 * SLEEP_CYCLES)
        device.fill_(NEW)
    copy(device, host, free, way)
    free.synchronize()
    assert not busy.query(), "the copy waited for another stream"
    assert all_are(host, OLD)


@pytest.mark.parametrize("way", ["plain", "bulk", "batch", "auto"])
def test_chains_on_two_streams_at_once(way: str) -> None:
    """Out and in again, many times, on two streams that know nothing of each other."""
    rounds = 30
    streams = [torch.cuda.Stream() for _ in range(2)]
    there = [
        torch.randint(0, 256, (SIZE,), dtype=torch.uint8).pin_memory() for _ in range(2)
    ]
    expected = [tensor.clone() for tensor in there]
    middle = [filled(0, pinned=False) for _ in range(2)]
    back = [filled(0, pinned=True) for _ in range(2)]
    torch.cuda.synchronize()
    for _ in range(rounds):
        for number, stream in enumerate(streams):
            copy(there[number], middle[number], stream, way)
            copy(middle[number], back[number], stream, way)
            copy(back[number], middle[number], stream, way)
            copy(middle[number], there[number], stream, way)
    torch.cuda.synchronize()
    for number in range(2):
        # Each copy turns the order of the blocks around: after two it is as it was.
        assert torch.equal(back[number], expected[number])
        assert torch.equal(there[number], expected[number])
