"""Captured swaps: which nodes they become, and that a graph keeps its own copy of all."""

from __future__ import annotations

import ctypes
import gc
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from gpu_support import (
    Driver,
    assert_ran,
    copies_by_engine,
    kvswap,
    options_of,
    random_bytes,
    run_in_child,
    torch,
)

BLOCK, COUNT = 4096, 3000  # more than one launch takes
SIZE = BLOCK * COUNT
MIB = 1 << 20
_THREAD_LOCAL = 1
_KERNEL, _MEMCPY = 0, 1  # CUgraphNodeType


class CapturedGraph:
    """A graph captured on a stream by the driver's own functions."""

    def __init__(self) -> None:
        self._driver = Driver()
        self.stream = torch.cuda.Stream()
        self._handle = ctypes.c_void_p(self.stream.cuda_stream)
        self._graph = ctypes.c_void_p()
        self._executable = ctypes.c_void_p()

    def begin(self) -> None:
        """Begins to capture."""
        torch.cuda.synchronize()
        self._driver.check(
            "cuStreamBeginCapture_v2", self._handle, ctypes.c_int(_THREAD_LOCAL)
        )

    def end(self) -> None:
        """Ends it and makes the graph ready."""
        self._driver.check(
            "cuStreamEndCapture", self._handle, ctypes.byref(self._graph)
        )
        self._driver.check(
            "cuGraphInstantiateWithFlags",
            ctypes.byref(self._executable),
            self._graph,
            ctypes.c_ulonglong(0),
        )

    def node_kinds(self) -> Counter[int]:
        """How many nodes there are of each CUgraphNodeType."""
        count = ctypes.c_size_t()
        self._driver.check("cuGraphGetNodes", self._graph, None, ctypes.byref(count))
        nodes = (ctypes.c_void_p * count.value)()
        self._driver.check("cuGraphGetNodes", self._graph, nodes, ctypes.byref(count))
        kinds: Counter[int] = Counter()
        for node in nodes:
            kind = ctypes.c_int(-1)
            self._driver.check(
                "cuGraphNodeGetType", ctypes.c_void_p(node), ctypes.byref(kind)
            )
            kinds[kind.value] += 1
        return kinds

    def replay(self) -> None:
        """Runs the graph and waits."""
        self._driver.check("cuGraphLaunch", self._executable, self._handle)
        self.stream.synchronize()

    def close(self) -> None:
        """Gives it back."""
        torch.cuda.synchronize()
        if self._executable.value:
            self._driver.check("cuGraphExecDestroy", self._executable)
        if self._graph.value:
            self._driver.check("cuGraphDestroy", self._graph)


@pytest.fixture
def graph() -> Iterator[CapturedGraph]:
    """A graph to be captured."""
    captured = CapturedGraph()
    yield captured
    captured.close()


def arrays(
    source: Any, destination: Any, order: Any, size: int
) -> tuple[Any, Any, Any]:
    """Addresses: block i of the source to block order[i] of the destination."""
    numbers = torch.arange(len(order))
    return (
        source.data_ptr() + numbers * size,
        destination.data_ptr() + order * size,
        torch.full((len(order),), size),
    )


