"""Where the demo's blocks are: in tensors of torch, or in the driver's own memory."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from kvswap._demo_arrays import ArrayLibrary
from kvswap.testing.cuda_driver import CudaDriver


@dataclass(frozen=True)
class DemoStream:
    """A stream that the demo copies on.

    Attributes:
        name: for people.
        argument: as kvswap's calls take it.
        synchronize: waits for its work.
    """

    name: str
    argument: Any
    synchronize: Callable[[], None]


class BlockMemory(Protocol):
    """A cache of blocks on a GPU, and one of the same shape in pinned host memory.

    Attributes:
        gpu_address: of the GPU's cache.
        host_address: of the host's cache.
        host_blocks: the host's cache, uint8 of shape (blocks, block_bytes).
        streams: what to copy on.
    """

    gpu_address: int
    host_address: int
    host_blocks: Any
    streams: list[DemoStream]

    def write_gpu(self, blocks: Any) -> None:
        """Sets the GPU's cache; is done when it returns."""

    def read_gpu(self) -> Any:
        """A copy of the GPU's cache in host memory, after all work."""


class TorchMemory(BlockMemory):
    """CUDA tensors and pinned tensors of torch."""

    def __init__(self, blocks: int, block_bytes: int, device: int) -> None:
        import torch

        self._torch: Any = torch
        shape = (blocks, block_bytes)
        # torch's current device: its default stream is the current one there.
        torch.cuda.set_device(device)
        self._gpu_blocks = torch.empty(shape, dtype=torch.uint8, device="cuda")
        self.host_blocks = torch.zeros(shape, dtype=torch.uint8, pin_memory=True)
        self.gpu_address = self._gpu_blocks.data_ptr()
        self.host_address = self.host_blocks.data_ptr()
        created = self._torch.cuda.Stream()
        self.streams = [
            DemoStream("created", created, created.synchronize),
            # As a program has it that never mentions streams.
            DemoStream("torch's default", None, torch.cuda.synchronize),
        ]

    def write_gpu(self, blocks: Any) -> None:
        """See BlockMemory."""
        self._gpu_blocks.copy_(blocks)
        self._torch.cuda.synchronize()

    def read_gpu(self) -> Any:
        """See BlockMemory."""
        self._torch.cuda.synchronize()
        return self._gpu_blocks.cpu()


class DriverMemory(BlockMemory):
    """Memory of a real or simulated driver, by its own calls."""

    def __init__(
        self,
        driver: CudaDriver,
        arrays: ArrayLibrary,
        blocks: int,
        block_bytes: int,
        resources: contextlib.ExitStack,
    ) -> None:
        """Allocates in the current context; `resources` gives all of it back."""
        self._driver = driver
        self._arrays = arrays
        self._shape = (blocks, block_bytes)
        self._size = blocks * block_bytes
        gpu = resources.enter_context(driver.device_memory(self._size))
        pinned = resources.enter_context(driver.pinned_memory(self._size))
        created = resources.enter_context(driver.stream(non_blocking=True))
        self.gpu_address = gpu.address
        self.host_address = pinned.address
        self.host_blocks = arrays.of_memory(pinned.view, block_bytes)
        self.streams = [
            DemoStream("created", created, created.synchronize),
            DemoStream("legacy default", 0, driver.synchronize),
        ]

    def write_gpu(self, blocks: Any) -> None:
        """See BlockMemory."""
        self._driver.call(
            "cuMemcpyHtoD_v2",
            ctypes.c_uint64(self.gpu_address),
            ctypes.c_void_p(self._arrays.address(blocks)),
            ctypes.c_size_t(self._size),
        )

    def read_gpu(self) -> Any:
        """See BlockMemory."""
        self._driver.synchronize()
        blocks = self._arrays.empty_blocks(*self._shape)
        self._driver.call(
            "cuMemcpyDtoH_v2",
            ctypes.c_void_p(self._arrays.address(blocks)),
            ctypes.c_uint64(self.gpu_address),
            ctypes.c_size_t(self._size),
        )
        return blocks
