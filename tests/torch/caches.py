"""Memory of the simulated driver as torch tensors: a GPU's cache and a pinned one."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from kvswap.testing.cuda_driver import CudaDriver, DeviceMemory, PinnedMemory

BLOCKS = 8
BLOCK_BYTES = 64
SIZE = BLOCKS * BLOCK_BYTES


def tensor_over(address: int, size: int = SIZE) -> torch.Tensor:
    """A uint8 CPU tensor of the bytes at an address, which torch need not own."""
    memory = (ctypes.c_char * size).from_address(address)
    return torch.frombuffer(memory, dtype=torch.uint8)


def integers(values: list[int]) -> torch.Tensor:
    """A tensor of int64."""
    return torch.tensor(values, dtype=torch.int64)


@dataclass
class Caches:
    """BLOCKS blocks on each side; those of the host have content, the GPU's are zero.

    Attributes:
        gpu_tensor: the GPU's blocks. To torch it is a CPU tensor; the CPU cannot read
            it.
        host_tensor: the host's blocks.
        content: of the host's blocks at first.
    """

    host: PinnedMemory
    gpu: DeviceMemory
    content: bytes

    def __post_init__(self) -> None:
        self.host_tensor = tensor_over(self.host.address)
        self.gpu_tensor = tensor_over(self.gpu.address)

    def host_address(self, block: int) -> int:
        """Where a block of the host begins."""
        return self.host.address + block * BLOCK_BYTES

    def gpu_address(self, block: int) -> int:
        """Where a block of the GPU begins."""
        return self.gpu.address + block * BLOCK_BYTES

    def host_block(self, block: int) -> bytes:
        """What it holds."""
        offset = block * BLOCK_BYTES
        return bytes(self.host.view[offset : offset + BLOCK_BYTES])

    def gpu_block(self, block: int) -> bytes:
        """What it holds, once all copies have run."""
        self.gpu.driver.synchronize()
        return self.gpu.read(block * BLOCK_BYTES, BLOCK_BYTES)

    def original(self, block: int) -> bytes:
        """What a block of the host held at first."""
        return self.content[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES]


@contextmanager
def make_caches(driver: CudaDriver) -> Iterator[Caches]:
    """Allocates in the current context, frees at the end."""
    content = bytes(position % 251 + 1 for position in range(SIZE))
    with driver.pinned_memory(SIZE) as host, driver.device_memory(SIZE) as gpu:
        host.view[:] = content
        gpu.write(bytes(SIZE))
        yield Caches(host, gpu, content)
        driver.synchronize()
