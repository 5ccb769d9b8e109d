"""Threads: workers without a CUDA context, many at once, and the GIL."""

from __future__ import annotations

import concurrent.futures
import threading
from typing import Any

import pytest
from gpu_support import STREAM_KINDS, copy_blocks, random_bytes, torch

SIZE = 1 << 20


def in_new_thread(function: Any) -> Any:
    """The result of a call in a thread of its own, which has no current context."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result(timeout=60)


@pytest.mark.parametrize("stream", ["created", None, 0, 1, 2])
@pytest.mark.parametrize("direction", ["host_to_device", "device_to_host"])
def test_thread_without_a_context(stream: Any, direction: str) -> None:
    host = random_bytes(SIZE, pinned=True)
    device = random_bytes(SIZE, device="cuda")
    source, destination = (
        (host, device) if direction == "host_to_device" else (device, host)
    )
    expected = source.cpu().clone()
    handle = torch.cuda.Stream().cuda_stream if stream == "created" else stream
    torch.cuda.synchronize()

    result = in_new_thread(
        lambda: copy_blocks(source, [0], destination, [0], [SIZE], stream=handle)
    )

    torch.cuda.synchronize()
    assert (result.device, result.submitted) == (0, 1)
    assert torch.equal(destination.cpu(), expected)


def test_many_threads_at_once() -> None:
    threads, rounds, blocks, size = 8, 20, 64, 4096
    start = threading.Barrier(threads)

    def work(number: int) -> bool:
        generator = torch.Generator().manual_seed(number)
        host = torch.randint(
            0, 256, (blocks, size), dtype=torch.uint8, generator=generator
        ).pin_memory()
        back = torch.zeros_like(host).pin_memory()
        device = torch.zeros(blocks, size, dtype=torch.uint8, device="cuda")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        offsets = [block * size for block in range(blocks)]
        start.wait(timeout=60)
        for _ in range(rounds):
            back.zero_()
            copy_blocks(
                host, offsets, device, offsets[::-1], [size] * blocks, stream=stream
            )
            copy_blocks(device, offsets, back, offsets, [size] * blocks, stream=stream)
            stream.synchronize()
            if not torch.equal(back, host.flip(0)):
                return False
        return True

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        assert all(pool.map(work, range(threads)))


@pytest.mark.parametrize("stream_kind", STREAM_KINDS)
def test_current_context_and_stream_stay(stream_kind: str) -> None:
    from gpu_support import stream_of_kind

    host, device = random_bytes(100, pinned=True), random_bytes(100, device="cuda")
    with stream_of_kind(stream_kind) as stream:
        before = torch.cuda.current_stream(), torch.cuda.current_device()
        copy_blocks(host, [0], device, [0], [100], stream=stream)
        assert (torch.cuda.current_stream(), torch.cuda.current_device()) == before
