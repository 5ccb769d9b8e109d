"""torch with a GPU, by the simulated driver: for pages whose code expects one.

Where torch has no CUDA of its own, `device="cuda"` makes a CPU tensor over GPU memory of
the simulated driver: kvswap copies it, and whoever reads its values is ended by a
segmentation fault, as the host cannot touch such memory. Pinned memory, streams and
events are the driver's. What pages do not use is not there.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from kvswap.testing.cuda_driver import CudaDriver, Stream
from kvswap.testing.cuda_driver import Event as DriverEvent


class SimulatedCuda:
    """What stands for `torch.cuda`."""

    def __init__(self, driver: CudaDriver) -> None:
        self._driver = driver
        self._memory: list[Any] = []
        self._current = SimulatedStream(driver, 0)

    def tensor(self, shape: tuple[int, ...], dtype: Any, pinned: bool) -> Any:
        """A tensor in memory of the driver, zeroed."""
        size = math.prod(shape) * dtype.itemsize
        memory = (
            self._driver.pinned_memory(size)
            if pinned
            else self._driver.device_memory(size)
        )
        self._memory.append(memory)
        self._driver.write(memory.address, bytes(size))
        array = (ctypes.c_ubyte * size).from_address(memory.address)
        return torch.frombuffer(array, dtype=torch.uint8).view(dtype).view(shape)

    def Stream(self, *_arguments: Any, **_keywords: Any) -> SimulatedStream:  # noqa: N802
        handle = self._driver.stream(non_blocking=True)
        self._memory.append(handle)
        return SimulatedStream(self._driver, handle)

    def Event(self) -> SimulatedEvent:  # noqa: N802
        return SimulatedEvent(self._driver, self.current_stream)

    def current_stream(self, *_device: Any) -> SimulatedStream:
        return self._current

    @contextlib.contextmanager
    def stream(self, stream: SimulatedStream) -> Iterator[None]:
        before, self._current = self._current, stream
        yield
        self._current = before

    def synchronize(self) -> None:
        self._driver.synchronize()

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        # kvswap then takes the legacy stream where none is given, as it would be here.
        return False


class SimulatedEvent:
    """What stands for a `torch.cuda.Event`."""

    def __init__(
        self, driver: CudaDriver, current: Callable[[], SimulatedStream]
    ) -> None:
        self.event: DriverEvent = driver.event()
        self._current = current

    def record(self, stream: SimulatedStream | None = None) -> None:
        self.event.record((stream or self._current()).handle)

    def synchronize(self) -> None:
        self.event.synchronize()


class SimulatedStream:
    """What stands for a `torch.cuda.Stream`."""

    def __init__(self, driver: CudaDriver, handle: Stream | int) -> None:
        self._driver = driver
        self.handle = handle
        self.cuda_stream = handle if isinstance(handle, int) else handle.handle
        self.device = torch.device("cuda", 0)

    def wait_event(self, event: SimulatedEvent) -> None:
        self._driver.wait_event(self.handle, event.event)

    def wait_stream(self, other: SimulatedStream) -> None:
        event = self._driver.event()
        event.record(other.handle)
        self._driver.wait_event(self.handle, event)

    def synchronize(self) -> None:
        self._driver.synchronize_stream(self.handle)


def _factory(original: Callable[..., Any], cuda: SimulatedCuda) -> Callable[..., Any]:
    def make(*shape: Any, **keywords: Any) -> Any:
        pinned = keywords.pop("pin_memory", False)
        if not pinned and not str(keywords.get("device", "cpu")).startswith("cuda"):
            return original(*shape, **keywords)
        sizes = shape[0] if isinstance(shape[0], tuple | list) else shape
        dtype = keywords.get("dtype") or torch.get_default_dtype()
        return cuda.tensor(tuple(sizes), dtype, pinned)

    return make


def install(driver: CudaDriver) -> None:
    """Changes torch in this process; a context of the driver has to be current."""
    cuda = SimulatedCuda(driver)

    def pin_memory(tensor: Any) -> Any:
        return cuda.tensor(tuple(tensor.shape), tensor.dtype, True).copy_(tensor)

    module: Any = torch
    module.empty = _factory(torch.empty, cuda)
    module.zeros = _factory(torch.zeros, cuda)
    module.Tensor.pin_memory = pin_memory
    for name in (
        "Event",
        "Stream",
        "current_stream",
        "is_available",
        "is_initialized",
        "stream",
        "synchronize",
    ):
        setattr(module.cuda, name, getattr(cuda, name))
