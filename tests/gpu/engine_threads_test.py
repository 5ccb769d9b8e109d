"""The kernel and bridge engines from many threads at once, their first use included."""

from __future__ import annotations

import concurrent.futures
import threading
from typing import Any

import pytest
from gpu_support import assert_ran, copy_blocks, options_of, run_in_child, torch

THREADS, ROUNDS, BLOCKS, BLOCK = 8, 20, 100, 4096
OFFSETS = [block * BLOCK for block in range(BLOCKS)]


@pytest.mark.parametrize("way", ["auto", "plain", "bulk"])
@pytest.mark.parametrize("stream_kind", ["created", "per_thread"])
def test_threads_on_streams_of_their_own(way: str, stream_kind: str) -> None:
    start = threading.Barrier(THREADS)

    def work(number: int) -> bool:
        generator = torch.Generator().manual_seed(number)
        host = torch.randint(
            0, 256, (BLOCKS, BLOCK), dtype=torch.uint8, generator=generator
        ).pin_memory()
        back = torch.zeros_like(host).pin_memory()
        device = torch.zeros(BLOCKS, BLOCK, dtype=torch.uint8, device="cuda")
        torch.cuda.synchronize()
        created = torch.cuda.Stream()
        stream: Any = created if stream_kind == "created" else 2
        waiting = created if stream_kind == "created" else torch.cuda.ExternalStream(2)
        start.wait(timeout=60)
        for _ in range(ROUNDS):
            back.zero_()
            for source, destination in ((host, device), (device, back)):
                result = copy_blocks(
                    source,
                    OFFSETS,
                    destination,
                    OFFSETS[::-1],
                    [BLOCK] * BLOCKS,
                    stream=stream,
                    **options_of(way),
                )
                assert_ran(result, way, BLOCKS)
            waiting.synchronize()
            if not torch.equal(back, host):
                return False
        return True

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        assert all(pool.map(work, range(THREADS)))


@pytest.mark.parametrize("way", ["auto", "plain", "bridge"])
def test_threads_on_the_legacy_stream(way: str) -> None:
    """Blocks of their own, on the one stream that they share."""
    start = threading.Barrier(THREADS)

    def work(number: int) -> bool:
        host = torch.full((BLOCKS * BLOCK,), number, dtype=torch.uint8).pin_memory()
        back = torch.zeros_like(host).pin_memory()
        device = torch.zeros(BLOCKS * BLOCK, dtype=torch.uint8, device="cuda")
        torch.cuda.synchronize()
        start.wait(timeout=60)
        for _ in range(ROUNDS):
            back.zero_()
            for source, destination in ((host, device), (device, back)):
                result = copy_blocks(
                    source,
                    OFFSETS,
                    destination,
                    OFFSETS[::-1],
                    [BLOCK] * BLOCKS,
                    stream=0,
                    **options_of(way),
                )
                assert_ran(result, way, BLOCKS)
            torch.cuda.default_stream().synchronize()
            if not torch.equal(back, host):
                return False
        return True

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        assert all(pool.map(work, range(1, THREADS + 1)))


_FIRST_USE_RACED = """
import concurrent.futures, threading
import torch, kvswap
threads, count, size = 16, 200, 4096
start = threading.Barrier(threads)
hosts = [torch.randint(0, 256, (count * size,), dtype=torch.uint8).pin_memory()
         for _ in range(threads)]
devices = [torch.zeros(count * size, dtype=torch.uint8, device="cuda")
           for _ in range(threads)]
streams = [torch.cuda.Stream() for _ in range(threads)]
offsets = torch.arange(count) * size
torch.cuda.synchronize()

def work(number):
    # Threads of their own kind: every third one by the bridge of the legacy stream.
    bridge = number % 3 == 2
    start.wait(timeout=60)
    return kvswap.swap_blocks_batch(
        hosts[number].data_ptr() + offsets, devices[number].data_ptr() + offsets,
        torch.full_like(offsets, size), strict=True,
        stream=0 if bridge else streams[number],
        engine="bridge" if bridge else "kernel")

with concurrent.futures.ThreadPoolExecutor(threads) as pool:
    results = list(pool.map(work, range(threads)))
torch.cuda.synchronize()
for number, result in enumerate(results):
    name = "bridge" if number % 3 == 2 else "kernel"
    assert result.copies[name] == count, result
    assert torch.equal(devices[number].cpu(), hosts[number]), number
print("bytes equal")
"""


@pytest.mark.parametrize("attempt", range(2))
def test_first_use_raced(attempt: int) -> None:
    assert "bytes equal" in run_in_child(_FIRST_USE_RACED)
