"""The `stream` argument: which handle reaches the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver, Stream
from tests.python.descriptors import Blocks, integers, make_blocks


class IntSubclass(int):
    """A handle of a type of its own."""


class WithMethod:
    """The CUDA stream protocol."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __cuda_stream__(self) -> Any:
        return self.answer


class WithAttribute:
    """The protocol as it was at first: an attribute."""

    def __init__(self, answer: Any) -> None:
        self.__cuda_stream__ = answer


class TorchLike:
    """What torch.cuda.Stream has."""

    def __init__(self, handle: Any) -> None:
        self.cuda_stream = handle


class TorchLikeWithProtocol(TorchLike, WithMethod):
    """What later versions of torch.cuda.Stream have: both, in agreement."""

    def __init__(self, handle: int) -> None:
        TorchLike.__init__(self, handle)
        WithMethod.__init__(self, (0, handle))


@pytest.fixture
def stream(driver: CudaDriver, context: None) -> Any:
    """A created stream, which no other test of this process has."""
    with driver.stream() as stream:
        yield stream


def handles_used(
    simulator: kvswap_sim.Simulator, blocks: Blocks, stream: Any
) -> set[int]:
    """The streams on which the driver got copies, and that asked for the capture."""
    simulator.clear_trace()
    kvswap.swap_blocks_batch(**blocks.swap_in_arguments(), stream=stream)
    calls = [
        call
        for call in simulator.trace()
        if call.name in ("cuMemcpyBatchAsync", "cuMemcpyAsync", "cuStreamIsCapturing")
    ]
    assert len(calls) > 1
    assert blocks.arrived()
    return {call.arguments["stream"] for call in calls}


KINDS: dict[str, Callable[[int], Any]] = {
    "handle": lambda handle: handle,
    "handle of an int subclass": IntSubclass,
    "protocol": lambda handle: WithMethod((0, handle)),
    "protocol as an attribute": lambda handle: WithAttribute((0, handle)),
    "torch.cuda.Stream": TorchLike,
    "later torch.cuda.Stream": TorchLikeWithProtocol,
}


@pytest.mark.parametrize("kind", KINDS)
def test_kind_of_stream(
    simulator: kvswap_sim.Simulator, blocks: Blocks, stream: Stream, kind: str
) -> None:
    argument = KINDS[kind](stream.handle)
    assert handles_used(simulator, blocks, argument) == {stream.handle}


def test_stream_of_the_driver_client(
    simulator: kvswap_sim.Simulator, blocks: Blocks, stream: Stream
) -> None:
    assert handles_used(simulator, blocks, stream) == {stream.handle}


@pytest.mark.parametrize("handle", [0, 1, 2])
def test_handles_with_a_meaning_of_their_own(
    simulator: kvswap_sim.Simulator, blocks: Blocks, handle: int
) -> None:
    assert handles_used(simulator, blocks, handle) == {handle}


@pytest.mark.parametrize("number", [3, 35, 65535])
def test_numbers_of_another_kind(blocks: Blocks, number: int) -> None:
    """The driver would end the process: it takes them for addresses."""
    message = f"stream {number} is no stream's handle"
    for argument in (number, TorchLike(number), WithMethod((0, number))):
        with pytest.raises(ValueError, match=message):
            kvswap.swap_blocks_batch(**blocks.swap_in_arguments(), stream=argument)
    assert kvswap.plan(**blocks.swap_in_arguments(), stream=0).copies


