"""torch.ops.kvswap.swap_blocks_batch: what is copied, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

import kvswap
import kvswap.torch_ops  # noqa: F401  # registers the operators
import kvswap_sim
from tests.torch.caches import BLOCK_BYTES, Caches, integers

swap_blocks_batch = torch.ops.kvswap.swap_blocks_batch


def copy_calls(simulator: kvswap_sim.Simulator) -> list[kvswap_sim.Call]:
    return [call for call in simulator.trace() if call.name.startswith("cuMemcpy")]


def test_source_destination_size_in_this_order(caches: Caches) -> None:
    assert (
        swap_blocks_batch(
            integers([caches.host_address(1), caches.host_address(2)]),
            integers([caches.gpu_address(5), caches.gpu_address(0)]),
            integers([BLOCK_BYTES, 7]),
        )
        is None
    )
    assert caches.gpu_block(5) == caches.original(1)
    assert caches.gpu_block(0) == caches.original(2)[:7] + bytes(BLOCK_BYTES - 7)
    untouched = [block for block in range(8) if block not in (0, 5)]
    assert [caches.gpu_block(block) for block in untouched] == [bytes(BLOCK_BYTES)] * 6

    swap_blocks_batch(
        src_ptrs=integers([caches.gpu_address(5)]),
        dst_ptrs=integers([caches.host_address(7)]),
        sizes=integers([BLOCK_BYTES]),
    )
    caches.gpu.driver.synchronize()
    assert caches.host_block(7) == caches.original(1)


def test_addresses_as_uint64(caches: Caches) -> None:
    swap_blocks_batch(
        integers([caches.host_address(3)]).to(torch.uint64),
        integers([caches.gpu_address(4)]).to(torch.uint64),
        integers([BLOCK_BYTES]).to(torch.uint64),
    )
    assert caches.gpu_block(4) == caches.original(3)


def test_nothing_to_copy(caches: Caches, simulator: kvswap_sim.Simulator) -> None:
    simulator.clear_trace()
    nothing = integers([])
    swap_blocks_batch(nothing, nothing, nothing)
    swap_blocks_batch(integers([0]), integers([0]), integers([0]))
    assert copy_calls(simulator) == []


def test_one_library_with_the_module(caches: Caches) -> None:
    """The operator's calls are in the counters that kvswap.stats() reads."""
    before = kvswap.stats()
    swap_blocks_batch(
        integers([caches.host_address(3)]),
        integers([caches.gpu_address(4)]),
        integers([BLOCK_BYTES]),
    )
    after = kvswap.stats()
    assert after.calls == before.calls + 1
    assert sum(after.bytes.values()) == sum(before.bytes.values()) + BLOCK_BYTES


def _arguments(caches: Caches) -> dict[str, torch.Tensor]:
    return {
        "src_ptrs": integers([caches.host_address(block) for block in range(3)]),
        # Every other block: none of the copies continues the one before.
        "dst_ptrs": integers([caches.gpu_address(2 * block) for block in range(3)]),
        "sizes": integers([BLOCK_BYTES] * 3),
    }


def _negative(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.clone()
    tensor[2] = -5
    return tensor


WRONG_ARRAYS: dict[str, tuple[Callable[[torch.Tensor], Any], str]] = {
    "int32": (lambda t: t.to(torch.int32), "has another dtype than torch.int64"),
    "floating point": (lambda t: t.to(torch.float64), "has another dtype"),
    "two dimensions": (lambda t: t[:, None], "has 2 dimensions; it must have 1"),
    "no dimension": (lambda t: t[0], "has 0 dimensions; it must have 1"),
    "not contiguous": (lambda t: t.repeat_interleave(2)[::2], "is not contiguous"),
    "repeated by stride 0": (lambda t: t[:1].expand(3), "is not contiguous"),
    "sparse": (lambda t: t.to_sparse(), "is not a dense (strided) tensor"),
    "negative": (_negative, "[2] is negative: -5"),
}


@pytest.mark.parametrize("argument", ["src_ptrs", "dst_ptrs", "sizes"])
@pytest.mark.parametrize("wrong", WRONG_ARRAYS)
def test_wrong_array(
    caches: Caches, simulator: kvswap_sim.Simulator, argument: str, wrong: str
) -> None:
    make, message = WRONG_ARRAYS[wrong]
    arguments = _arguments(caches)
    arguments[argument] = make(arguments[argument])
    simulator.clear_trace()
    with pytest.raises(RuntimeError, match=re.escape(message)) as raised:
        swap_blocks_batch(**arguments)
    assert str(raised.value).startswith(f"swap_blocks_batch: {argument}")
    assert copy_calls(simulator) == []


def test_unequal_lengths(caches: Caches) -> None:
    arguments = _arguments(caches)
    arguments["dst_ptrs"] = arguments["dst_ptrs"][:2]
    with pytest.raises(RuntimeError, match="must be of equal length, not 3, 2 and 3"):
        swap_blocks_batch(**arguments)


def test_no_tensor(caches: Caches) -> None:
    arguments: dict[str, Any] = _arguments(caches)
    arguments["sizes"] = [BLOCK_BYTES] * 3
    with pytest.raises((RuntimeError, TypeError), match="sizes"):
        swap_blocks_batch(**arguments)


def _fault(caches: Caches, kind: str) -> dict[str, torch.Tensor]:
    arguments = _arguments(caches)
    if kind == "null pointer":
        arguments["dst_ptrs"][1] = 0
    elif kind == "no memory":
        arguments["src_ptrs"][1] = 0x40
    elif kind == "past the end":
        arguments["sizes"][1] = 1 << 20
    return arguments


@pytest.mark.parametrize("kind", ["null pointer", "no memory", "past the end"])
def test_messages_arrive_whole(caches: Caches, kind: str) -> None:
    """As the module has them, index and all, though no C++ exception is torch's."""
    arguments = _fault(caches, kind)
    with pytest.raises((kvswap.SwapError, ValueError)) as of_module:
        kvswap.swap_blocks_batch(**arguments)
    with pytest.raises(RuntimeError) as of_operator:
        swap_blocks_batch(**arguments)
    expected = str(of_module.value)
    assert "[1]" in expected
    assert expected.endswith("Nothing was submitted")
    assert str(of_operator.value) == f"swap_blocks_batch: {expected}"


def test_errors_of_the_driver(caches: Caches, simulator: kvswap_sim.Simulator) -> None:
    simulator.fail("cuMemcpyAsync", 700, call=2)
    with pytest.raises(RuntimeError, match=r"700|ILLEGAL_ADDRESS") as raised:
        swap_blocks_batch(**_arguments(caches))
    assert "the copy at index 1" in str(raised.value)
    simulator.clear_faults()
    # The operator works as before.
    swap_blocks_batch(**_arguments(caches))
    assert caches.gpu_block(4) == caches.original(2)


def test_many_errors_leak_nothing(caches: Caches) -> None:
    """The tensors of a refused call are freed, too."""
    arguments = _fault(caches, "no memory")
    references = {name: tensor._use_count() for name, tensor in arguments.items()}
    for _ in range(100):
        with pytest.raises(RuntimeError):
            swap_blocks_batch(**arguments)
    assert {
        name: tensor._use_count() for name, tensor in arguments.items()
    } == references
