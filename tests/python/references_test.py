"""Calls keep no reference and no memory, whether they succeed or not."""

from __future__ import annotations

import array
import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import kvswap
from tests.python.descriptors import Blocks, integers

ROUNDS = 200

# What has been imported until here need not be searched for garbage again and again.
gc.freeze()


class StreamObject:
    """A stream whose handle is a large int, an object of its own."""

    def __init__(self, handle: int) -> None:
        self.cuda_stream = handle


def succeed(arguments: dict[str, Any]) -> None:
    """A call, and all that can be read of its result."""
    result = kvswap.swap_blocks_batch(**arguments)
    assert result.engine and result.copies
    assert (result.device, result.dropped, result.unavailable) == (0, 0, {})
    repr(result)


def plan(arguments: dict[str, Any]) -> None:
    """A plan."""
    assert kvswap.plan(**arguments).copies


def make_a_policy(_arguments: dict[str, Any]) -> None:
    """A policy, out of the library's own rules."""
    assert repr(kvswap.get_policy(90))


def fail_to_make_a_policy(_arguments: dict[str, Any]) -> None:
    """A policy that the library refuses."""
    with pytest.raises(ValueError, match="rule 1"):
        kvswap.Policy([*POLICY, kvswap.PolicyRule(engine="kernel")])


def fail_with(error: type[Exception], **changes: Any) -> Callable[..., None]:
    """A call that raises."""

    def fail(arguments: dict[str, Any]) -> None:
        try:
            kvswap.swap_blocks_batch(**(arguments | changes))
        except error:
            return
        pytest.fail("accepted")

    return fail


POLICY = kvswap.Policy([kvswap.PolicyRule(engine="loop")])

ACTIONS: dict[str, Callable[[dict[str, Any]], None]] = {
    "success": succeed,
    "plan": plan,
    "policy": lambda arguments: succeed(arguments | {"policy": POLICY}),
    "making a policy": make_a_policy,
    "wrong policy": fail_with(TypeError, policy=[]),
    "wrong rule": fail_to_make_a_policy,
    "wrong type": fail_with(TypeError, sizes=[1]),
    "wrong dtype": fail_with(TypeError, sizes=numpy.zeros(4)),
    "wrong dtype of a tensor": fail_with(TypeError, sizes=torch.zeros(4)),
    "wrong shape": fail_with(ValueError, sizes=numpy.zeros((4, 1), numpy.int64)),
    "wrong length": fail_with(ValueError, sizes=integers([1])),
    "negative": fail_with(ValueError, sizes=integers([1, 2, 3, -1])),
    "null": fail_with(ValueError, src_ptrs=integers([0] * 4)),
    "no memory": fail_with(kvswap.SwapError, src_ptrs=integers([0x4000] * 4)),
    "unsupported": fail_with(
        kvswap.UnsupportedError, stream=0, engine="batch", strict=True
    ),
    "unknown engine": fail_with(ValueError, engine="turbo"),
    "no stream": fail_with(TypeError, stream="stream"),
    "unknown keyword": fail_with(TypeError, anything=1),
}

KINDS: dict[str, Callable[[array.array[int]], Any]] = {
    "array": lambda values: values,
    "numpy": lambda values: numpy.array(values, numpy.int64),
    "torch": lambda values: torch.tensor(list(values)),
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_references_of_arguments(
    blocks: Blocks, driver: Any, action: str, kind: str
) -> None:
    with driver.stream() as stream:
        arguments = {
            name: KINDS[kind](values)
            for name, values in blocks.swap_in_arguments().items()
        }
        arguments["stream"] = StreamObject(stream.handle)
        watched = [*arguments.values(), arguments["stream"].cuda_stream, torch.int64]
        # What is made once, as imports, is not counted.
        ACTIONS[action](arguments)
        before = [sys.getrefcount(value) for value in watched]
        for _ in range(ROUNDS):
            ACTIONS[action](arguments)
        assert [sys.getrefcount(value) for value in watched] == before


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_memory(blocks: Blocks, driver: Any, action: str, kind: str) -> None:
    """The number of Python's memory blocks does not grow with the number of calls."""
    with driver.stream() as stream:
        arguments = {
            name: KINDS[kind](values)
            for name, values in blocks.swap_in_arguments().items()
        }
        arguments["stream"] = stream

        def grow() -> int:
            gc.collect()
            before = sys.getallocatedblocks()
            for _ in range(ROUNDS):
                ACTIONS[action](arguments)
            gc.collect()
            return sys.getallocatedblocks() - before

        grow()
        # A leak of one object a call would be ROUNDS in each measurement.
        assert min(grow() for _ in range(3)) < ROUNDS // 4


@pytest.mark.parametrize("name", ["driver_info", "stats"])
def test_memory_of_other_calls(simulator: Any, name: str) -> None:
    def grow() -> int:
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(ROUNDS):
            getattr(kvswap, name)()
        gc.collect()
        return sys.getallocatedblocks() - before

    grow()
    assert min(grow() for _ in range(3)) < ROUNDS // 4


def test_control_a_leak_is_seen() -> None:
    kept = []
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(ROUNDS):
        kept.append(object())
    gc.collect()
    assert sys.getallocatedblocks() - before >= ROUNDS
