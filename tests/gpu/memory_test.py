"""Kinds of memory: pageable, read-only, managed, registered, torch's allocators."""

from __future__ import annotations

import ctypes
import mmap
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from gpu_support import (
    Driver,
    assert_healthy,
    copy_blocks,
    kvswap,
    random_bytes,
    run_in_child,
    stream_of_kind,
    torch,
)

MIB = 1 << 20
STREAM_KINDS = ("created", "torch_default")


@pytest.mark.parametrize("stream_kind", STREAM_KINDS)
@pytest.mark.parametrize("engine", ["batch", "loop"])
def test_pageable_memory(stream_kind: str, engine: str) -> None:
    there, back = random_bytes(MIB), torch.zeros(MIB, dtype=torch.uint8)
    device = torch.zeros(MIB, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    with stream_of_kind(stream_kind) as stream:
        copy_blocks(there, [1], device, [3], [70_001], stream=stream, engine=engine)
    with stream_of_kind(stream_kind) as stream:
        copy_blocks(device, [3], back, [2], [70_001], stream=stream, engine=engine)
    assert torch.equal(back[2:70_003], there[1:70_002])
    assert back[:2].eq(0).all() and back[70_003:].eq(0).all()


@pytest.fixture
def read_only_file(tmp_path: Any) -> Iterator[Any]:
    """A uint8 tensor over a file that is mapped for reading only."""
    path = tmp_path / "blocks"
    path.write_bytes(bytes(random_bytes(MIB).numpy()))
    with path.open("rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    with warnings.catch_warnings():
        # torch says once a process that it cannot mark the tensor as read-only.
        warnings.simplefilter("ignore", UserWarning)
        tensor = torch.frombuffer(mapping, dtype=torch.uint8)
    yield tensor


@pytest.mark.parametrize("engine", ["batch", "loop"])
def test_read_only_mapping_can_be_read(read_only_file: Any, engine: str) -> None:
    device = torch.zeros(MIB, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    with stream_of_kind("created") as stream:
        copy_blocks(
            read_only_file, [0], device, [0], [MIB], stream=stream, engine=engine
        )
    assert torch.equal(device.cpu(), read_only_file)


@pytest.mark.parametrize("engine", ["batch", "loop"])
def test_read_only_mapping_is_no_destination(read_only_file: Any, engine: str) -> None:
    before = read_only_file.clone()
    device = random_bytes(MIB, device="cuda")
    target = torch.zeros(100, dtype=torch.uint8)
    with pytest.raises(kvswap.SwapError) as raised:
        kvswap.swap_blocks_batch(
            torch.tensor([device.data_ptr()] * 2),
            torch.tensor([target.data_ptr(), read_only_file.data_ptr()]),
            torch.tensor([100, 100]),
            engine=engine,
        )
    assert raised.value.status == "memory"
    assert (raised.value.index, raised.value.submitted) == (1, 0)
    assert "dst_ptrs[1]" in str(raised.value)
    assert torch.equal(read_only_file, before)
    assert target.eq(0).all()


@pytest.fixture
def managed() -> Iterator[Any]:
    """A uint8 tensor over MIB bytes of managed memory."""
    driver, pointer = Driver(), ctypes.c_uint64()
    attach_global = 1
    driver.check(
        "cuMemAllocManaged",
        ctypes.byref(pointer),
        ctypes.c_size_t(MIB),
        ctypes.c_uint(attach_global),
    )
    memory = (ctypes.c_uint8 * MIB).from_address(pointer.value or 0)
    yield torch.frombuffer(memory, dtype=torch.uint8)
    torch.cuda.synchronize()
    driver.check("cuMemFree_v2", pointer)


@pytest.mark.parametrize("engine", ["batch", "loop"])
def test_managed_memory(managed: Any, engine: str) -> None:
    there = random_bytes(MIB, pinned=True)
    back = torch.zeros(MIB, dtype=torch.uint8).pin_memory()
    with stream_of_kind("created") as stream:
        copy_blocks(there, [5], managed, [7], [MIB - 7], stream=stream, engine=engine)
        copy_blocks(managed, [7], back, [0], [MIB - 7], stream=stream, engine=engine)
    assert torch.equal(back[: MIB - 7], there[5 : MIB - 2])


@pytest.fixture
def registered_halves() -> Iterator[Any]:
    """A uint8 tensor over a mapping whose halves are registered one by one."""
    mapping = mmap.mmap(-1, 2 * MIB)
    tensor = torch.frombuffer(mapping, dtype=torch.uint8)
    runtime = torch.cuda.cudart()
    for half in range(2):
        assert (
            int(runtime.cudaHostRegister(tensor.data_ptr() + half * MIB, MIB, 0)) == 0
        )
    yield tensor
    torch.cuda.synchronize()
    for half in range(2):
        assert int(runtime.cudaHostUnregister(tensor.data_ptr() + half * MIB)) == 0


@pytest.mark.parametrize("engine", ["batch", "loop"])
def test_registered_memory(registered_halves: Any, engine: str) -> None:
    device = random_bytes(2 * MIB, device="cuda")
    with stream_of_kind("created") as stream:
        copy_blocks(
            device,
            [0, MIB],
            registered_halves,
            [0, MIB],
            [MIB, MIB],
            stream=stream,
            engine=engine,
        )
    assert torch.equal(registered_halves, device.cpu())


@pytest.mark.parametrize("stream_kind", STREAM_KINDS)
@pytest.mark.parametrize("engine", ["auto", "batch", "loop", "kernel", "bridge"])
def test_copies_across_a_registration_seam(
    registered_halves: Any, engine: str, stream_kind: str
) -> None:
    """The driver refuses a copy across; kvswap splits it."""
    device = random_bytes(2 * MIB, device="cuda")
    expected = torch.zeros(2 * MIB, dtype=torch.uint8)
    expected[:100] = device[:100].cpu()
    expected[MIB - 100 : MIB + 100] = device[1000:1200].cpu()
    offsets, targets, sizes = [0, 1000], [0, MIB - 100], [100, 200]
    with stream_of_kind(stream_kind) as stream:
        result = copy_blocks(
            device,
            offsets,
            registered_halves,
            targets,
            sizes,
            engine=engine,
            stream=stream,
        )
    assert result.submitted == 2
    assert torch.equal(registered_halves, expected)
    # And back, beside a copy of everything: the seam is in the middle of it.
    back = torch.zeros(2 * MIB + 200, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    with stream_of_kind(stream_kind) as stream:
        copy_blocks(
            registered_halves,
            [0, MIB - 100],
            back,
            [0, 2 * MIB],
            [2 * MIB, 200],
            engine=engine,
            stream=stream,
        )
    assert torch.equal(back[: 2 * MIB].cpu(), expected)
    assert torch.equal(back[2 * MIB :].cpu(), expected[MIB - 100 : MIB + 100])
    assert_healthy()


@pytest.mark.parametrize("engine", ["batch", "loop"])
def test_driver_refuses_a_descriptor_midway(engine: str) -> None:
    """A read-only registration as a destination: the driver alone can tell."""
    host_register_read_only = 8
    bad, count, max_batch = 300, 400, 128
    mapping = mmap.mmap(-1, MIB)
    read_only = torch.frombuffer(mapping, dtype=torch.uint8)
    runtime = torch.cuda.cudart()
    code = int(
        runtime.cudaHostRegister(read_only.data_ptr(), MIB, host_register_read_only)
    )
    if code != 0:
        pytest.skip(f"this system has no read-only registration: error {code}")
    device = torch.full((2 * count,), 7, dtype=torch.uint8, device="cuda")
    host = torch.zeros(2 * count, dtype=torch.uint8).pin_memory()
    # Every other byte: neighbours would become one copy.
    offsets = 2 * torch.arange(count)
    targets = host.data_ptr() + offsets
    targets[bad] = read_only.data_ptr()
    try:
        with (
            stream_of_kind("created") as stream,
            pytest.raises(kvswap.SwapError) as raised,
        ):
            kvswap.swap_blocks_batch(
                device.data_ptr() + offsets,
                targets,
                torch.ones(count, dtype=torch.int64),
                stream=stream,
                engine=engine,
                max_batch=max_batch,
            )
    finally:
        torch.cuda.synchronize()
        runtime.cudaHostUnregister(read_only.data_ptr())
    error = raised.value
    assert (error.status, error.cuda_error) == ("driver", Driver.INVALID_VALUE)
    assert error.index == bad
    assert error.destination == read_only.data_ptr()
    assert error.source_memory is not None and error.source_memory.kind == "device"
    # What was submitted before arrives. Of the refused call, copies before the one at
    # fault may arrive too; those after it do not.
    uses_batch = engine == "batch" and kvswap.driver_info().batch_available
    assert error.submitted == (bad // max_batch * max_batch if uses_batch else bad)
    assert error.submitted_bytes == error.submitted
    arrived = int(host.eq(7).sum())
    assert error.submitted <= arrived <= bad
    assert host[offsets[:arrived]].eq(7).all()


ALLOCATOR_ROUND = """
import torch, kvswap
size = 64 << 20
device = torch.zeros(size, dtype=torch.uint8, device="cuda")
host = torch.randint(0, 256, (size,), dtype=torch.uint8).pin_memory()
back = torch.zeros(size, dtype=torch.uint8).pin_memory()
assert {check}
block = 3 << 20  # does not divide 2 or 20 MiB, of which mappings are made
offsets = torch.arange(0, size - block + 1, block)
sizes = torch.full_like(offsets, block)
for stream in (torch.cuda.Stream(), None):
    device.zero_(); back.zero_(); torch.cuda.synchronize()
    kvswap.swap_blocks_batch(host.data_ptr() + offsets, device.data_ptr() + offsets,
                             sizes, stream=stream)
    kvswap.swap_blocks_batch(device.data_ptr() + offsets, back.data_ptr() + offsets,
                             sizes, stream=stream)
    torch.cuda.synchronize()
    end = int(offsets[-1]) + block
    assert torch.equal(back[:end], host[:end])
    assert torch.equal(device[:end].cpu(), host[:end])
try:
    kvswap.swap_blocks_batch(host.data_ptr() + offsets[:1],
                             device.data_ptr() + torch.tensor([size - 10]),
                             torch.tensor([1 << 40]))
except kvswap.SwapError as error:
    assert error.index == 0 and error.submitted == 0, error
else:
    raise AssertionError("an overrun was accepted")
print("bytes equal")
"""


@pytest.mark.parametrize(
    ("configuration", "check"),
    [
        (
            "expandable_segments:True",
            "all(s['is_expandable'] for s in torch.cuda.memory_snapshot())",
        ),
        (
            "backend:cudaMallocAsync",
            "torch.cuda.get_allocator_backend() == 'cudaMallocAsync'",
        ),
    ],
)
def test_allocators_of_torch(configuration: str, check: str) -> None:
    output = run_in_child(
        ALLOCATOR_ROUND.format(check=check),
        PYTORCH_CUDA_ALLOC_CONF=configuration,
        PYTORCH_ALLOC_CONF=configuration,
    )
    assert "bytes equal" in output
