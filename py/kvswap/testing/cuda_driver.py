"""A small client of the CUDA driver API, for tests, demos and examples.

It works on a real driver as on the simulated one, and needs nothing but ctypes::

    driver = CudaDriver()
    with driver.primary_context(0):
        stream = driver.stream()
        device = driver.device_memory(1 << 20)
        pinned = driver.pinned_memory(1 << 20)
        pinned.view[:] = bytes(1 << 20)
        driver.copy_async(device.address, pinned.address, 1 << 20, stream)
        stream.synchronize()

Objects own what they stand for: ``close()`` or a ``with`` statement gives it back.
Nothing is given back by the garbage collector, because a context may be gone by
then. Functions are taken by the names under which the driver exports them
(``cuMemAlloc_v2``), so their argument lists never change.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

STREAM_LEGACY = 1  #: Handle of the legacy default stream.
STREAM_PER_THREAD = 2  #: Handle of the per-thread default stream.

CAPTURE_GLOBAL = 0  #: CU_STREAM_CAPTURE_MODE_GLOBAL
CAPTURE_THREAD_LOCAL = 1  #: CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
CAPTURE_RELAXED = 2  #: CU_STREAM_CAPTURE_MODE_RELAXED

CAPTURE_STATUS_NONE = 0  #: CU_STREAM_CAPTURE_STATUS_NONE
CAPTURE_STATUS_ACTIVE = 1  #: CU_STREAM_CAPTURE_STATUS_ACTIVE
CAPTURE_STATUS_INVALIDATED = 2  #: CU_STREAM_CAPTURE_STATUS_INVALIDATED

ACCESS_ORDER_STREAM = 1  #: CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
ACCESS_ORDER_DURING_API_CALL = 2  #: CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL
ACCESS_ORDER_ANY = 3  #: CU_MEMCPY_SRC_ACCESS_ORDER_ANY

REGISTER_READ_ONLY = 8  #: CU_MEMHOSTREGISTER_READ_ONLY

NO_INDEX = ctypes.c_size_t(
    -1
).value  #: What a batch call sets its failed index to where it blames no copy.

_EVENT_DISABLE_TIMING = 2
_STREAM_NON_BLOCKING = 1
_MEM_ATTACH_GLOBAL = 1
_ALLOCATION_PINNED = 1
_LOCATION_DEVICE = 1
_ACCESS_READ = 1
_ACCESS_READ_WRITE = 3

# CUpointer_attribute: its number, and the type of its value.
_POINTER_ATTRIBUTES: dict[str, tuple[int, Any]] = {
    "context": (1, ctypes.c_void_p),
    "memory_type": (2, ctypes.c_uint),
    "device_pointer": (3, ctypes.c_uint64),
    "host_pointer": (4, ctypes.c_void_p),
    "is_managed": (8, ctypes.c_int),
    "device_ordinal": (9, ctypes.c_int),
    "range_start": (11, ctypes.c_uint64),
    "range_size": (12, ctypes.c_size_t),
    "mapped": (13, ctypes.c_int),
    "access_flags": (16, ctypes.c_int),
    "mapping_size": (18, ctypes.c_size_t),
    "mapping_base": (19, ctypes.c_uint64),
}


class CudaError(RuntimeError):
    """A driver function did not return ``CUDA_SUCCESS``.

    Attributes:
        function: its exported name.
        code: the ``CUresult``.
        name: of the code, such as ``"CUDA_ERROR_INVALID_VALUE"``.
    """

    def __init__(self, function: str, code: int, name: str) -> None:
        # All arguments: pickle makes the exception anew of what is kept as such.
        super().__init__(function, code, name)
        self.function = function
        self.code = code
        self.name = name

    def __str__(self) -> str:
        return f"{self.function}: {self.name} ({self.code})"


class BatchError(CudaError):
    """A batch of copies was refused.

    Attributes:
        index: the copy at fault, or None where the driver names none.
    """

    def __init__(self, function: str, code: int, name: str, index: int | None) -> None:
        super().__init__(function, code, name)
        self.args = (function, code, name, index)
        self.index = index


class _MemLocation(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _MemAllocationProp(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("requested_handle_types", ctypes.c_int),
        ("location", _MemLocation),
        ("win32_handle_meta_data", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _MemAccessDesc(ctypes.Structure):
    _fields_ = (("location", _MemLocation), ("flags", ctypes.c_int))


class MemcpyAttributes(ctypes.Structure):
    """``CUmemcpyAttributes``."""

    _fields_ = (
        ("source_access_order", ctypes.c_int),
        ("source_location_hint", _MemLocation),
        ("destination_location_hint", _MemLocation),
        ("flags", ctypes.c_uint),
    )


class _Owner:
    """Something that has to be given back, once."""

    def __init__(self, driver: CudaDriver) -> None:
        self.driver = driver
        self.closed = False

    def _release(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Gives it back; again does nothing."""
        if not self.closed:
            self.closed = True
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Context(_Owner):
    """A context, created or a device's primary one."""

    def __init__(
        self, driver: CudaDriver, handle: int, device: int, primary: bool
    ) -> None:
        super().__init__(driver)
        self.handle = handle
        self.device = device
        self._primary = primary

    @contextlib.contextmanager
    def current(self) -> Iterator[Context]:
        """Makes it the calling thread's context for the ``with`` block."""
        self.driver.call("cuCtxPushCurrent_v2", ctypes.c_void_p(self.handle))
        try:
            yield self
        finally:
            self.driver.call("cuCtxPopCurrent_v2", None)

    def synchronize(self) -> None:
        """Waits for all work of the context."""
        with self.current():
            self.driver.call("cuCtxSynchronize")

    def _release(self) -> None:
        if self._primary:
            self.driver.call("cuDevicePrimaryCtxRelease_v2", ctypes.c_int(self.device))
        else:
            self.driver.call("cuCtxDestroy_v2", ctypes.c_void_p(self.handle))


