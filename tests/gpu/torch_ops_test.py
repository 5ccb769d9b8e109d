"""torch's operators on CUDA tensors: streams, graphs, compiled code."""

from __future__ import annotations

import importlib
import pathlib
from typing import Any

import pytest
from gpu_support import TWO_GPUS, addresses, kvswap, random_bytes, torch

BLOCKS = 64
BLOCK_BYTES = 16 * 1024
SIZE = BLOCKS * BLOCK_BYTES

if not pathlib.Path(kvswap.__file__).with_name("libkvswap_torch.so").exists():
    pytest.skip(
        "this package has no libkvswap_torch.so, as build_module.py makes none",
        allow_module_level=True,
    )
importlib.import_module("kvswap.torch_ops")
ops: Any = torch.ops.kvswap


def caches() -> tuple[Any, Any]:
    """A pinned and a CUDA tensor of random and so different content."""
    host = random_bytes(SIZE, pinned=True)
    gpu = random_bytes(SIZE, device="cuda")
    torch.cuda.synchronize()
    return host.view(BLOCKS, -1), gpu.view(BLOCKS, -1)


def batch_arguments(source: Any, destination: Any, mapping: Any) -> tuple[Any, ...]:
    return (
        source.data_ptr() + mapping[:, 0] * BLOCK_BYTES,
        destination.data_ptr() + mapping[:, 1] * BLOCK_BYTES,
        torch.full((len(mapping),), BLOCK_BYTES, dtype=torch.int64),
    )


def random_mapping() -> Any:
    half = BLOCKS // 2
    return torch.stack(
        [torch.randperm(BLOCKS)[:half], torch.randperm(BLOCKS)[:half]], dim=1
    )


def call(operator: str, source: Any, destination: Any, mapping: Any) -> None:
    if operator == "swap_blocks":
        ops.swap_blocks(source, destination, BLOCK_BYTES, mapping)
    else:
        ops.swap_blocks_batch(*batch_arguments(source, destination, mapping))


def expected_of(source: Any, destination: Any, mapping: Any) -> Any:
    expected = destination.cpu().clone()
    expected[mapping[:, 1]] = source.cpu()[mapping[:, 0]]
    return expected


OPERATORS = pytest.mark.parametrize("operator", ["swap_blocks_batch", "swap_blocks"])
DIRECTIONS = pytest.mark.parametrize("direction", ["in", "out", "inside"])


@OPERATORS
@DIRECTIONS
@pytest.mark.parametrize("stream_kind", ["created", "default"])
def test_blocks_arrive(operator: str, direction: str, stream_kind: str) -> None:
    host, gpu = caches()
    source, destination = {
        "in": (host, gpu),
        "out": (gpu, host),
        "inside": (gpu, torch.zeros_like(gpu)),
    }[direction]
    torch.cuda.synchronize()
    mapping = random_mapping()
    expected = expected_of(source, destination, mapping)
    before = kvswap.stats()
    if stream_kind == "created":
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            call(operator, source, destination, mapping)
        stream.synchronize()
    else:
        call(operator, source, destination, mapping)
        torch.cuda.synchronize()
    assert torch.equal(destination.cpu(), expected)
    after = kvswap.stats()
    assert after.calls == before.calls + 1
    used = {name for name in after.copies if after.copies[name] > before.copies[name]}
    assert used
    if stream_kind == "created" and kvswap.driver_info().batch_available:
        assert used <= {"batch", "kernel"}
    if stream_kind == "default":
        assert "batch" not in used


@OPERATORS
def test_after_earlier_and_before_later_work_of_the_current_stream(
    operator: str,
) -> None:
    host, gpu = caches()
    host.fill_(1)
    mapping = torch.tensor([[block, block] for block in range(BLOCKS)])
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        gpu.fill_(2)
        call(operator, host, gpu, mapping)
        later = gpu.clone()
        gpu.fill_(3)
    stream.synchronize()
    assert later.eq(1).all()
    assert gpu.eq(3).all()


@OPERATORS
def test_captured_copies_run_with_the_graph(operator: str) -> None:
    host, gpu = caches()
    mapping = random_mapping()
    expected = expected_of(host, gpu, mapping)
    before = gpu.cpu()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call(operator, host, gpu, mapping)
    torch.cuda.synchronize()
    assert torch.equal(gpu.cpu(), before), "capturing is not copying"
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(gpu.cpu(), expected)


def test_capture_of_copies_to_memory_that_is_not_pinned() -> None:
    """They cannot be waited for there, and the capture is not harmed."""
    _, gpu = caches()
    pageable = torch.zeros(BLOCKS, BLOCK_BYTES, dtype=torch.uint8)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ops.swap_blocks(gpu, pageable, BLOCK_BYTES, torch.tensor([[3, 5]]))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(pageable[5], gpu[3].cpu())


