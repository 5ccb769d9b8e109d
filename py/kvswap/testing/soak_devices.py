"""Where the soak test works: a real GPU through torch, or the simulated driver."""

from __future__ import annotations

import importlib
import os
import random
from collections.abc import Callable
from typing import Any, Protocol

from kvswap.testing import cuda_driver

# Functions of the driver that fail on demand, with what they answer.
_FAULTS = (
    ("cuMemcpyAsync", (1, 2, 719, 998)),
    ("cuMemcpyBatchAsync", (1, 2, 719, 998)),
    ("cuLaunchKernel", (1, 2, 701, 998)),
    ("cuEventCreate", (2, 998)),
    ("cuEventRecord", (2, 998)),
    ("cuStreamWaitEvent", (2, 998)),
    ("cuPointerGetAttributes", (2, 998)),
    ("cuCtxGetCurrent", (2, 998)),
    ("cuStreamIsCapturing", (2, 906)),
    ("cuThreadExchangeStreamCaptureMode", (2, 998)),
)


class SoakDevice(Protocol):
    """A GPU with memory, streams and graphs.

    Attributes:
        name: for people.
        can_fail: whether the driver fails on demand.
    """

    name: str
    can_fail: bool

    def device_memory(self, size: int) -> int:
        """The address of new memory of the GPU, kept until the end."""

    def pinned_memory(self, size: int) -> tuple[int, memoryview]:
        """The address of new pinned host memory, and its bytes."""

    def write(self, address: int, content: bytes) -> None:
        """Sets memory of the GPU, after all work; is done when it returns."""

    def read(self, address: int, size: int) -> bytes:
        """What memory of the GPU holds, after all work."""

    def stream(self) -> Any:
        """A new stream, as kvswap takes it."""

    def synchronize(self) -> None:
        """Waits for all work."""

    def capture(self, stream: Any, body: Callable[[], None]) -> Callable[[], None]:
        """Captures what the body submits to the stream; the function launches it."""

    def live(self) -> dict[str, int]:
        """What is alive of the driver's objects, for what grows."""

    def let_fail(self, draw: random.Random) -> None:
        """One of the next calls of the driver fails."""

    def clear_faults(self) -> None:
        """No call fails from here on."""

    def violations(self) -> list[str]:
        """Mistakes that the driver has noted."""


class SimulatedDevice:
    """The simulated driver, in this process."""

    can_fail = True

    def __init__(self, seed: int) -> None:
        import kvswap_sim

        os.environ.update(kvswap_sim.environment("13.0", seed=seed))
        self._simulator = kvswap_sim.Simulator()
        self._driver = cuda_driver.CudaDriver(self._simulator.path)
        self._scope = self._driver.primary_context()
        self._scope.__enter__()
        self._kept: list[Any] = []
        self.name = f"simulated driver {self._simulator.driver_version}"

    def device_memory(self, size: int) -> int:
        """See SoakDevice."""
        self._kept.append(self._driver.device_memory(size))
        return int(self._kept[-1].address)

    def pinned_memory(self, size: int) -> tuple[int, memoryview]:
        """See SoakDevice."""
        memory = self._driver.pinned_memory(size)
        self._kept.append(memory)
        return memory.address, memoryview(memory.view).cast("B")

    def write(self, address: int, content: bytes) -> None:
        """See SoakDevice."""
        self.synchronize()
        self._driver.write(address, content)

    def read(self, address: int, size: int) -> bytes:
        """See SoakDevice."""
        self.synchronize()
        return self._driver.read(address, size)

    def stream(self) -> Any:
        """See SoakDevice: created ones in turn blocking and not, then the special ones."""
        number = sum(isinstance(kept, cuda_driver.Stream) for kept in self._kept)
        self._kept.append(self._driver.stream(non_blocking=number % 2 == 0))
        return self._kept[-1]

    def synchronize(self) -> None:
        """See SoakDevice."""
        self._driver.synchronize()
        # It would hold the latest 200,000 calls.
        self._simulator.clear_trace()

    def capture(self, stream: Any, body: Callable[[], None]) -> Callable[[], None]:
        """See SoakDevice."""
        stream.begin_capture(cuda_driver.CAPTURE_GLOBAL)
        try:
            body()
        finally:
            graph = stream.end_capture()
        with graph:
            executable = graph.instantiate()

        def launch() -> None:
            executable.launch(stream)
            stream.synchronize()

        launch.close = executable.close  # type: ignore[attr-defined]
        return launch

    def live(self) -> dict[str, int]:
        """See SoakDevice."""
        return self._simulator.live()

    def let_fail(self, draw: random.Random) -> None:
        """See SoakDevice."""
        entry, codes = draw.choice(_FAULTS)
        self._simulator.fail(entry, draw.choice(codes), draw.randint(1, 4))

    def clear_faults(self) -> None:
        """See SoakDevice."""
        self._simulator.clear_faults()

    def violations(self) -> list[str]:
        """See SoakDevice."""
        return self._simulator.violations()


