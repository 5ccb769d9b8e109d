"""Where the demo's blocks are: a pool on a GPU, a larger one in pinned host memory."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Protocol

import kvswap
from kvswap.testing.cuda_driver import CudaDriver

_LEGACY_STREAM = 0


class Caches(Protocol):
    """A pool of blocks on a GPU, and one of the host.

    Attributes:
        gpu: the GPU's pool.
        host: the pool in pinned host memory.
        stream: what to copy on, as kvswap's calls take it.
    """

    gpu: kvswap.BlockPool
    host: kvswap.BlockPool
    stream: Any

    def write_gpu(self, block: int, content: bytes) -> None:
        """Sets a block of the GPU; is done when it returns."""

    def read_gpu(self, block: int) -> bytes:
        """What a block of the GPU holds, after all work."""


def read_host(pool: kvswap.BlockPool, block: int) -> bytes:
    """What a block of a pool in host memory holds, once copies to it are done."""
    return b"".join(
        ctypes.string_at(region.address + block * region.stride, region.block_bytes)
        for region in pool.regions
    )


class TorchCaches(Caches):
    """A CUDA tensor of torch, and pinned memory of kvswap."""

    def __init__(
        self,
        block_counts: tuple[int, int],
        block_bytes: int,
        device: int,
        default_stream: bool,
    ) -> None:
        import torch

        self._torch: Any = torch
        # torch's current device: its default stream is the current one there.
        torch.cuda.set_device(device)
        shape = (block_counts[0], block_bytes)
        self._blocks = torch.zeros(shape, dtype=torch.uint8, device="cuda")
        self.gpu = kvswap.BlockPool(self._blocks)
        self.host = kvswap.pinned_pool(self.gpu, block_counts[1])
        # None: as a program has it that never mentions streams.
        self.stream = None if default_stream else torch.cuda.Stream()

    def write_gpu(self, block: int, content: bytes) -> None:
        """See Caches."""
        host = self._torch.frombuffer(bytearray(content), dtype=self._torch.uint8)
        self._blocks[block].copy_(host)
        self._torch.cuda.synchronize()

    def read_gpu(self, block: int) -> bytes:
        """See Caches."""
        self._torch.cuda.synchronize()
        # By address: a tensor gives bytes through NumPy alone, which may be absent.
        host = self._blocks[block].cpu()
        return ctypes.string_at(host.data_ptr(), host.numel())


class DriverCaches(Caches):
    """Memory of a real or simulated driver, by its own calls."""

    def __init__(
        self,
        driver: CudaDriver,
        block_counts: tuple[int, int],
        block_bytes: int,
        device: int,
        default_stream: bool,
        resources: contextlib.ExitStack,
    ) -> None:
        """Allocates in the current context; `resources` gives all of it back."""
        self._driver = driver
        memory = resources.enter_context(
            driver.device_memory(block_counts[0] * block_bytes)
        )
        self.gpu = kvswap.BlockPool.from_regions(
            [kvswap.Region(memory.address, block_bytes, block_bytes)],
            block_counts[0],
            device=device,
            owner=memory,
        )
        # Before the memory goes, copies that are under way are waited for.
        resources.callback(self.gpu.invalidate, "the demo is over")
        self.host = kvswap.pinned_pool(self.gpu, block_counts[1])
        resources.callback(self.host.invalidate, "the demo is over")
        self.stream = (
            _LEGACY_STREAM
            if default_stream
            else resources.enter_context(driver.stream(non_blocking=True))
        )
        self._address, self._block_bytes = memory.address, block_bytes

    def write_gpu(self, block: int, content: bytes) -> None:
        """See Caches."""
        self._driver.write(self._address + block * self._block_bytes, content)
        self._driver.synchronize()

    def read_gpu(self, block: int) -> bytes:
        """See Caches."""
        self._driver.synchronize()
        address = self._address + block * self._block_bytes
        return self._driver.read(address, self._block_bytes)
