"""Block pools of CUDA tensors."""

from __future__ import annotations

import mmap
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from gpu_support import kvswap, torch

_LAYERS = 3
_BLOCKS = 32
_SHAPE = (16, 4, 64)  # tokens, heads, head size


def kv_caches(layout: str) -> tuple[list[Any], int]:
    """GPU tensors of random content, one a layer, and their block_dim."""
    shape = (2, _BLOCKS, *_SHAPE) if layout == "k_and_v" else (_BLOCKS, 2, *_SHAPE)
    tensors = [
        torch.randint(-(2**15), 2**15, shape, dtype=torch.int16, device="cuda")
        for _ in range(_LAYERS)
    ]
    return tensors, 1 if layout == "k_and_v" else 0


def block(tensors: list[Any], block_dim: int, index: int) -> Any:
    """All layers of a block, on the host."""
    return torch.stack([t.select(block_dim, index) for t in tensors]).cpu()


def random_pairs(count: int, sources: int, targets: int) -> Any:
    """(source, destination), no destination twice."""
    return torch.stack(
        [torch.randperm(sources)[:count], torch.randperm(targets)[:count]], dim=1
    )


@pytest.mark.parametrize("engine", ["auto", "loop"])
@pytest.mark.parametrize("allocator", ["kvswap", "torch"])
@pytest.mark.parametrize("layout", ["k_and_v", "blocks_first"])
def test_round_trip(layout: str, allocator: str, engine: str) -> None:
    tensors, block_dim = kv_caches(layout)
    before = [block(tensors, block_dim, i) for i in range(_BLOCKS)]
    gpu = kvswap.BlockPool(tensors, block_dim)
    assert gpu.device == torch.cuda.current_device()
    host = kvswap.pinned_pool(gpu, 50, allocator=allocator)
    out = random_pairs(20, _BLOCKS, 50)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    stored = kvswap.swap_out(gpu, host, out, stream=stream, engine=engine)
    stored.wait_stream()
    for tensor in tensors:
        tensor.zero_()
    stream.wait_stream(torch.cuda.current_stream())
    back = torch.stack([out[:, 1], torch.randperm(_BLOCKS)[:20]], dim=1)
    loaded = kvswap.swap_in(host, gpu, back, stream=stream, engine=engine, layers=True)
    loaded.layer(_LAYERS - 1).wait()
    assert loaded.done()
    assert stored.done()
    assert loaded.result.pageable == 0
    written = dict(zip(back[:, 1].tolist(), out[:, 0].tolist(), strict=True))
    for i in range(_BLOCKS):
        held = block(tensors, block_dim, i)
        assert torch.equal(held, before[written[i]] if i in written else held * 0)


def test_larger_host_blocks_on_torchs_current_stream() -> None:
    tensors, block_dim = kv_caches("k_and_v")
    gpu = kvswap.BlockPool(tensors, block_dim)
    host = kvswap.pinned_pool(gpu, 5, blocks_per_block=4)
    before = block(tensors, block_dim, 7)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        kvswap.swap_out(gpu, host, [(7, 18)])
        ticket = kvswap.swap_in(host, gpu, [(18, 1)])
    ticket.wait()
    assert torch.equal(block(tensors, block_dim, 1), before)


def test_pages_and_pageable_memory() -> None:
    tensors, block_dim = kv_caches("k_and_v")
    gpu = kvswap.BlockPool(tensors, block_dim)
    pages = torch.zeros(8, gpu.block_bytes, dtype=torch.uint8)
    torch.cuda.synchronize()
    ticket = kvswap.swap_out(gpu, kvswap.BlockPool(pages, like=gpu), [(3, 5)], stream=2)
    ticket.wait()
    assert ticket.result.pageable == 2 * _LAYERS
    wanted = block(tensors, block_dim, 3).contiguous().view(torch.uint8).flatten()
    assert torch.equal(pages[5], wanted)