class Stream(_Owner):
    """A stream that was created."""

    def __init__(self, driver: CudaDriver, handle: int) -> None:
        super().__init__(driver)
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        """The stream protocol of cuda.core: its version, and the handle."""
        return (0, self.handle)

    def synchronize(self) -> None:
        """Waits for all work of the stream."""
        self.driver.synchronize_stream(self)

    def query(self) -> bool:
        """Whether all its work is done."""
        return self.driver.stream_is_done(self)

    def wait_event(self, event: Event) -> None:
        """Lets later work wait for what the event was recorded after."""
        self.driver.wait_event(self, event)

    def capture_status(self) -> int:
        """One of the ``CAPTURE_STATUS_`` numbers."""
        return self.driver.capture_status(self)

    def begin_capture(self, mode: int = CAPTURE_GLOBAL) -> None:
        """Starts capturing what is submitted."""
        self.driver.call(
            "cuStreamBeginCapture_v2",
            ctypes.c_void_p(self.handle),
            ctypes.c_int(mode),
        )

    def end_capture(self) -> Graph:
        """Ends the capture; the graph of what was submitted."""
        graph = ctypes.c_void_p()
        self.driver.call(
            "cuStreamEndCapture",
            ctypes.c_void_p(self.handle),
            ctypes.byref(graph),
        )
        return Graph(self.driver, graph.value or 0)

    def _release(self) -> None:
        self.driver.call("cuStreamDestroy_v2", ctypes.c_void_p(self.handle))


class Event(_Owner):
    """An event."""

    def __init__(self, driver: CudaDriver, handle: int) -> None:
        super().__init__(driver)
        self.handle = handle

    def record(self, stream: Stream | int) -> None:
        """Stands from now on for what the stream has been given so far."""
        self.driver.call(
            "cuEventRecord",
            ctypes.c_void_p(self.handle),
            ctypes.c_void_p(stream_handle(stream)),
        )

    def query(self) -> bool:
        """Whether that is done."""
        return self.driver.is_ready("cuEventQuery", ctypes.c_void_p(self.handle))

    def synchronize(self) -> None:
        """Waits for it."""
        self.driver.call("cuEventSynchronize", ctypes.c_void_p(self.handle))

    def _release(self) -> None:
        self.driver.call("cuEventDestroy_v2", ctypes.c_void_p(self.handle))


class Graph(_Owner):
    """A graph that was captured."""

    def __init__(self, driver: CudaDriver, handle: int) -> None:
        super().__init__(driver)
        self.handle = handle

    def node_count(self) -> int:
        """How many nodes it has."""
        count = ctypes.c_size_t()
        self.driver.call(
            "cuGraphGetNodes",
            ctypes.c_void_p(self.handle),
            None,
            ctypes.byref(count),
        )
        return count.value

    def instantiate(self) -> GraphExecutable:
        """Makes it ready to launch."""
        executable = ctypes.c_void_p()
        self.driver.call(
            "cuGraphInstantiateWithFlags",
            ctypes.byref(executable),
            ctypes.c_void_p(self.handle),
            ctypes.c_ulonglong(0),
        )
        return GraphExecutable(self.driver, executable.value or 0)

    def _release(self) -> None:
        self.driver.call("cuGraphDestroy", ctypes.c_void_p(self.handle))