def test_copies_to_memory_that_is_not_pinned_have_run() -> None:
    _, gpu = caches()
    pageable = torch.zeros(BLOCKS, BLOCK_BYTES, dtype=torch.uint8)
    mapping = random_mapping()
    expected = expected_of(gpu, pageable, mapping)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        ops.swap_blocks(gpu, pageable, BLOCK_BYTES, mapping)
        # Nothing of this test waits.
        assert torch.equal(pageable, expected)


def test_copies_to_pinned_memory_are_not_waited_for() -> None:
    host, gpu = caches()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(1_000_000_000)
        ops.swap_blocks(gpu, host, BLOCK_BYTES, torch.tensor([[3, 5]]))
        assert not stream.query()
    stream.synchronize()
    assert torch.equal(host[5], gpu[3].cpu())


@TWO_GPUS
@OPERATORS
def test_stream_of_the_device_of_the_memory(operator: str) -> None:
    """Not of torch's current device."""
    host = random_bytes(SIZE, pinned=True).view(BLOCKS, -1)
    gpu = random_bytes(SIZE, device="cuda:1").view(BLOCKS, -1)
    mapping = torch.tensor([[block, block] for block in range(BLOCKS)])
    stream = torch.cuda.Stream(device="cuda:1")
    torch.cuda.synchronize("cuda:1")
    with torch.cuda.stream(stream), torch.cuda.device(0):
        torch.cuda._sleep(1000)
        call(operator, host, gpu, mapping)
    stream.synchronize()
    assert torch.equal(gpu.cpu(), host)


@TWO_GPUS
def test_tensors_of_two_gpus() -> None:
    tensors = [torch.zeros(SIZE, device=f"cuda:{gpu}") for gpu in (0, 1)]
    with pytest.raises(RuntimeError, match="are on two GPUs, cuda:0 and cuda:1"):
        ops.swap_blocks(*tensors, BLOCK_BYTES, torch.tensor([[0, 0]]))


def test_arguments_on_the_gpu_are_refused() -> None:
    host, gpu = caches()
    mapping = torch.tensor([[0, 0]])
    source, destination, sizes = batch_arguments(host, gpu, mapping)
    with pytest.raises(RuntimeError, match="dst_ptrs is a tensor on device cuda:0"):
        ops.swap_blocks_batch(source, destination.cuda(), sizes)
    with pytest.raises(RuntimeError, match="block_mapping is a tensor on device cuda"):
        ops.swap_blocks(host, gpu, BLOCK_BYTES, mapping.cuda())
    with pytest.raises(RuntimeError, match="neither src nor dst is in a GPU's memory"):
        ops.swap_blocks(host, host.clone(), BLOCK_BYTES, mapping)


def test_messages_arrive_whole() -> None:
    host, _ = caches()
    arguments = (addresses(host, [0]), torch.tensor([64]), torch.tensor([8]))
    with pytest.raises(kvswap.SwapError) as of_module:
        kvswap.swap_blocks_batch(*arguments)
    with pytest.raises(RuntimeError) as of_operator:
        ops.swap_blocks_batch(*arguments)
    assert str(of_operator.value) == f"swap_blocks_batch: {of_module.value}"


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(backend: str) -> None:
    """Each copy reads what the one before wrote; the last two go to the CPU."""

    def relay(host: Any, gpu: Any, mappings: list[Any]) -> Any:
        ops.swap_blocks(host, gpu, BLOCK_BYTES, mappings[0])
        total = gpu[5].sum()
        ops.swap_blocks(gpu, host, BLOCK_BYTES, mappings[1])
        ops.swap_blocks(host, gpu, BLOCK_BYTES, mappings[2])
        return total

    host, gpu = caches()
    first = host[1].clone()
    mappings = [torch.tensor([pair]) for pair in ([1, 5], [5, 3], [3, 6])]
    torch._dynamo.reset()
    compiled = torch.compile(relay, backend=backend, fullgraph=True)
    total = compiled(host, gpu, mappings)
    torch.cuda.synchronize()
    assert total.item() == first.sum().item()
    assert torch.equal(host[3], first)
    assert torch.equal(gpu[5].cpu(), first)
    assert torch.equal(gpu[6].cpu(), first)


def test_opcheck() -> None:
    host, gpu = caches()
    for arguments in (
        (host, gpu, BLOCK_BYTES, random_mapping()),
        (gpu, host, BLOCK_BYTES, random_mapping()),
    ):
        found = torch.library.opcheck(ops.swap_blocks.default, arguments)
        assert set(found.values()) == {"SUCCESS"}
    mapping = random_mapping()
    found = torch.library.opcheck(
        ops.swap_blocks_batch.default, batch_arguments(host, gpu, mapping)
    )
    assert set(found.values()) == {"SUCCESS"}
    torch.cuda.synchronize()