@pytest.mark.parametrize("direction", ["h2d", "d2h", "d2d"])
@pytest.mark.parametrize("way", ["auto", "plain", "bulk", "loop"])
def test_replays_with_its_own_copy_of_the_arrays(
    graph: CapturedGraph, way: str, direction: str
) -> None:
    count = 300 if way == "loop" else COUNT
    size = count * BLOCK
    source = random_bytes(size, pinned=True)
    destination = torch.zeros(size, dtype=torch.uint8).pin_memory()
    if direction[0] == "d":
        source = source.cuda()
    if direction[-1] == "d":
        destination = destination.cuda()
    order = torch.randperm(count)
    src_ptrs, dst_ptrs, sizes = arrays(source, destination, order, BLOCK)
    graph.begin()
    try:
        result = kvswap.swap_blocks_batch(
            src_ptrs, dst_ptrs, sizes, stream=graph.stream, **options_of(way)
        )
    finally:
        graph.end()
    assert_ran(result, way, count)
    kinds = graph.node_kinds()
    if "kernel" in copies_by_engine(result):
        assert set(kinds) == {_KERNEL} and kinds[_KERNEL] <= count // 1000 + 1
    else:
        # Neighbours may have become one.
        assert set(kinds) == {_MEMCPY} and 0.9 * count < kinds[_MEMCPY] <= count

    # What the call was given is overwritten, freed, and its place used again.
    for array in (src_ptrs, dst_ptrs, sizes):
        array.fill_(0x40)
    del src_ptrs, dst_ptrs, sizes
    gc.collect()
    rubbish = [torch.full((count,), 0x40) for _ in range(20)]

    assert destination.cpu().eq(0).all(), "capturing is not copying"
    for _ in range(3):
        source.copy_(random_bytes(size))
        destination.zero_()
        torch.cuda.synchronize()
        graph.replay()
        expected = torch.empty(count, BLOCK, dtype=torch.uint8)
        expected[order] = source.cpu().view(count, BLOCK)
        assert torch.equal(destination.cpu().view(count, BLOCK), expected)
    del rubbish


def test_large_blocks_become_memcpy_nodes(graph: CapturedGraph) -> None:
    count, size = 4, 8 * MIB
    source = random_bytes(count * size, pinned=True)
    destination = torch.zeros(count * size, dtype=torch.uint8, device="cuda")
    src_ptrs, dst_ptrs, sizes = arrays(source, destination, torch.arange(count), size)
    graph.begin()
    try:
        result = kvswap.swap_blocks_batch(
            src_ptrs, dst_ptrs, sizes, stream=graph.stream
        )
    finally:
        graph.end()
    assert copies_by_engine(result) == {"loop": count}
    assert set(graph.node_kinds()) == {_MEMCPY}
    graph.replay()
    assert torch.equal(destination.cpu(), source)


def test_mixed_sizes_become_both_kinds_of_node(graph: CapturedGraph) -> None:
    count = 100
    source = random_bytes(count * BLOCK, device="cuda")
    pinned = torch.zeros(count * BLOCK, dtype=torch.uint8).pin_memory()
    large = random_bytes(16 * MIB, device="cuda")
    large_target = torch.zeros(16 * MIB, dtype=torch.uint8).pin_memory()
    # Backwards, so that no copies are contiguous and put together.
    order = torch.arange(count).flip(0)
    src_ptrs, dst_ptrs, sizes = arrays(source, pinned, order, BLOCK)
    graph.begin()
    try:
        result = kvswap.swap_blocks_batch(
            torch.cat([src_ptrs, torch.tensor([large.data_ptr()])]),
            torch.cat([dst_ptrs, torch.tensor([large_target.data_ptr()])]),
            torch.cat([sizes, torch.tensor([16 * MIB])]),
            stream=graph.stream,
        )
    finally:
        graph.end()
    assert copies_by_engine(result) == {"kernel": count, "loop": 1}
    kinds = graph.node_kinds()
    assert set(kinds) == {_KERNEL, _MEMCPY} and kinds[_MEMCPY] == 1
    graph.replay()
    copied = pinned.view(count, BLOCK).flip(0).reshape(-1)
    assert torch.equal(copied, source.cpu())
    assert torch.equal(large_target, large.cpu())


def test_first_use_of_the_kernels_during_a_capture() -> None:
    """The module is loaded then; that must not harm the capture."""
    output = run_in_child(_FIRST_USE)
    assert "bytes equal" in output


_FIRST_USE = """
import torch, kvswap
count, size = 500, 4096
host = torch.randint(0, 256, (count * size,), dtype=torch.uint8).pin_memory()
device = torch.zeros(count * size, dtype=torch.uint8, device="cuda")
offsets = torch.arange(count) * size
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):  # global mode
    result = kvswap.swap_blocks_batch(
        host.data_ptr() + offsets, device.data_ptr() + offsets,
        torch.full_like(offsets, size), engine="kernel", strict=True)
assert result.copies["kernel"] == count, result
assert device.eq(0).all()
graph.replay()
torch.cuda.synchronize()
assert torch.equal(device.cpu(), host)
print("bytes equal")
"""