def test_tickets_disturb_no_capture() -> None:
    """torch captures in global mode; another thread asks a ticket meanwhile."""
    tensors, block_dim = kv_caches("blocks_first")
    gpu = kvswap.BlockPool(tensors, block_dim)
    host = kvswap.pinned_pool(gpu, 8)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    tensor = torch.zeros(64, device="cuda")
    torch.cuda.synchronize()
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(20):
                ticket = kvswap.swap_out(gpu, host, [(0, 0)], stream=stream)
                ticket.done()
                ticket.wait()
        except BaseException as error:
            failures.append(error)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tensor += 1
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        tensor += 1
    assert failures == []
    graph.replay()
    torch.cuda.synchronize()
    assert tensor.tolist() == [2] * 64


def test_captured_copies() -> None:
    tensors, block_dim = kv_caches("k_and_v")
    gpu = kvswap.BlockPool(tensors, block_dim)
    host = kvswap.pinned_pool(gpu, 8)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kvswap.swap_out(gpu, host, [(3, 5)], ticket=False)
        kvswap.swap_in(host, gpu, [(5, 9)], ticket=False)
    for tensor in tensors:
        tensor.select(block_dim, 3).fill_(77)
    graph.replay()
    torch.cuda.synchronize()
    assert bool((block(tensors, block_dim, 9) == 77).all())


def test_the_caching_allocator_does_not_reuse_memory_in_flight() -> None:
    """Tensors and ticket are thrown away while the copies still wait."""
    stream = torch.cuda.Stream()
    size = 1 << 20
    source = torch.full((64, size), 5, dtype=torch.uint8, device="cuda")
    gpu = kvswap.BlockPool(source)
    host = kvswap.pinned_pool(gpu, 64)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
    kvswap.swap_out(gpu, host, [(i, i) for i in range(64)], stream=stream)
    del gpu, source
    overwrite = torch.full((64, size), 9, dtype=torch.uint8, device="cuda")
    stream.synchronize()
    check = torch.empty((64, size), dtype=torch.uint8, device="cuda")
    kvswap.swap_in(host, kvswap.BlockPool(check), [(i, i) for i in range(64)]).wait()
    assert bool((check == 5).all())
    assert bool((overwrite == 9).all())


def test_a_file() -> None:
    tensors, block_dim = kv_caches("blocks_first")
    gpu = kvswap.BlockPool(tensors, block_dim)
    # Of a file on a disk, Linux lets pages be read by a device, not written.
    with tempfile.TemporaryFile(dir="/dev/shm") as file:
        file.write(bytes(6 * gpu.block_bytes))
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0)
    host = kvswap.pinned_pool(gpu, 6, buffer=mapped, max_chunk_bytes=1 << 20)
    torch.cuda.synchronize()
    kvswap.swap_out(gpu, host, [(4, 2)], stream=2).wait()
    wanted = block(tensors, block_dim, 4).contiguous().view(torch.uint8).flatten()
    held = mapped[2 * gpu.block_bytes : 3 * gpu.block_bytes]
    assert held == wanted.numpy().tobytes()
    host.invalidate()


def test_a_file_on_a_disk(tmp_path: Path) -> None:
    """Registered or refused, by the system; a refusal says what it takes."""
    gpu = kvswap.BlockPool(*kv_caches("blocks_first"))
    path = tmp_path / "blocks"
    path.write_bytes(bytes(6 * gpu.block_bytes))
    with path.open("r+b") as file:
        writable = mmap.mmap(file.fileno(), 0)
        readable = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    kvswap.pinned_pool(gpu, 6, buffer=readable).invalidate()
    try:
        kvswap.pinned_pool(gpu, 6, buffer=writable).invalidate()
    except kvswap.SwapError as error:
        assert "has to be on tmpfs" in str(error)


def test_warmup() -> None:
    kvswap.warmup()
    kvswap.warmup(torch.device("cuda", torch.cuda.current_device()))
    assert sum(kvswap.stats().copies.values()) >= 4
