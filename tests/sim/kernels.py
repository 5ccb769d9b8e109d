"""kvswap's copy kernels, loaded and launched by the driver's own functions."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Sequence
from typing import Any

from tests.sim.client import cuda_driver
from tests.sim.kernel_images import Kernel, cubin

_HEADER_BYTES = 48
_PARAMETER_BYTES = {"4k": 4096, "32k": 32764}
_ITEM_BYTES = {"compact": 8, "sized": 24}
_BARRIER_BYTES = 256

# source, destination, size
Copy = tuple[int, int, int]
# The bulk kernel's: how many stages, of how many bytes.
Ring = tuple[int, int]


def capacity(item: str, suffix: str) -> int:
    """How many items the parameters of a kernel have room for."""
    return (_PARAMETER_BYTES[suffix] - _HEADER_BYTES) // _ITEM_BYTES[item]


def description(kind: str, item: str, suffix: str) -> Kernel:
    """A copy kernel, as an image describes it."""
    size = _HEADER_BYTES + capacity(item, suffix) * _ITEM_BYTES[item]
    return Kernel(
        name=f"kvswap_{kind}_{item}_{suffix}",
        parameter_bytes=(size + 7) // 8 * 8,
        max_threads=1024 if kind == "plain" else 32,
        shared_bytes=0 if kind == "plain" else _BARRIER_BYTES,
    )


def descriptions(suffix: str, *, bulk: bool = True) -> list[Kernel]:
    """All kernels of an image."""
    kinds = ["plain", "bulk"] if bulk else ["plain"]
    return [
        description(kind, item, suffix)
        for kind in kinds
        for item in ("compact", "sized")
    ]


def sized_parameters(
    copies: Sequence[Copy],
    *,
    suffix: str = "4k",
    ring: Ring = (4, 4096),
    count: int | None = None,
) -> bytes:
    """The parameter of a kernel of sized items."""
    header = struct.pack(
        "<QQQIIIIII", 0, 0, 0, len(copies) if count is None else count, 0,
        *ring, 0, 0,
    )  # fmt: skip
    items = b"".join(struct.pack("<QQQ", *copy) for copy in copies)
    return (header + items).ljust(
        description("plain", "sized", suffix).parameter_bytes, b"\0"
    )


def compact_parameters(
    bases: tuple[int, int],
    offsets: Iterable[tuple[int, int]],
    size: int,
    *,
    suffix: str = "4k",
    unit_shift: int = 0,
    ring: Ring = (4, 4096),
) -> bytes:
    """The parameter of a kernel of compact items."""
    items = [struct.pack("<II", *offset) for offset in offsets]
    header = struct.pack(
        "<QQQIIIIII", *bases, size, len(items), unit_shift, *ring, 0, 0
    )
    return (header + b"".join(items)).ljust(
        description("plain", "compact", suffix).parameter_bytes, b"\0"
    )


class Module:
    """A module in the current context."""

    def __init__(self, driver: Any, image: bytes | None = None) -> None:
        self.driver = driver
        self.handle = ctypes.c_void_p()
        if image is None:
            image = cubin(descriptions("4k"))
        # The driver need not keep it.
        driver.call("cuModuleLoadData", ctypes.byref(self.handle), image)

    def function(self, name: str) -> Function:
        handle = ctypes.c_void_p()
        self.driver.call(
            "cuModuleGetFunction", ctypes.byref(handle), self.handle, name.encode()
        )
        return Function(self.driver, handle)

    def unload(self) -> None:
        self.driver.call("cuModuleUnload", self.handle)


class Function:
    """A kernel."""

    MAX_THREADS = 0
    STATIC_SHARED_BYTES = 1
    MAX_DYNAMIC_SHARED_BYTES = 8

    def __init__(self, driver: Any, handle: ctypes.c_void_p) -> None:
        self.driver = driver
        self.handle = handle

    def attribute(self, attribute: int) -> int:
        value = ctypes.c_int()
        self.driver.call(
            "cuFuncGetAttribute", ctypes.byref(value), attribute, self.handle
        )
        return value.value

    def set_attribute(self, attribute: int, value: int) -> int:
        return int(
            self.driver.result("cuFuncSetAttribute", self.handle, attribute, value)
        )

    def launch_code(
        self,
        parameters: bytes | None,
        stream: Any = 0,
        *,
        grid: Sequence[int] = (1, 1, 1),
        block: Sequence[int] = (32, 1, 1),
        shared_bytes: int = 0,
        entry: str = "cuLaunchKernel",
    ) -> int:
        """The code that a launch answers."""
        pointers = (ctypes.c_void_p * 1)()
        buffer = None
        if parameters is not None:
            buffer = ctypes.create_string_buffer(parameters, len(parameters))
            pointers[0] = ctypes.addressof(buffer)
        code = self.driver.result(
            entry,
            self.handle,
            *(ctypes.c_uint(number) for number in (*grid, *block, shared_bytes)),
            ctypes.c_void_p(cuda_driver.stream_handle(stream)),
            None if parameters is None else pointers,
            None,
        )
        if buffer is not None:
            # The caller's memory is free now.
            ctypes.memset(buffer, 0xEE, len(buffer))
        return int(code)

    def launch(self, parameters: bytes, stream: Any = 0, **shape: Any) -> None:
        code = self.launch_code(parameters, stream, **shape)
        assert code == 0, code
