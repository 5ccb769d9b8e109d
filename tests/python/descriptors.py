"""Blocks in simulated GPU memory and in pinned memory, and what describes copies."""

from __future__ import annotations

import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kvswap.testing.cuda_driver import CudaDriver, DeviceMemory, PinnedMemory

BLOCKS = 4
BLOCK_BYTES = 64

# An order of blocks in which none is contiguous with the one before.
SCATTERED = (2, 0, 3, 1)


def integers(values: Iterable[int]) -> array.array[int]:
    """A buffer of int64."""
    return array.array("q", values)


@dataclass
class Blocks:
    """BLOCKS blocks on each side; those of the host have content, the GPU's are zero.

    Attributes:
        content: of the host's blocks.
    """

    host: PinnedMemory
    gpu: DeviceMemory
    content: bytes

    @property
    def host_addresses(self) -> list[int]:
        """Address of each of the host's blocks."""
        return [self.host.address + block * BLOCK_BYTES for block in range(BLOCKS)]

    @property
    def gpu_addresses(self) -> list[int]:
        """Address of each of the GPU's blocks."""
        return [self.gpu.address + block * BLOCK_BYTES for block in range(BLOCKS)]

    def swap_in_arguments(self) -> dict[str, Any]:
        """Arguments that copy each host block to the GPU block beside it."""
        return {
            "src_ptrs": integers(self.host_addresses),
            "dst_ptrs": integers(self.gpu_addresses),
            "sizes": integers([BLOCK_BYTES] * BLOCKS),
        }

    def scattered_arguments(self) -> dict[str, Any]:
        """The same copies in the order SCATTERED: none is joined with a neighbour."""
        return {
            "src_ptrs": integers(self.host_addresses[block] for block in SCATTERED),
            "dst_ptrs": integers(self.gpu_addresses[block] for block in SCATTERED),
            "sizes": integers([BLOCK_BYTES] * BLOCKS),
        }

    def arrived(self) -> bool:
        """Whether the GPU's blocks are the host's; waits for all copies."""
        self.gpu.driver.synchronize()
        return self.gpu.read() == self.content


@contextmanager
def make_blocks(driver: CudaDriver) -> Iterator[Blocks]:
    """Allocates in the current context, frees at the end."""
    size = BLOCKS * BLOCK_BYTES
    content = bytes(position % 251 + 1 for position in range(size))
    with driver.pinned_memory(size) as host, driver.device_memory(size) as gpu:
        host.view[:] = content
        gpu.write(bytes(size))
        yield Blocks(host, gpu, content)
        driver.synchronize()
