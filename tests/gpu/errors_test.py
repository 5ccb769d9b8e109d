"""Bad input on a real driver: errors with an index, never a crash or a sticky error."""

from __future__ import annotations

import ctypes
import mmap
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from gpu_support import TWO_GPUS, Driver, copy_blocks, kvswap, random_bytes, torch

MIB = 1 << 20
_DRIVER = Driver()
ENGINES = pytest.mark.parametrize("engine", ["auto", "batch", "loop"])
STREAMS = pytest.mark.parametrize("stream", [0, 2])


@pytest.fixture
def host() -> Any:
    """Pinned host memory."""
    return random_bytes(MIB, pinned=True)


class Allocation:
    """Memory of the GPU past torch's allocator, which keeps and joins what it frees."""

    def __init__(self, size: int) -> None:
        address = ctypes.c_uint64()
        _DRIVER.check("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self.address = address.value
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (self.address, False),
            "version": 2,
        }

    def free(self) -> None:
        """Gives it back."""
        _DRIVER.check("cuMemFree_v2", ctypes.c_uint64(self.address))


@pytest.fixture
def device() -> Iterator[Any]:
    """Memory of the GPU that is an allocation of its own."""
    torch.cuda.init()
    torch.zeros(1, device="cuda")  # makes the context current
    allocation = Allocation(64 * MIB)
    yield torch.as_tensor(allocation, device="cuda")
    torch.cuda.synchronize()
    allocation.free()


def unmapped_address() -> int:
    """An address at which there was host memory, and is none now."""
    mapping = mmap.mmap(-1, 64 * MIB)
    address: int = torch.frombuffer(mapping, dtype=torch.uint8).data_ptr()
    mapping.close()
    return address


@ENGINES
@STREAMS
@pytest.mark.parametrize("side", ["source", "destination"])
def test_block_past_the_end_of_gpu_memory(
    host: Any, device: Any, engine: str, stream: int, side: str
) -> None:
    # Three descriptors; the first has size zero, so that kept and given indices differ.
    offsets, sizes = [0, 0, 64 * MIB - 100], [0, 50, 200]
    host_offsets = [0, 0, 100]
    with pytest.raises(kvswap.SwapError) as raised:
        if side == "source":
            copy_blocks(
                device, offsets, host, host_offsets, sizes, engine=engine, stream=stream
            )
        else:
            copy_blocks(
                host, host_offsets, device, offsets, sizes, engine=engine, stream=stream
            )
    error = raised.value
    assert (error.status, error.index, error.submitted) == ("memory", 2, 0)
    address = device.data_ptr() + 64 * MIB - 100
    assert address == (error.source if side == "source" else error.destination)
    memory = error.source_memory if side == "source" else error.destination_memory
    assert memory is not None and (memory.kind, memory.device) == ("device", 0)
    assert memory.range_start <= address < memory.range_start + memory.range_size
    assert memory.range_start + memory.range_size < address + 200
    pointers = "src_ptrs" if side == "source" else "dst_ptrs"
    assert f"{pointers}[2]" in str(error) and "past the end" in str(error)
    assert pickle.loads(pickle.dumps(error)).__dict__ == error.__dict__


@ENGINES
@STREAMS
@pytest.mark.parametrize("side", ["source", "destination"])
@pytest.mark.parametrize("kind", ["unmapped", "small", "not canonical"])
def test_address_that_is_no_memory(
    host: Any, device: Any, engine: str, stream: int, side: str, kind: str
) -> None:
    wild = {"unmapped": unmapped_address(), "small": 0x40, "not canonical": 1 << 60}
    good = [host.data_ptr(), host.data_ptr()]
    bad = [device.data_ptr(), wild[kind]]
    source, destination = (bad, good) if side == "source" else (good, bad)
    with pytest.raises(kvswap.SwapError) as raised:
        kvswap.swap_blocks_batch(
            torch.tensor(source),
            torch.tensor(destination),
            torch.tensor([8, 8]),
            engine=engine,
            stream=stream,
        )
    error = raised.value
    assert (error.status, error.index, error.submitted) == ("memory", 1, 0)
    memory = error.source_memory if side == "source" else error.destination_memory
    assert memory is not None and memory.kind == "none"


@ENGINES
def test_freed_gpu_memory(host: Any, engine: str) -> None:
    allocation = Allocation(64 * MIB)
    address = allocation.address
    allocation.free()
    with pytest.raises(kvswap.SwapError) as raised:
        kvswap.swap_blocks_batch(
            torch.tensor([host.data_ptr()]),
            torch.tensor([address]),
            torch.tensor([8]),
            engine=engine,
        )
    assert (raised.value.status, raised.value.index) == ("memory", 0)


@ENGINES
def test_null_pointer(host: Any, engine: str) -> None:
    with pytest.raises(ValueError, match=r"dst_ptrs\[1\] is null"):
        kvswap.swap_blocks_batch(
            torch.tensor([host.data_ptr()] * 2),
            torch.tensor([host.data_ptr() + 100, 0]),
            torch.tensor([8, 8]),
            engine=engine,
        )


@pytest.mark.parametrize("name", ["src_ptrs", "dst_ptrs", "sizes"])
def test_cuda_tensor_as_an_array(host: Any, name: str) -> None:
    arguments: dict[str, Any] = {
        "src_ptrs": torch.tensor([host.data_ptr()]),
        "dst_ptrs": torch.tensor([host.data_ptr() + 8]),
        "sizes": torch.tensor([8]),
    }
    arguments[name] = arguments[name].cuda()
    with pytest.raises(TypeError, match=f"{name} is a tensor on device cuda:0"):
        kvswap.swap_blocks_batch(**arguments)


def test_generic_torch_stream_is_no_stream(host: Any) -> None:
    stream = torch.Stream(device="cuda")
    if hasattr(stream, "__cuda_stream__") or hasattr(stream, "cuda_stream"):
        pytest.skip("this torch gives the handle of a generic stream")
    with pytest.raises(TypeError, match=r"stream must be .* not a torch\.Stream"):
        copy_blocks(host, [0], host, [8], [8], stream=stream)


@TWO_GPUS
def test_memory_of_two_gpus(host: Any) -> None:
    first, second = (
        torch.zeros(100, dtype=torch.uint8, device=f"cuda:{ordinal}")
        for ordinal in range(2)
    )
    with pytest.raises(kvswap.SwapError, match="GPU") as raised:
        kvswap.swap_blocks_batch(
            torch.tensor([host.data_ptr()] * 2),
            torch.tensor([first.data_ptr(), second.data_ptr()]),
            torch.tensor([8, 8]),
        )
    assert (raised.value.status, raised.value.index) == ("devices", 1)


@TWO_GPUS
def test_current_stream_is_that_of_the_pointers_device(host: Any) -> None:
    device = torch.zeros(100, dtype=torch.uint8, device="cuda:1")
    stream = torch.cuda.Stream(device=1)
    torch.cuda.synchronize(1)
    with torch.cuda.stream(stream), torch.cuda.device(0):
        result = copy_blocks(host, [0], device, [0], [100])
        assert torch.cuda.current_device() == 0
    stream.synchronize()
    assert result.device == 1
    assert torch.equal(device.cpu(), host[:100])