def test_plan_takes_the_same_streams(blocks: Blocks, stream: Stream) -> None:
    def kind(argument: Any) -> str:
        return kvswap.plan(**blocks.swap_in_arguments(), stream=argument).stream_kind

    assert kind(0) == kind(1) == kind(None) == "legacy"
    assert kind(2) == "per_thread"
    assert kind(stream) == kind(TorchLike(stream.handle)) == "created"


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "protocol of a later version": (
        WithMethod((1, 3)),
        TypeError,
        "follows version 1 of the protocol; kvswap knows version 0",
    ),
    "protocol that gives a list": (WithMethod([0, 3]), TypeError, r"gives \[0, 3\]"),
    "protocol that gives a number": (WithMethod(3), TypeError, "gives 3"),
    "protocol that gives three": (WithMethod((0, 3, 4)), TypeError, "gives"),
    "protocol that gives no ints": (WithMethod((0, None)), TypeError, "two ints"),
    "protocol that gives a bool": (WithMethod((0, True)), TypeError, "two ints"),
    "protocol that gives no version": (WithMethod((None, 3)), TypeError, "two ints"),
    "protocol with a negative handle": (WithMethod((0, -1)), ValueError, "-1"),
    "protocol with a large handle": (WithMethod((0, 2**64)), ValueError, str(2**64)),
    "attribute that is no tuple": (WithAttribute(3), TypeError, "gives 3"),
    "cuda_stream that is no int": (TorchLike("3"), TypeError, "not a .*TorchLike"),
    "cuda_stream that is negative": (TorchLike(-3), ValueError, "stream.cuda_stream"),
    "object": (object(), TypeError, "not an object"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_stream(blocks: Blocks, case: str) -> None:
    argument, error, message = REFUSED[case]
    with pytest.raises(error, match=message) as raised:
        kvswap.swap_blocks_batch(**blocks.swap_in_arguments(), stream=argument)
    assert raised.type is error
    assert "stream" in str(raised.value)
    assert not blocks.arrived()


def test_errors_of_a_stream_object_are_its_own(blocks: Blocks) -> None:
    class Broken:
        @property
        def cuda_stream(self) -> int:
            raise OSError("the stream is gone")

    stream: Any = Broken()
    with pytest.raises(OSError, match="the stream is gone"):
        kvswap.swap_blocks_batch(**blocks.swap_in_arguments(), stream=stream)


class TestNone:
    """Without a stream: torch's current one, if torch can have one."""

    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch, stream: Stream) -> list[Any]:
        """torch with CUDA initialised; the devices whose stream was asked for."""
        asked: list[Any] = []

        def current_stream(device: Any) -> TorchLike:
            asked.append(device)
            return TorchLike(stream.handle)

        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.cuda, "current_stream", current_stream)
        return asked

    def test_legacy_where_torch_has_not_initialised_cuda(
        self,
        simulator: kvswap_sim.Simulator,
        blocks: Blocks,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def current_stream(device: Any) -> None:
            pytest.fail("asking torch for a stream would initialise CUDA")

        monkeypatch.setattr(torch.cuda, "current_stream", current_stream)
        assert handles_used(simulator, blocks, None) == {0}

    def test_current_stream_of_torch(
        self,
        simulator: kvswap_sim.Simulator,
        blocks: Blocks,
        stream: Stream,
        asked: list[Any],
    ) -> None:
        assert handles_used(simulator, blocks, None) == {stream.handle}
        assert asked == [0]

    @pytest.mark.parametrize("gpu", [0, 1])
    @pytest.mark.parametrize("direction", ["in", "out"])
    def test_device_of_the_pointers(
        self, driver: CudaDriver, asked: list[Any], gpu: int, direction: str
    ) -> None:
        with driver.primary_context(gpu), make_blocks(driver) as blocks:
            source, destination = blocks.host_addresses, blocks.gpu_addresses
            if direction == "out":
                source, destination = destination, source
            kvswap.plan(integers(source), integers(destination), integers([8] * 4))
        assert asked == [gpu]

    def test_current_device_where_no_pointer_names_one(
        self, blocks: Blocks, asked: list[Any]
    ) -> None:
        host = integers(blocks.host_addresses[:1])
        kvswap.swap_blocks_batch(
            host, integers(blocks.host_addresses[1:2]), integers([8])
        )
        assert asked == [None]

    def test_device_of_descriptors_that_copy_something(
        self, driver: CudaDriver, asked: list[Any]
    ) -> None:
        """A pointer with size zero need not be one, and names no device."""
        with driver.primary_context(1), make_blocks(driver) as blocks:
            kvswap.plan(
                integers([0, blocks.host.address]),
                integers([0xDEAD, blocks.gpu.address]),
                integers([0, 8]),
            )
        assert asked == [1]

    def test_raw_stream_where_torch_has_that_call(
        self,
        simulator: kvswap_sim.Simulator,
        blocks: Blocks,
        driver: CudaDriver,
        asked: list[Any],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A torch built with CUDA gives the handle alone, which takes less time."""
        devices = []

        with driver.stream() as other:

            def raw_stream(device: int) -> int:
                devices.append(device)
                return other.handle

            monkeypatch.setattr(
                torch._C, "_cuda_getCurrentRawStream", raw_stream, raising=False
            )
            assert handles_used(simulator, blocks, None) == {other.handle}
        assert devices == [0]
        assert asked == []

    def test_stream_is_asked_after_the_arrays_are_checked(
        self, blocks: Blocks, asked: list[Any]
    ) -> None:
        arguments = blocks.swap_in_arguments()
        arguments["sizes"] = arguments["sizes"][:-1]
        with pytest.raises(ValueError, match="sizes"):
            kvswap.swap_blocks_batch(**arguments)
        assert asked == []
