"""torch.compile and torch.export keep the calls, and their order.

Each copy reads what the one before wrote, so a call that is missing or comes too early
shows in the bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import kvswap.torch_ops  # noqa: F401  # registers the operators
import kvswap_sim
from tests.torch.caches import BLOCK_BYTES, Caches, integers

BACKENDS = ("eager", "aot_eager", "inductor")


def relay_by_address(places: torch.Tensor, sizes: torch.Tensor) -> None:
    """A block from place 0 to place 1, from there to place 2, and so on."""
    for step in range(3):
        torch.ops.kvswap.swap_blocks_batch(
            places[step : step + 1], places[step + 1 : step + 2], sizes
        )


def relay_by_tensor(
    host: torch.Tensor, gpu: torch.Tensor, mappings: list[torch.Tensor]
) -> None:
    """A block of the host to the GPU, back to another place, and to the GPU again."""
    torch.ops.kvswap.swap_blocks(host, gpu, BLOCK_BYTES, mappings[0])
    torch.ops.kvswap.swap_blocks(gpu, host, BLOCK_BYTES, mappings[1])
    torch.ops.kvswap.swap_blocks(host, gpu, BLOCK_BYTES, mappings[2])


class RelayByAddress(torch.nn.Module):  # type: ignore[misc]  # torch is not looked at
    def forward(self, places: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        relay_by_address(places, sizes)
        return places + sizes


@pytest.fixture(autouse=True)
def fresh_compiler() -> None:
    torch._dynamo.reset()


def places_of(caches: Caches) -> tuple[torch.Tensor, torch.Tensor]:
    places = integers(
        [
            caches.host_address(1),
            caches.gpu_address(5),
            caches.host_address(3),
            caches.gpu_address(6),
        ]
    )
    return places, integers([BLOCK_BYTES])


def calls_of(simulator: kvswap_sim.Simulator) -> list[tuple[int, int]]:
    return [
        (call.arguments["source"], call.arguments["destination"])
        for call in simulator.trace("cuMemcpyAsync")
    ]


def check_relay(
    caches: Caches, simulator: kvswap_sim.Simulator, run: Callable[[], Any]
) -> None:
    simulator.clear_trace()
    run()
    places = places_of(caches)[0].tolist()
    assert calls_of(simulator) == list(zip(places[:-1], places[1:], strict=True))
    assert caches.gpu_block(6) == caches.original(1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiled_by_address(
    caches: Caches, simulator: kvswap_sim.Simulator, backend: str
) -> None:
    compiled = torch.compile(relay_by_address, backend=backend, fullgraph=True)
    check_relay(caches, simulator, lambda: compiled(*places_of(caches)))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_compiled_by_tensor(
    caches: Caches, simulator: kvswap_sim.Simulator, backend: str
) -> None:
    """aot_eager copies dst, which the CPU can not do here; streams_test has it."""
    mappings = [torch.tensor([pair]) for pair in ([1, 5], [5, 3], [3, 6])]
    compiled = torch.compile(relay_by_tensor, backend=backend, fullgraph=True)
    check_relay(
        caches,
        simulator,
        lambda: compiled(caches.host_tensor, caches.gpu_tensor, mappings),
    )


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("decomposed", [False, True])
def test_exported(
    caches: Caches, simulator: kvswap_sim.Simulator, strict: bool, decomposed: bool
) -> None:
    program = torch.export.export(RelayByAddress(), places_of(caches), strict=strict)
    if decomposed:
        program = program.run_decompositions()
    check_relay(caches, simulator, lambda: program.module()(*places_of(caches)))


def test_removal_of_dead_code_keeps_calls(caches: Caches) -> None:
    program = torch.export.export(RelayByAddress(), places_of(caches), strict=False)
    module = program.module()
    assert isinstance(module, torch.fx.GraphModule)
    module.graph.eliminate_dead_code()
    operator = torch.ops.kvswap.swap_blocks_batch.default
    assert sum(node.target is operator for node in module.graph.nodes) == 3


def test_calls_are_chained_by_tokens(caches: Caches) -> None:
    """What keeps their order through passes that move operators."""
    program = torch.export.export(RelayByAddress(), places_of(caches), strict=False)
    graph = program.run_decompositions().graph
    with_effects = torch.ops.higher_order.with_effects
    calls = [node for node in graph.nodes if node.target is with_effects]
    assert len(calls) == 3
    for before, after in zip(calls[:-1], calls[1:], strict=True):
        token = after.args[0]
        assert token.args == (before, 0)


def test_meta_tensors_copy_nothing(simulator: kvswap_sim.Simulator) -> None:
    simulator.clear_trace()
    meta = torch.zeros(4, dtype=torch.int64, device="meta")
    torch.ops.kvswap.swap_blocks_batch(meta, meta, meta)
    assert simulator.trace() == []
