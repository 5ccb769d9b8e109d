"""SwapError: its kinds, its attributes, its pickles."""

from __future__ import annotations

import copy
import ctypes
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver, Stream
from tests.python.descriptors import (
    BLOCK_BYTES,
    BLOCKS,
    SCATTERED,
    Blocks,
    integers,
    make_blocks,
)

INVALID_VALUE = 1
ILLEGAL_ADDRESS = 700
STREAM_CAPTURE_IMPLICIT = 906
WILD = 0x4000


def swap_error(*arguments: Any, **options: Any) -> kvswap.SwapError:
    """The SwapError, of just this class, that a call raises."""
    with pytest.raises(kvswap.SwapError) as raised:
        kvswap.swap_blocks_batch(*arguments, **options)
    assert raised.type is kvswap.SwapError
    return raised.value


@pytest.fixture
def stream(driver: CudaDriver, context: None) -> Iterator[Stream]:
    """A created stream."""
    with driver.stream() as stream:
        yield stream


class TestMemory:
    """Descriptors whose memory is not what they say, before anything is submitted."""

    @pytest.mark.parametrize("stream_handle", [0, 2])
    @pytest.mark.parametrize("name", ["src_ptrs", "dst_ptrs"])
    @pytest.mark.parametrize("index", range(BLOCKS))
    def test_address_that_is_no_memory(
        self, blocks: Blocks, name: str, index: int, stream_handle: int
    ) -> None:
        arguments = blocks.swap_in_arguments()
        arguments[name][index] = WILD
        error = swap_error(**arguments, stream=stream_handle)

        assert error.status == "memory"
        assert error.index == index
        assert error.cuda_error == 0
        assert (error.submitted, error.submitted_bytes) == (0, 0)
        assert error.source == arguments["src_ptrs"][index]
        assert error.destination == arguments["dst_ptrs"][index]
        assert error.size == BLOCK_BYTES
        wild = kvswap.Memory(kind="none", device=None, range_start=0, range_size=0)
        pinned = kvswap.Memory("pinned", 0, blocks.host.address, len(blocks.content))
        gpu = kvswap.Memory("device", 0, blocks.gpu.address, len(blocks.content))
        if name == "src_ptrs":
            assert (error.source_memory, error.destination_memory) == (wild, gpu)
        else:
            assert (error.source_memory, error.destination_memory) == (pinned, wild)
        assert f"{name}[{index}]" in str(error)
        assert not any(blocks.gpu.read())

    def test_range_that_is_overrun(self, blocks: Blocks) -> None:
        arguments = blocks.swap_in_arguments()
        # The first has size zero: indices are those of the caller's arrays.
        arguments["sizes"][0] = 0
        arguments["sizes"][3] = BLOCK_BYTES + 1
        error = swap_error(**arguments, stream=2)
        assert (error.status, error.index) == ("memory", 3)
        assert error.size == BLOCK_BYTES + 1
        assert "src_ptrs[3]" in str(error)
        assert "1 bytes past the end" in str(error)
        assert error.source_memory == kvswap.Memory(
            kind="pinned",
            device=0,
            range_start=blocks.host.address,
            range_size=len(blocks.content),
        )

    def test_pageable_memory_in_an_error(self, blocks: Blocks) -> None:
        host = ctypes.create_string_buffer(8)
        error = swap_error(
            integers([ctypes.addressof(host)]),
            integers([WILD]),
            integers([8]),
            stream=2,
        )
        assert error.source_memory == kvswap.Memory("pageable", None, 0, 0)

    def test_memory_of_two_gpus(self, blocks: Blocks, driver: CudaDriver) -> None:
        with driver.primary_context(1), driver.device_memory(BLOCK_BYTES) as other:
            arguments = blocks.swap_in_arguments()
            arguments["dst_ptrs"][2] = other.address
            error = swap_error(**arguments, stream=2)
            assert error.destination_memory == kvswap.Memory(
                "device", 1, other.address, BLOCK_BYTES
            )
        assert (error.status, error.index, error.submitted) == ("devices", 2, 0)
        assert not isinstance(error, ValueError)


class TestDriver:
    """The driver refuses a call midway."""

    def test_batch(
        self, simulator: kvswap_sim.Simulator, blocks: Blocks, stream: Stream
    ) -> None:
        simulator.fail("cuMemcpyBatchAsync", INVALID_VALUE, call=2, index=1)
        arguments = blocks.scattered_arguments()
        error = swap_error(**arguments, stream=stream, engine="batch", max_batch=2)
        assert error.status == "driver"
        assert error.cuda_error == INVALID_VALUE
        assert error.index == 3
        assert (error.submitted, error.submitted_bytes) == (2, 2 * BLOCK_BYTES)
        assert error.source == blocks.host_addresses[SCATTERED[3]]
        assert error.destination == blocks.gpu_addresses[SCATTERED[3]]
        assert error.size == BLOCK_BYTES
        assert error.source_memory is not None and error.source_memory.kind == "pinned"
        assert error.destination_memory is not None
        assert error.destination_memory.kind == "device"
        assert "index 3" in str(error) and "CUDA_ERROR_INVALID_VALUE" in str(error)
        stream.synchronize()
        content = blocks.gpu.read()
        for position, block in enumerate(SCATTERED):
            part = slice(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES)
            if position < 2:
                assert content[part] == blocks.content[part]
            else:
                assert not any(content[part])

    def test_loop(self, simulator: kvswap_sim.Simulator, blocks: Blocks) -> None:
        simulator.fail("cuMemcpyAsync", INVALID_VALUE, call=3)
        error = swap_error(**blocks.scattered_arguments(), stream=0, engine="batch")
        assert (error.status, error.index, error.submitted) == ("driver", 2, 2)
        assert error.unavailable == {"batch": "legacy_stream"}

    def test_no_descriptor_is_blamed(
        self, simulator: kvswap_sim.Simulator, blocks: Blocks
    ) -> None:
        simulator.fail("cuMemcpyBatchAsync", ILLEGAL_ADDRESS)
        error = swap_error(**blocks.swap_in_arguments(), stream=2, engine="batch")
        assert error.status == "driver"
        assert error.cuda_error == ILLEGAL_ADDRESS
        assert error.index is None
        assert error.source is error.destination is error.size is None
        assert error.source_memory is error.destination_memory is None
        assert error.submitted == 0


