"""kvswap.compat.vllm, called as vLLM's offload workers call its operators."""

from __future__ import annotations

import inspect

import pytest

import kvswap
import kvswap_sim
from kvswap.compat import vllm as ops
from kvswap.testing.cuda_driver import CudaDriver

torch = pytest.importorskip("torch")

_BLOCK = 64


def test_signatures() -> None:
    assert list(inspect.signature(ops.swap_blocks).parameters) == [
        "src",
        "dst",
        "block_size_in_bytes",
        "block_mapping",
    ]
    batch = inspect.signature(ops.swap_blocks_batch).parameters
    assert list(batch) == ["src_ptrs", "dst_ptrs", "sizes", "is_src_access_order_any"]
    assert batch["is_src_access_order_any"].default is False


def test_swap_blocks(driver: CudaDriver, context: None) -> None:
    source = torch.randint(0, 256, (6, 4, 16), dtype=torch.uint8)
    target = torch.zeros(8, 64, dtype=torch.uint8)
    mapping = torch.tensor([[5, 0], [1, 7], [5, 3]])
    ops.swap_blocks(source, target, _BLOCK, mapping)
    driver.synchronize()
    wanted = torch.zeros_like(target)
    for from_, to in mapping.tolist():
        wanted[to] = source.view(6, 64)[from_]
    assert torch.equal(target, wanted)


def test_ids_are_checked(driver: CudaDriver, context: None) -> None:
    tensor = torch.zeros(4, 64, dtype=torch.uint8)
    with pytest.raises(ValueError, match="block 4 is out of range in the destination"):
        ops.swap_blocks(tensor, torch.zeros_like(tensor), 64, torch.tensor([[0, 4]]))
    with pytest.raises(ValueError, match="block_size_in_bytes"):
        ops.swap_blocks(tensor, tensor, 0, torch.tensor([[0, 1]]))


@pytest.mark.parametrize("order_any", [False, True])
def test_swap_blocks_batch(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    context: None,
    monkeypatch: pytest.MonkeyPatch,
    order_any: bool,
) -> None:
    stream = driver.stream(non_blocking=True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(
        torch._C,
        "_cuda_getCurrentRawStream",
        lambda device: stream.handle,
        raising=False,
    )
    host = driver.pinned_memory(4 * _BLOCK)
    gpu = driver.device_memory(4 * _BLOCK)
    host.view[:] = bytes(range(256))
    blocks = torch.tensor([2, 0, 3])
    sizes = torch.full((3,), _BLOCK)
    # Without a rule, all copies go by the batch engine: the order is an attribute of
    # the driver's batch call.
    kvswap.set_policy(kvswap.Policy([]))
    try:
        ops.swap_blocks_batch(
            host.address + blocks * _BLOCK,
            gpu.address + torch.arange(3) * _BLOCK,
            sizes,
            is_src_access_order_any=order_any,
        )
    finally:
        kvswap.set_policy(None)
    stream.synchronize()
    content = bytes(range(256))
    assert gpu.read()[: 3 * _BLOCK] == content[128:192] + content[:64] + content[192:]
    (call,) = simulator.trace("cuMemcpyBatchAsync")
    assert call.arguments["source_access_orders"] == [3 if order_any else 1]
    assert call.arguments["stream"] == stream.handle


def test_a_wrong_dtype() -> None:
    pointers = torch.zeros(1, dtype=torch.int32)
    with pytest.raises(TypeError, match="src_ptrs has dtype torch.int32"):
        ops.swap_blocks_batch(pointers, pointers, pointers)
    assert kvswap.stats().calls >= 0
