"""Swaps three blocks out of "GPU memory" of the simulated driver and compares them."""

from __future__ import annotations

import os
from array import array

import kvswap_sim

os.environ["KVSWAP_LIBCUDA"] = kvswap_sim.library_path("12.8")

import kvswap
from kvswap.testing.cuda_driver import CudaDriver

BLOCK_BYTES = 4096
BLOCKS = 3


def main() -> None:
    content = os.urandom(BLOCKS * BLOCK_BYTES)
    driver = CudaDriver(os.environ["KVSWAP_LIBCUDA"])
    with driver.primary_context(0):
        stream = driver.stream()
        gpu_cache = driver.device_memory(len(content))
        pinned = driver.pinned_memory(len(content))
        gpu_cache.write(content)

        offsets = [block * BLOCK_BYTES for block in range(BLOCKS)]
        result = kvswap.swap_blocks_batch(
            array("q", [gpu_cache.address + offset for offset in offsets]),
            array("q", [pinned.address + offset for offset in offsets]),
            array("q", [BLOCK_BYTES] * BLOCKS),
            stream=stream,
        )
        stream.synchronize()
        assert result.submitted == BLOCKS, result
        assert bytes(pinned.view) == content, "the bytes did not arrive"


if __name__ == "__main__":
    main()