class GraphExecutable(_Owner):
    """A graph that can be launched."""

    def __init__(self, driver: CudaDriver, handle: int) -> None:
        super().__init__(driver)
        self.handle = handle

    def launch(self, stream: Stream | int) -> None:
        """Submits its work to a stream."""
        self.driver.call(
            "cuGraphLaunch",
            ctypes.c_void_p(self.handle),
            ctypes.c_void_p(stream_handle(stream)),
        )

    def _release(self) -> None:
        self.driver.call("cuGraphExecDestroy", ctypes.c_void_p(self.handle))


class DeviceMemory(_Owner):
    """Memory of a device; the host reads and writes it by copies."""

    def __init__(self, driver: CudaDriver, address: int, size: int) -> None:
        super().__init__(driver)
        self.address = address
        self.size = size

    def read(self, offset: int = 0, size: int | None = None) -> bytes:
        """Waits for the legacy stream's turn, and copies to the host."""
        return self.driver.read(
            self.address + offset, self.size - offset if size is None else size
        )

    def write(self, content: bytes, offset: int = 0) -> None:
        """Waits for the legacy stream's turn, and copies from the host."""
        self.driver.write(self.address + offset, content)

    def _release(self) -> None:
        self.driver.call("cuMemFree_v2", ctypes.c_uint64(self.address))


class ManagedMemory(DeviceMemory):
    """Managed memory: `view` is the host's view of it."""

    def __init__(self, driver: CudaDriver, address: int, size: int) -> None:
        super().__init__(driver, address, size)
        self.view = _view(address, size)


class PinnedMemory(_Owner):
    """Page-locked host memory.

    Attributes:
        view: its bytes, writable; NumPy takes it as a buffer.
    """

    def __init__(self, driver: CudaDriver, address: int, size: int) -> None:
        super().__init__(driver)
        self.address = address
        self.size = size
        self.view = _view(address, size)

    def _release(self) -> None:
        self.driver.call("cuMemFreeHost", ctypes.c_void_p(self.address))


class Registration(_Owner):
    """Host memory of the caller's, page-locked while this lives."""

    def __init__(self, driver: CudaDriver, address: int, size: int) -> None:
        super().__init__(driver)
        self.address = address
        self.size = size

    def _release(self) -> None:
        self.driver.call("cuMemHostUnregister", ctypes.c_void_p(self.address))


