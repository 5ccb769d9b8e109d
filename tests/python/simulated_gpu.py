"""The benchmark's GPU on the simulated driver: managed memory, which the host sees too."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import time
from typing import Any

from kvswap.benchmark.gpu import Gpu


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
