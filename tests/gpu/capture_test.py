"""CUDA graphs: copies become nodes, and no capture is harmed."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest
from gpu_support import Driver, copy_blocks, kvswap, random_bytes, torch

SIZE = 1 << 16


@pytest.mark.parametrize("engine", ["auto", "batch", "loop"])
def test_captured_copies_run_with_the_graph(engine: str) -> None:
    host = random_bytes(SIZE, pinned=True)
    device = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        pointers = host.data_ptr() + torch.arange(0, SIZE, 4096)
        targets = device.data_ptr() + torch.arange(0, SIZE, 4096)
        sizes = torch.full_like(pointers, 4096)
        plan = kvswap.plan(pointers, targets, sizes, engine=engine)
        result = kvswap.swap_blocks_batch(pointers, targets, sizes, engine=engine)

    assert plan.capturing
    assert result.engine == plan.engine
    assert result.submitted == SIZE // 4096
    assert result.copies.get("batch", 0) == result.copies.get("bridge", 0) == 0
    if engine == "batch":
        assert result.unavailable["batch"] in ("capturing", "no_batch_symbol")
    if engine == "loop":
        assert result.engine == "loop"
    torch.cuda.synchronize()
    assert device.cpu().eq(0).all(), "capturing is not copying"

    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(device.cpu(), host)

    # The graph copies what is there when it runs.
    host.copy_(random_bytes(SIZE))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(device.cpu(), host)


@pytest.mark.parametrize(
    "options",
    [{"src_access": "during_api_call"}, {"engine": "batch", "strict": True}],
)
def test_what_a_capture_cannot_honour(options: dict[str, Any]) -> None:
    host = random_bytes(SIZE, pinned=True)
    device = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(kvswap.UnsupportedError) as raised:
            copy_blocks(host, [0], device, [0], [SIZE], **options)
        # The capture has not been harmed, and holds this copy alone.
        copy_blocks(host, [0], device, [1], [100])
    assert raised.value.unavailable["batch"] in ("capturing", "no_batch_symbol")
    graph.replay()
    torch.cuda.synchronize()
    expected = torch.zeros(SIZE, dtype=torch.uint8)
    expected[1:101] = host[:100]
    assert torch.equal(device.cpu(), expected)


def test_error_before_submission_leaves_the_capture_as_it_was() -> None:
    host = random_bytes(SIZE, pinned=True)
    device = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(kvswap.SwapError, match=r"src_ptrs\[0\]"):
            kvswap.swap_blocks_batch(
                torch.tensor([0x40]),
                torch.tensor([device.data_ptr()]),
                torch.tensor([8]),
            )
        copy_blocks(host, [0], device, [0], [SIZE])
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(device.cpu(), host)


@pytest.fixture
def capturing_stream() -> Iterator[tuple[Driver, ctypes.c_void_p]]:
    """A blocking stream, which torch does not make, that captures in global mode."""
    driver, stream = Driver(), ctypes.c_void_p()
    torch.cuda.synchronize()
    driver.check("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(0))
    driver.check(
        "cuStreamBeginCapture_v2", stream, ctypes.c_int(Driver.CAPTURE_MODE_GLOBAL)
    )
    yield driver, stream
    driver.check("cuStreamDestroy_v2", stream)


def end_capture(driver: Driver, stream: ctypes.c_void_p) -> int:
    """The CUresult of ending the stream's capture; the graph is thrown away."""
    graph = ctypes.c_void_p()
    code = driver.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    if graph.value:
        driver.check("cuGraphDestroy", graph)
    return code


@pytest.mark.parametrize("handle", [0, 1])
def test_legacy_stream_while_a_blocking_stream_captures(
    capturing_stream: tuple[Driver, ctypes.c_void_p], handle: int
) -> None:
    driver, stream = capturing_stream
    memory = torch.zeros(100, dtype=torch.uint8)
    with pytest.raises(kvswap.SwapError) as raised:
        copy_blocks(memory, [0], memory, [50], [8], stream=handle)
    code = end_capture(driver, stream)
    assert raised.value.status == "capture"
    assert raised.value.cuda_error == Driver.STREAM_CAPTURE_IMPLICIT
    assert raised.value.submitted == 0
    assert code == 0, "the other stream's capture was harmed"


def test_stream_whose_capture_is_invalid(
    capturing_stream: tuple[Driver, ctypes.c_void_p],
) -> None:
    driver, stream = capturing_stream
    # What kvswap avoids: an event on the legacy stream invalidates the capture.
    event = ctypes.c_void_p()
    driver.check("cuEventCreate", ctypes.byref(event), ctypes.c_uint(2))
    assert driver.call("cuEventRecord", event, None) != 0
    memory = torch.zeros(100, dtype=torch.uint8)
    with pytest.raises(kvswap.SwapError, match="invalidated") as raised:
        copy_blocks(memory, [0], memory, [50], [8], stream=stream.value)
    code = end_capture(driver, stream)
    driver.check("cuEventDestroy_v2", event)
    assert raised.value.status == "capture"
    assert raised.value.submitted == 0
    assert code == Driver.STREAM_CAPTURE_INVALIDATED