class VirtualMemory(_Owner):
    """Addresses of a device that memory can be mapped to, piece by piece."""

    def __init__(self, driver: CudaDriver, address: int, size: int) -> None:
        super().__init__(driver)
        self.address = address
        self.size = size
        self._mappings: dict[int, int] = {}

    def map(
        self,
        offset: int,
        size: int,
        device: int,
        access: Sequence[int] | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        """Puts new memory of a device at an offset.

        Args:
            offset: in bytes; like `size` a multiple of the granularity.
            size: in bytes.
            device: whose memory it is.
            access: the devices that may read and write it; None: that device.
            read_only: they may only read it.
        """
        driver = self.driver
        properties = _device_properties(device)
        handle = ctypes.c_ulonglong()
        driver.call(
            "cuMemCreate",
            ctypes.byref(handle),
            ctypes.c_size_t(size),
            ctypes.byref(properties),
            ctypes.c_ulonglong(0),
        )
        try:
            driver.call(
                "cuMemMap",
                ctypes.c_uint64(self.address + offset),
                ctypes.c_size_t(size),
                ctypes.c_size_t(0),
                handle,
                ctypes.c_ulonglong(0),
            )
            self._mappings[offset] = size
        finally:
            # The mapping keeps the memory.
            driver.call("cuMemRelease", handle)
        devices = [device] if access is None else list(access)
        if devices:
            descriptors = (_MemAccessDesc * len(devices))()
            for descriptor, ordinal in zip(descriptors, devices, strict=True):
                descriptor.location.type = _LOCATION_DEVICE
                descriptor.location.id = ordinal
                descriptor.flags = _ACCESS_READ if read_only else _ACCESS_READ_WRITE
            driver.call(
                "cuMemSetAccess",
                ctypes.c_uint64(self.address + offset),
                ctypes.c_size_t(size),
                descriptors,
                ctypes.c_size_t(len(devices)),
            )

    def unmap(self, offset: int) -> None:
        """Takes away what was mapped at an offset."""
        size = self._mappings.pop(offset)
        self.driver.call(
            "cuMemUnmap",
            ctypes.c_uint64(self.address + offset),
            ctypes.c_size_t(size),
        )

    def _release(self) -> None:
        for offset in list(self._mappings):
            self.unmap(offset)
        self.driver.call(
            "cuMemAddressFree",
            ctypes.c_uint64(self.address),
            ctypes.c_size_t(self.size),
        )


class CudaDriver:
    """The driver, loaded and initialised."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        initialize: bool = True,
    ) -> None:
        """Loads the driver.

        Args:
            path: its library; None: what ``KVSWAP_LIBCUDA`` names, else
                ``libcuda.so.1``.
            initialize: whether to call ``cuInit``.
        """
        if path is None:
            path = os.environ.get("KVSWAP_LIBCUDA") or "libcuda.so.1"
        self.path = os.fspath(path)
        self.library = ctypes.CDLL(self.path)
        if initialize:
            self.call("cuInit", ctypes.c_uint(0))

    # Calls -------------------------------------------------------------------

    def result(self, function: str, *arguments: Any) -> int:
        """Calls an exported function; its ``CUresult``."""
        return int(getattr(self.library, function)(*arguments))

    def call(self, function: str, *arguments: Any) -> None:
        """Calls an exported function; CudaError unless it succeeds."""
        code = self.result(function, *arguments)
        if code != 0:
            raise CudaError(function, code, self.error_name(code))

    def is_ready(self, function: str, *arguments: Any) -> bool:
        """Calls a function that answers 0 for done and 600 for not yet."""
        code = self.result(function, *arguments)
        if code not in (0, 600):
            raise CudaError(function, code, self.error_name(code))
        return code == 0

    def error_name(self, code: int) -> str:
        """The name of a ``CUresult``."""
        name = ctypes.c_char_p()
        failed = self.result("cuGetErrorName", ctypes.c_int(code), ctypes.byref(name))
        if failed or name.value is None:
            return "unknown error"
        return name.value.decode()

    # Devices and contexts ----------------------------------------------------

    def version(self) -> int:
        """The driver's version, as 12080 for CUDA 12.8."""
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        return version.value

    def device_count(self) -> int:
        """How many devices it sees."""
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def device_name(self, device: int) -> str:
        """A device's name."""
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, ctypes.c_int(device))
        return name.value.decode()

    def device_attribute(self, attribute: int, device: int) -> int:
        """A ``CUdevice_attribute``."""
        value = ctypes.c_int()
        self.call(
            "cuDeviceGetAttribute",
            ctypes.byref(value),
            ctypes.c_int(attribute),
            ctypes.c_int(device),
        )
        return value.value

    def retain_primary(self, device: int = 0) -> Context:
        """A device's primary context, retained until it is closed."""
        handle = ctypes.c_void_p()
        self.call(
            "cuDevicePrimaryCtxRetain",
            ctypes.byref(handle),
            ctypes.c_int(device),
        )
        return Context(self, handle.value or 0, device, primary=True)

    @contextlib.contextmanager
    def primary_context(self, device: int = 0) -> Iterator[Context]:
        """Retains a device's primary context and makes it current."""
        with self.retain_primary(device) as context, context.current():
            yield context

    def create_context(self, device: int = 0, flags: int = 0) -> Context:
        """A new context; unlike the driver's call, it is not made current."""
        handle = ctypes.c_void_p()
        self.call(
            "cuCtxCreate_v2",
            ctypes.byref(handle),
            ctypes.c_uint(flags),
            ctypes.c_int(device),
        )
        self.call("cuCtxPopCurrent_v2", None)
        return Context(self, handle.value or 0, device, primary=False)

    def current_context(self) -> int:
        """The handle of the calling thread's context; 0: there is none."""
        handle = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(handle))
        return handle.value or 0

    def enable_peer_access(self, peer: Context) -> None:
        """Lets kernels of the current context touch a peer's memory."""
        self.call(
            "cuCtxEnablePeerAccess",
            ctypes.c_void_p(peer.handle),
            ctypes.c_uint(0),
        )

    def disable_peer_access(self, peer: Context) -> None:
        """Takes that back."""
        self.call("cuCtxDisablePeerAccess", ctypes.c_void_p(peer.handle))

    def synchronize(self) -> None:
        """Waits for all work of the current context."""
        self.call("cuCtxSynchronize")

    # Memory ------------------------------------------------------------------

    def device_memory(self, size: int) -> DeviceMemory:
        """Memory of the current context's device."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return DeviceMemory(self, address.value, size)

    def managed_memory(self, size: int) -> ManagedMemory:
        """Memory that moves between host and devices by itself."""
        address = ctypes.c_uint64()
        self.call(
            "cuMemAllocManaged",
            ctypes.byref(address),
            ctypes.c_size_t(size),
            ctypes.c_uint(_MEM_ATTACH_GLOBAL),
        )
        return ManagedMemory(self, address.value, size)

    def pinned_memory(self, size: int, flags: int = 0) -> PinnedMemory:
        """Page-locked host memory."""
        address = ctypes.c_void_p()
        self.call(
            "cuMemHostAlloc",
            ctypes.byref(address),
            ctypes.c_size_t(size),
            ctypes.c_uint(flags),
        )
        return PinnedMemory(self, address.value or 0, size)

    def register(
        self, address: int, size: int, *, read_only: bool = False
    ) -> Registration:
        """Page-locks host memory of the caller's."""
        self.call(
            "cuMemHostRegister_v2",
            ctypes.c_void_p(address),
            ctypes.c_size_t(size),
            ctypes.c_uint(REGISTER_READ_ONLY if read_only else 0),
        )
        return Registration(self, address, size)

    def mapping_granularity(self, device: int = 0) -> int:
        """What sizes and offsets of mappings are multiples of, in bytes."""
        granularity = ctypes.c_size_t()
        properties = _device_properties(device)
        self.call(
            "cuMemGetAllocationGranularity",
            ctypes.byref(granularity),
            ctypes.byref(properties),
            ctypes.c_int(0),
        )
        return granularity.value

    def virtual_memory(self, size: int) -> VirtualMemory:
        """Addresses to map memory to."""
        address = ctypes.c_uint64()
        self.call(
            "cuMemAddressReserve",
            ctypes.byref(address),
            ctypes.c_size_t(size),
            ctypes.c_size_t(0),
            ctypes.c_uint64(0),
            ctypes.c_ulonglong(0),
        )
        return VirtualMemory(self, address.value, size)

    def pointer_attributes(
        self, address: int, names: Sequence[str] | None = None
    ) -> dict[str, int]:
        """What the driver tells about a pointer, in one call.

        Args:
            address: the pointer.
            names: what to ask; None: everything that a driver before 12.0
                knows. "mapping_size" and "mapping_base" are newer.
        """
        if names is None:
            names = [
                name for name, (number, _) in _POINTER_ATTRIBUTES.items() if number < 18
            ]
        numbers = (ctypes.c_int * len(names))()
        pointers = (ctypes.c_void_p * len(names))()
        values = []
        for position, name in enumerate(names):
            number, kind = _POINTER_ATTRIBUTES[name]
            value = kind()
            values.append(value)
            numbers[position] = number
            pointers[position] = ctypes.addressof(value)
        self.call(
            "cuPointerGetAttributes",
            ctypes.c_uint(len(names)),
            numbers,
            pointers,
            ctypes.c_uint64(address),
        )
        return {
            name: value.value or 0 for name, value in zip(names, values, strict=True)
        }

    # Streams and events ------------------------------------------------------

    def stream(self, *, non_blocking: bool = False, priority: int = 0) -> Stream:
        """A new stream of the current context."""
        handle = ctypes.c_void_p()
        self.call(
            "cuStreamCreateWithPriority",
            ctypes.byref(handle),
            ctypes.c_uint(_STREAM_NON_BLOCKING if non_blocking else 0),
            ctypes.c_int(priority),
        )
        return Stream(self, handle.value or 0)

    def event(self) -> Event:
        """A new event of the current context, without timing."""
        handle = ctypes.c_void_p()
        self.call(
            "cuEventCreate",
            ctypes.byref(handle),
            ctypes.c_uint(_EVENT_DISABLE_TIMING),
        )
        return Event(self, handle.value or 0)

    def synchronize_stream(self, stream: Stream | int) -> None:
        """Waits for all work of a stream."""
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream_handle(stream)))

    def stream_is_done(self, stream: Stream | int) -> bool:
        """Whether all work of a stream is done."""
        return self.is_ready("cuStreamQuery", ctypes.c_void_p(stream_handle(stream)))

    def wait_event(self, stream: Stream | int, event: Event) -> None:
        """Lets a stream's later work wait for an event."""
        self.call(
            "cuStreamWaitEvent",
            ctypes.c_void_p(stream_handle(stream)),
            ctypes.c_void_p(event.handle),
            ctypes.c_uint(0),
        )

    def capture_status(self, stream: Stream | int) -> int:
        """One of the ``CAPTURE_STATUS_`` numbers."""
        status = ctypes.c_int()
        self.call(
            "cuStreamIsCapturing",
            ctypes.c_void_p(stream_handle(stream)),
            ctypes.byref(status),
        )
        return status.value

    @contextlib.contextmanager
    def thread_capture_mode(self, mode: int) -> Iterator[None]:
        """Exchanges the calling thread's capture mode for the block."""
        exchanged = ctypes.c_int(mode)
        self.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(exchanged))
        try:
            yield
        finally:
            self.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(exchanged))

    # Copies ------------------------------------------------------------------

    def copy_async(
        self,
        destination: int,
        source: int,
        size: int,
        stream: Stream | int,
    ) -> None:
        """One copy, in the stream's order."""
        self.call(
            "cuMemcpyAsync",
            ctypes.c_uint64(destination),
            ctypes.c_uint64(source),
            ctypes.c_size_t(size),
            ctypes.c_void_p(stream_handle(stream)),
        )

    def copy_batch_async(
        self,
        destinations: Sequence[int],
        sources: Sequence[int],
        sizes: Sequence[int],
        stream: Stream | int,
        *,
        access_order: int = ACCESS_ORDER_STREAM,
    ) -> None:
        """Many copies by ``cuMemcpyBatchAsync`` of CUDA 12.8, 9 arguments.

        Raises:
            BatchError: it was refused; ``index`` names the copy at fault.
            AttributeError: the driver is older.
        """
        count = len(sizes)
        attributes = MemcpyAttributes(source_access_order=access_order)
        first = ctypes.c_size_t(0)
        failed = ctypes.c_size_t(NO_INDEX)
        code = self.result(
            "cuMemcpyBatchAsync",
            (ctypes.c_uint64 * count)(*destinations),
            (ctypes.c_uint64 * count)(*sources),
            (ctypes.c_size_t * count)(*sizes),
            ctypes.c_size_t(count),
            ctypes.byref(attributes),
            ctypes.byref(first),
            ctypes.c_size_t(1),
            ctypes.byref(failed),
            ctypes.c_void_p(stream_handle(stream)),
        )
        if code != 0:
            index = None if failed.value == NO_INDEX else failed.value
            raise BatchError("cuMemcpyBatchAsync", code, self.error_name(code), index)

    def fill_async(
        self, destination: int, value: int, size: int, stream: Stream | int
    ) -> None:
        """Sets bytes, in the stream's order."""
        self.call(
            "cuMemsetD8Async",
            ctypes.c_uint64(destination),
            ctypes.c_ubyte(value),
            ctypes.c_size_t(size),
            ctypes.c_void_p(stream_handle(stream)),
        )

    def read(self, address: int, size: int) -> bytes:
        """Copies to the host, on the legacy stream, and waits."""
        buffer = ctypes.create_string_buffer(size)
        self.call(
            "cuMemcpyDtoH_v2",
            buffer,
            ctypes.c_uint64(address),
            ctypes.c_size_t(size),
        )
        return buffer.raw

    def write(self, address: int, content: bytes) -> None:
        """Copies from the host, on the legacy stream, and waits."""
        self.call(
            "cuMemcpyHtoD_v2",
            ctypes.c_uint64(address),
            content,
            ctypes.c_size_t(len(content)),
        )


def stream_handle(stream: Stream | int) -> int:
    """The handle of a stream, given as such or as a number."""
    return stream if isinstance(stream, int) else stream.handle


def _view(address: int, size: int) -> memoryview:
    array = (ctypes.c_ubyte * size).from_address(address)
    return memoryview(array).cast("B")


def _device_properties(device: int) -> _MemAllocationProp:
    properties = _MemAllocationProp()
    properties.type = _ALLOCATION_PINNED
    properties.location.type = _LOCATION_DEVICE
    properties.location.id = device
    return properties
