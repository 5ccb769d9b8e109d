"""Blocks of NumPy arrays on the simulated driver: no GPU, and no torch.

    pip install 'kvswap[sim]' numpy
    python examples/numpy_simulated.py

Shows how a program is tested without a GPU: copies by each engine, then a driver that
fails on demand, and what the error says of it. Its times are not a GPU's.
"""

from __future__ import annotations

import os
import sys

import numpy as np

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver

BLOCKS, BLOCK_BYTES = 64, 4096
CUDA_ERROR_ILLEGAL_ADDRESS = 700


def block_addresses(base: int, blocks: np.ndarray) -> np.ndarray:
    """Where blocks of a cache begin that starts at `base`."""
    addresses: np.ndarray = base + blocks * BLOCK_BYTES
    return addresses


def main() -> int:
    """Runs the example; the exit status."""
    # Before the first call of kvswap: a process looks for its driver once.
    os.environ.update(kvswap_sim.environment("13.0"))
    simulator = kvswap_sim.Simulator()
    driver = CudaDriver(simulator.path)
    with (
        driver.primary_context(0),
        driver.device_memory(BLOCKS * BLOCK_BYTES) as gpu,
        driver.pinned_memory(BLOCKS * BLOCK_BYTES) as pinned,
        driver.stream(non_blocking=True) as stream,
    ):
        generator = np.random.default_rng(seed=1)
        content = generator.integers(0, 256, (BLOCKS, BLOCK_BYTES), dtype=np.uint8)
        host = np.frombuffer(pinned.view, dtype=np.uint8).reshape(BLOCKS, BLOCK_BYTES)
        gpu_blocks, host_blocks = generator.permutation(BLOCKS), np.arange(BLOCKS)
        arguments = (
            block_addresses(gpu.address, gpu_blocks),
            block_addresses(pinned.address, host_blocks),
            np.full(BLOCKS, BLOCK_BYTES, dtype=np.int64),
        )

        gpu.write(content.tobytes())
        for engine in ("batch", "loop", "kernel"):
            host[:] = 0
            result = kvswap.swap_blocks_batch(*arguments, stream=stream, engine=engine)
            # The copies may run after the call has returned.
            stream.synchronize()
            if not np.array_equal(host, content[gpu_blocks]):
                print(f"wrong bytes from the engine {engine}", file=sys.stderr)
                return 1
            print(f"{result.engine}: {result.submitted} blocks, every byte is right")

        # The third batch call from now on fails, and blames the copy at 5 of its own.
        simulator.fail(
            "cuMemcpyBatchAsync", CUDA_ERROR_ILLEGAL_ADDRESS, call=3, index=5
        )
        try:
            kvswap.swap_blocks_batch(
                *arguments, stream=stream, engine="batch", max_batch=16
            )
        except kvswap.SwapError as error:
            print(f"block {error.index} failed with CUDA error {error.cuda_error}:")
            print(f"  {error}")
            # What the driver had accepted still runs: the memory has to outlive it.
            stream.synchronize()
        else:
            print("the driver's error was not reported", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
