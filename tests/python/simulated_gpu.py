"""The benchmark's GPU on the simulated driver: managed memory, which the host sees too."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import io
import json
import time
from typing import Any

from kvswap.benchmark.cells import D2D, D2H, H2D, Cell
from kvswap.benchmark.gpu import Gpu
from kvswap.benchmark.methods import TorchCopies
from kvswap.benchmark.pools import Blocks, Pools
from kvswap.testing.cuda_driver import CudaDriver


class SimulatedGpu(Gpu):
    """Device 0 of the simulated driver; its primary context has to be current."""

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")
        self._owners: list[Any] = []
        self._times: dict[int, float] = {}
        self._start(0, "cpu")

    def _tensor(self, memory: Any) -> Any:
        self._owners.append(memory)
        array = (ctypes.c_ubyte * memory.size).from_address(memory.address)
        return self.torch.frombuffer(array, dtype=self.torch.uint8)

    def device_bytes(self, size: int) -> Any:
        return self._tensor(self.driver.managed_memory(size))

    def pinned_bytes(self, size: int) -> Any:
        return self._tensor(self.driver.pinned_memory(size))

    def to_device(self, tensor: Any) -> Any:
        return tensor.clone()

    def on_stream(self, handle: int) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def synchronize(self) -> None:
        self.driver.synchronize()

    def stream_priorities(self) -> tuple[int, int]:
        return 0, 0

    def timing_event(self) -> int:
        """An event without timing: the simulation has none."""
        return self.driver.event().handle

    def record(self, event: int, stream: int) -> None:
        super().record(event, stream)
        self._times[event] = time.perf_counter()

    def seconds_between(self, begin: int, end: int) -> float:
        return max(1e-6, self._times[end] - self._times[begin])

    def close(self) -> None:
        """Gives all memory back."""
        self.synchronize()
        for owner in self._owners:
            owner.close()
        self._owners.clear()


def run_benchmark(*arguments: str) -> dict[str, Any]:
    """The whole benchmark on the simulated driver, in a process of its own.

    Returns:
        Its status, what it printed as JSON, and on stderr.
    """
    from kvswap import bench
    from kvswap.benchmark import many_ranges
    from kvswap.benchmark.arguments import parse_arguments
    from kvswap.benchmark.rounds import TimeBudget

    # Each mapping takes a while there.
    many_ranges.RANGES = 20
    options = parse_arguments([*arguments, "--json"])
    driver = CudaDriver()
    output, errors = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
        driver.primary_context(0),
    ):
        gpu = SimulatedGpu()
        try:
            status = bench.run_on(gpu, options, TimeBudget(options.seconds))
        finally:
            gpu.close()
    return {
        "status": status,
        "json": json.loads(output.getvalue()),
        "errors": errors.getvalue(),
    }


def look_at_blocks() -> dict[str, dict[str, str | None]]:
    """What is found of blocks that were not copied, were, and were spoilt.

    Returns:
        For each direction.
    """
    driver = CudaDriver()
    with driver.primary_context(0):
        gpu = SimulatedGpu()
        try:
            pools = Pools(gpu, 1 << 16, seed=1)
            return {
                direction: _look_at(pools.blocks(Cell(direction, 1000, 10))[0])
                for direction in (H2D, D2H, D2D)
            }
        finally:
            gpu.close()


def _look_at(blocks: Blocks) -> dict[str, str | None]:
    blocks.clear()
    cleared = blocks.wrong()
    TorchCopies(blocks, 0).submit()
    copied = blocks.wrong()
    blocks.target[blocks.target_ids[7]][-1] += 1
    return {"cleared": cleared, "copied": copied, "spoilt": blocks.wrong()}
