"""Lets programs for torch.cuda run on the simulated driver, with a torch for the CPU.

GPU tensors are managed memory of that driver, which the CPU reaches too. An operation of
torch waits for the current stream and then runs at once, which is one of the orders that
a GPU could choose: waits that the *current* stream lacks show as wrong bytes. That
copies wait for torch's operations cannot be tested so; tests/pools/ordering_test.py
does.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kvswap.testing.cuda_driver import CudaDriver, Stream


class SimulatedStream:
    """What the examples use of a torch.cuda.Stream."""

    def __init__(self, driver: CudaDriver) -> None:
        self._driver = driver
        self._stream: Stream = driver.stream(non_blocking=True)

    def __cuda_stream__(self) -> tuple[int, int]:
        return self._stream.__cuda_stream__()

    def wait_stream(self, other: SimulatedStream) -> None:
        """Lets later work wait for what another stream has been given so far."""
        with self._driver.event() as event:
            event.record(other._stream)
            self._stream.wait_event(event)

    def synchronize(self) -> None:
        """Waits for all work."""
        self._stream.synchronize()


class _InStreamOrder(TorchDispatchMode):  # type: ignore[misc]
    def __init__(self, stream: SimulatedStream) -> None:
        super().__init__()
        self._stream = stream

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self._stream.synchronize()
        return operation(*args, **(kwargs or {}))


class SimulatedCuda:
    """torch.cuda on the simulated driver, whose context has to be current."""

    def __init__(self, driver: CudaDriver) -> None:
        self._driver = driver
        self.current = SimulatedStream(driver)

    def zeros(self, shape: tuple[int, ...]) -> torch.Tensor:
        """A tensor of float32 in memory of the GPU."""
        size = 4 * torch.Size(shape).numel()
        memory = self._driver.managed_memory(size)
        array = (ctypes.c_ubyte * size).from_address(memory.address)
        tensor = torch.frombuffer(array, dtype=torch.float32).view(shape)
        tensor.zero_()
        return tensor

    @contextlib.contextmanager
    def in_place_of_torch_cuda(self) -> Iterator[None]:
        """For the `with` block, torch.cuda is this."""
        with (
            mock.patch("torch.cuda.Stream", lambda: SimulatedStream(self._driver)),
            mock.patch("torch.cuda.current_stream", lambda: self.current),
            _InStreamOrder(self.current),
        ):
            yield
