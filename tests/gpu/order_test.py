"""The order of copies and kernels: on one stream, kernels before and after count.

A kernel that sleeps holds the stream back, so that a copy that does not wait for it is
seen: the control shows that.
"""

from __future__ import annotations

import pytest
from gpu_support import STREAM_KINDS, copy_blocks, stream_of_kind, torch, torch_stream

SIZE = 1 << 20
OLD, NEW = 17, 34
SLEEP_CYCLES = 200_000_000  # about a tenth of a second


@pytest.mark.parametrize("stream_kind", STREAM_KINDS)
@pytest.mark.parametrize("engine", ["batch", "loop"])
def test_copy_out_waits_for_the_kernel_before(stream_kind: str, engine: str) -> None:
    device = torch.full((SIZE,), OLD, dtype=torch.uint8, device="cuda")
    host = torch.zeros(SIZE, dtype=torch.uint8).pin_memory()
    torch.cuda.synchronize()
    with stream_of_kind(stream_kind) as stream:
        with torch.cuda.stream(torch_stream(stream)):
            torch.cuda._sleep(SLEEP_CYCLES)
            device.fill_(NEW)
        copy_blocks(
            device,
            [0, 99],
            host,
            [0, 99],
            [99, SIZE - 99],
            stream=stream,
            engine=engine,
        )
    assert torch.equal(host, torch.full_like(host, NEW))


@pytest.mark.parametrize("stream_kind", STREAM_KINDS)
@pytest.mark.parametrize("engine", ["batch", "loop"])
def test_kernel_after_waits_for_the_copy_in(stream_kind: str, engine: str) -> None:
    host = torch.full((SIZE,), NEW, dtype=torch.uint8).pin_memory()
    device = torch.full((SIZE,), OLD, dtype=torch.uint8, device="cuda")
    read_before = torch.zeros_like(device)
    read_after = torch.zeros_like(device)
    torch.cuda.synchronize()
    with stream_of_kind(stream_kind) as stream:
        with torch.cuda.stream(torch_stream(stream)):
            torch.cuda._sleep(SLEEP_CYCLES)
            read_before.copy_(device + 0)
        copy_blocks(
            host,
            [0, 99],
            device,
            [0, 99],
            [99, SIZE - 99],
            stream=stream,
            engine=engine,
        )
        with torch.cuda.stream(torch_stream(stream)):
            read_after.copy_(device + 0)
    assert torch.equal(read_before.cpu(), torch.full((SIZE,), OLD, dtype=torch.uint8))
    assert torch.equal(read_after.cpu(), torch.full((SIZE,), NEW, dtype=torch.uint8))


def test_control_another_stream_does_not_wait() -> None:
    device = torch.full((SIZE,), OLD, dtype=torch.uint8, device="cuda")
    host = torch.zeros(SIZE, dtype=torch.uint8).pin_memory()
    busy, other = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(busy):
        torch.cuda._sleep(SLEEP_CYCLES)
        device.fill_(NEW)
    copy_blocks(device, [0], host, [0], [SIZE], stream=other)
    other.synchronize()
    assert torch.equal(host, torch.full_like(host, OLD))