def test_no_context(driver: CudaDriver) -> None:
    host = ctypes.create_string_buffer(16)
    address = ctypes.addressof(host)
    error = swap_error(integers([address]), integers([address + 8]), integers([8]))
    assert error.status == "no_context"
    assert error.index is None


class TestCapture:
    """Streams that capture, or whose neighbour does."""

    def test_implicit(self, blocks: Blocks, driver: CudaDriver, stream: Stream) -> None:
        stream.begin_capture()
        error = swap_error(**blocks.swap_in_arguments(), stream=0)
        assert error.status == "capture"
        assert error.cuda_error == STREAM_CAPTURE_IMPLICIT
        # The other stream's capture is as it was.
        with stream.end_capture() as graph:
            assert graph.node_count() == 0

    @pytest.mark.parametrize(
        "options",
        [{"src_access": "during_api_call"}, {"engine": "batch", "strict": True}],
    )
    def test_unsupported(
        self, blocks: Blocks, stream: Stream, options: dict[str, Any]
    ) -> None:
        stream.begin_capture()
        with pytest.raises(kvswap.UnsupportedError) as raised:
            kvswap.swap_blocks_batch(
                **blocks.swap_in_arguments(), stream=stream, **options
            )
        error = raised.value
        assert error.status == "unsupported"
        assert error.unavailable["batch"] == "capturing"
        assert error.submitted == 0
        # Both a mistake in an argument and a call that was not carried out.
        assert isinstance(error, ValueError)
        assert isinstance(error, kvswap.SwapError)
        with stream.end_capture() as graph:
            assert graph.node_count() == 0

    def test_copies_become_nodes(
        self, blocks: Blocks, driver: CudaDriver, stream: Stream
    ) -> None:
        """The control: what is accepted while capturing is in the graph."""
        stream.begin_capture()
        result = kvswap.swap_blocks_batch(
            **blocks.scattered_arguments(), stream=stream, engine="batch"
        )
        with stream.end_capture() as graph, graph.instantiate() as executable:
            assert graph.node_count() == BLOCKS
            assert not blocks.arrived()
            executable.launch(stream)
            stream.synchronize()
        assert result.unavailable == {"batch": "capturing"}
        assert blocks.arrived()


def test_during_api_call_on_the_legacy_stream(blocks: Blocks) -> None:
    with pytest.raises(ValueError, match="during_api_call") as raised:
        kvswap.swap_blocks_batch(
            **blocks.swap_in_arguments(), stream=0, src_access="during_api_call"
        )
    assert isinstance(raised.value, kvswap.UnsupportedError)
    assert raised.value.unavailable["batch"] == "legacy_stream"
    assert not blocks.arrived()


def test_plan_raises_what_the_call_would(blocks: Blocks) -> None:
    arguments = blocks.swap_in_arguments()
    arguments["src_ptrs"][1] = WILD
    error = swap_error(**arguments, stream=2)
    with pytest.raises(kvswap.SwapError) as raised:
        kvswap.plan(**arguments, stream=2)
    assert str(raised.value) == str(error)
    assert raised.value.__dict__ == error.__dict__


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(blocks: Blocks, protocol: int) -> None:
    arguments = blocks.swap_in_arguments()
    arguments["src_ptrs"][1] = WILD
    error = swap_error(**arguments, stream=2)
    error.extra = "set by a caller"  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is kvswap.SwapError
    assert str(again) == str(error)
    assert again.args == error.args
    assert again.__dict__ == error.__dict__
    assert again.index == 1


def test_unsupported_error_can_be_pickled_and_copied(blocks: Blocks) -> None:
    with pytest.raises(kvswap.UnsupportedError) as raised:
        kvswap.swap_blocks_batch(
            **blocks.swap_in_arguments(), stream=0, engine="batch", strict=True
        )
    for again in (pickle.loads(pickle.dumps(raised.value)), copy.copy(raised.value)):
        assert type(again) is kvswap.UnsupportedError
        assert again.__dict__ == raised.value.__dict__


def test_error_without_details() -> None:
    error = kvswap.SwapError("text")
    assert str(error) == "text"
    assert (error.status, error.index, error.unavailable) == ("unknown", None, {})


def test_error_in_a_context_of_another_gpu(driver: CudaDriver) -> None:
    """The device of the pointers decides, and the thread's context stays."""
    with driver.primary_context(1), make_blocks(driver) as blocks:
        with driver.primary_context(0):
            before = driver.current_context()
            arguments = blocks.swap_in_arguments()
            result = kvswap.swap_blocks_batch(**arguments, stream=2)
            arguments["src_ptrs"][0] = WILD
            error = swap_error(**arguments, stream=2)
            assert driver.current_context() == before
        assert result.device == 1
        assert (error.status, error.index) == ("memory", 0)
        assert blocks.arrived()