class TorchDevice:
    """A real GPU, with torch's tensors, streams and graphs."""

    can_fail = False

    def __init__(self, seed: int) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._torch.cuda.init()
        self._tensors: dict[int, Any] = {}
        self.name = (
            f"{self._torch.cuda.get_device_name()}, torch {self._torch.__version__}"
        )

    def device_memory(self, size: int) -> int:
        """See SoakDevice."""
        tensor = self._torch.zeros(size, dtype=self._torch.uint8, device="cuda")
        self._tensors[tensor.data_ptr()] = tensor
        return int(tensor.data_ptr())

    def pinned_memory(self, size: int) -> tuple[int, memoryview]:
        """See SoakDevice."""
        tensor = self._torch.zeros(size, dtype=self._torch.uint8, pin_memory=True)
        self._tensors[tensor.data_ptr()] = tensor
        return int(tensor.data_ptr()), memoryview(tensor.numpy()).cast("B")

    def _slice(self, address: int, size: int) -> Any:
        for start, tensor in self._tensors.items():
            if start <= address and address + size <= start + tensor.numel():
                return tensor[address - start : address - start + size]
        raise ValueError(f"no tensor holds {size} bytes at {address:#x}")

    def write(self, address: int, content: bytes) -> None:
        """See SoakDevice."""
        self.synchronize()
        source = self._torch.frombuffer(bytearray(content), dtype=self._torch.uint8)
        self._slice(address, len(content)).copy_(source)
        self.synchronize()

    def read(self, address: int, size: int) -> bytes:
        """See SoakDevice."""
        self.synchronize()
        return bytes(self._slice(address, size).cpu().numpy().tobytes())

    def stream(self) -> Any:
        """See SoakDevice."""
        return self._torch.cuda.Stream()

    def synchronize(self) -> None:
        """See SoakDevice."""
        self._torch.cuda.synchronize()

    def capture(self, stream: Any, body: Callable[[], None]) -> Callable[[], None]:
        """See SoakDevice."""
        self.synchronize()
        graph = self._torch.cuda.CUDAGraph()
        with self._torch.cuda.graph(graph, stream=stream):
            body()

        def launch() -> None:
            with self._torch.cuda.stream(stream):
                graph.replay()
            stream.synchronize()

        launch.close = graph.reset  # type: ignore[attr-defined]
        return launch

    def live(self) -> dict[str, int]:
        """See SoakDevice: bytes that torch holds."""
        return {"torch_bytes": int(self._torch.cuda.memory_allocated())}

    def let_fail(self, draw: random.Random) -> None:
        """See SoakDevice: a real driver does not fail on demand."""

    def clear_faults(self) -> None:
        """See SoakDevice."""

    def violations(self) -> list[str]:
        """See SoakDevice: an error that earlier work left shows here."""
        try:
            self.synchronize()
        except RuntimeError as error:
            return [str(error)]
        return []


def choose_device(name: str, seed: int) -> SoakDevice:
    """The device of a name: "torch", "simulated", or "auto".

    Raises:
        ValueError: there is none of that name.
    """
    if name == "auto":
        name = "torch" if _has_gpu() else "simulated"
    if name == "torch":
        return TorchDevice(seed)
    if name == "simulated":
        return SimulatedDevice(seed)
    raise ValueError(f"device must be 'auto', 'torch' or 'simulated', not {name!r}")


def _has_gpu() -> bool:
    try:
        return bool(importlib.import_module("torch").cuda.is_available())
    except ImportError:
        return False
