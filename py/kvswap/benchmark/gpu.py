"""The GPU of a benchmark: torch for memory and checks, the driver for the rest."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
from typing import Any

import kvswap
from kvswap import install_words
from kvswap.benchmark.environment import host_environment
from kvswap.testing.cuda_driver import CudaDriver, Stream

_EVENT_WITH_TIMING = 0
_PROC_ADDRESS_LEGACY_STREAM = 1
_BATCH_VERSION = 12080


class NoGpuError(RuntimeError):
    """There is nothing to measure on; the message says what is missing.

    Attributes:
        cure: what to do.
    """

    def __init__(self, message: str, cure: str) -> None:
        # All arguments: pickle makes the exception anew of what is kept as such.
        super().__init__(message, cure)
        self.cure = cure

    def __str__(self) -> str:
        return str(self.args[0])


class UnavailableError(RuntimeError):
    """A method does not exist here; the message says why."""


class Gpu:
    """A real GPU."""

    def __init__(self, device: int) -> None:
        """Makes it torch's current device.

        Raises:
            NoGpuError: there is no torch, or it has no such GPU.
        """
        try:
            self.torch: Any = importlib.import_module("torch")
        except ImportError as error:
            raise NoGpuError(
                f"the package torch, which makes the GPU's memory, is missing ({error})",
                f"{install_words.pip_command('torch')}   (a build with CUDA)",
            ) from error
        cuda = self.torch.cuda
        if not cuda.is_available():
            raise NoGpuError(
                f"torch {self.torch.__version__} finds no CUDA GPU here",
                "kvswap doctor   says why, and what to do",
            )
        if device >= cuda.device_count():
            raise NoGpuError(
                f"there is no GPU {device}: torch sees {cuda.device_count()}",
                f"take a --device from 0 to {cuda.device_count() - 1}",
            )
        cuda.set_device(device)
        self.torch.empty(1, device="cuda")  # makes the primary context current
        self._start(device, f"cuda:{device}")

    def _start(self, device: int, torch_device: str) -> None:
        self.device = device
        self.torch_device = torch_device
        self.driver = CudaDriver(kvswap.driver_info().path)

    # Memory ------------------------------------------------------------------

    def device_bytes(self, size: int) -> Any:
        """A uint8 tensor of the GPU, of any content."""
        return self.torch.empty(size, dtype=self.torch.uint8, device=self.torch_device)

    def pinned_bytes(self, size: int) -> Any:
        """A uint8 tensor of pinned memory, of any content."""
        return self.torch.empty(size, dtype=self.torch.uint8, pin_memory=True)

    def randomize(self, tensor: Any, seed: int) -> None:
        """Fills a tensor of the GPU whose size is a multiple of 8."""
        torch = self.torch
        generator = torch.Generator(device=self.torch_device).manual_seed(seed)
        tensor.view(torch.int64).random_(generator=generator)

    def to_device(self, tensor: Any) -> Any:
        """A copy of a host tensor on the GPU."""
        return tensor.to(self.torch_device)

    def synchronize(self) -> None:
        """Waits for everything."""
        self.torch.cuda.synchronize()

    # Streams and events ------------------------------------------------------

    def on_stream(self, handle: int) -> contextlib.AbstractContextManager[Any]:
        """Makes a stream torch's current one for a ``with`` block."""
        cuda = self.torch.cuda
        # torch knows the legacy stream as its default stream, not by its handle.
        stream = (
            cuda.default_stream() if handle in (0, 1) else cuda.ExternalStream(handle)
        )
        context: contextlib.AbstractContextManager[Any] = cuda.stream(stream)
        return context

    def stream(self, priority: int = 0) -> Stream:
        """A new non-blocking stream."""
        return self.driver.stream(non_blocking=True, priority=priority)

    def stream_priorities(self) -> tuple[int, int]:
        """The numbers of the least and the greatest priority of streams."""
        least, greatest = ctypes.c_int(), ctypes.c_int()
        self.driver.call(
            "cuCtxGetStreamPriorityRange", ctypes.byref(least), ctypes.byref(greatest)
        )
        return least.value, greatest.value

    def timing_event(self) -> int:
        """A new event with timing; lives as long as the process."""
        handle = ctypes.c_void_p()
        self.driver.call(
            "cuEventCreate", ctypes.byref(handle), ctypes.c_uint(_EVENT_WITH_TIMING)
        )
        return handle.value or 0

    def record(self, event: int, stream: int) -> None:
        """Records an event."""
        self.driver.call(
            "cuEventRecord", ctypes.c_void_p(event), ctypes.c_void_p(stream)
        )

    def is_done(self, event: int) -> bool:
        """Whether what an event was recorded after is done."""
        return self.driver.is_ready("cuEventQuery", ctypes.c_void_p(event))

    def wait(self, event: int) -> None:
        """Waits for an event."""
        self.driver.call("cuEventSynchronize", ctypes.c_void_p(event))

    def seconds_between(self, begin: int, end: int) -> float:
        """Time between two events that are done."""
        milliseconds = ctypes.c_float()
        self.driver.call(
            "cuEventElapsedTime",
            ctypes.byref(milliseconds),
            ctypes.c_void_p(begin),
            ctypes.c_void_p(end),
        )
        return milliseconds.value / 1e3

    # Functions of the driver -------------------------------------------------

    def address_of(self, function: str) -> int:
        """Where an exported function of the driver lies."""
        entry = getattr(self.driver.library, function)
        return ctypes.cast(entry, ctypes.c_void_p).value or 0

    def batch_function(self) -> int:
        """Where cuMemcpyBatchAsync with 9 arguments lies.

        Raises:
            UnavailableError: the driver has none.
        """
        function, status = ctypes.c_void_p(), ctypes.c_int(-1)
        code = self.driver.result(
            "cuGetProcAddress_v2",
            ctypes.c_char_p(b"cuMemcpyBatchAsync"),
            ctypes.byref(function),
            ctypes.c_int(_BATCH_VERSION),
            ctypes.c_uint64(_PROC_ADDRESS_LEGACY_STREAM),
            ctypes.byref(status),
        )
        if code != 0 or not function.value:
            raise UnavailableError(
                f"the driver has no cuMemcpyBatchAsync of CUDA 12.8 (code {code}, "
                f"status {status.value})"
            )
        return function.value

    # What it is --------------------------------------------------------------

    def environment(self, seed: int) -> dict[str, Any]:
        """What a result must be read with."""
        version = self.driver.version()
        return {
            "device": self.driver.device_name(self.device),
            "driver_cuda": f"{version // 1000}.{version % 1000 // 10}",
            "driver_build": _driver_build(),
            **host_environment(),
            "torch": str(self.torch.__version__),
            "seed": seed,
        }


def _driver_build(path: str = "/proc/driver/nvidia/version") -> str:
    """The version of the driver's kernel module, as "580.65.06"; "" if not told."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            words = file.readline().split()
    except OSError:
        return ""
    numbers = [word for word in words if word[:1].isdigit() and word.count(".") >= 1]
    return numbers[0] if numbers else ""
