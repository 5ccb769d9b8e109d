"""kvswap's C ABI through ctypes, on arguments that are prepared before."""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
from collections.abc import Callable
from typing import Any, Protocol

import kvswap
from kvswap.benchmark import native
from kvswap.benchmark.cells import PRIORITIES
from kvswap.benchmark.gpu import UnavailableError

_LIBRARY_VARIABLE = "KVSWAP_LIBCUDA"
_ENGINE_SLOTS = 8


class _Options(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("engine", ctypes.c_int32),
        ("source_access", ctypes.c_int32),
        ("max_batch", ctypes.c_size_t),
        ("flags", ctypes.c_uint32),
        ("priority", ctypes.c_int32),
        ("policy", ctypes.c_void_p),
    )


class _DriverInfo(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("usable", ctypes.c_int32),
        ("driver_version", ctypes.c_int32),
        ("batch_available", ctypes.c_int32),
        ("toolkit_version", ctypes.c_int32),
        ("entry_count", ctypes.c_size_t),
        ("path", ctypes.c_char_p),
        ("message", ctypes.c_char_p),
        ("tried", ctypes.c_char_p),
    )


class _Statistics(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("calls", ctypes.c_uint64),
        ("errors", ctypes.c_uint64),
        ("dropped", ctypes.c_uint64),
        ("copies", ctypes.c_uint64 * _ENGINE_SLOTS),
    )


class Descriptors(Protocol):
    """Blocks as kvswap takes them: tensors of int64 in host memory."""

    src_ptrs: Any
    dst_ptrs: Any
    sizes: Any
    count: int


class CAbi:
    """A libkvswap.so."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Loads it; None: the library of the package, which is loaded already."""
        if path is None:
            path = os.path.join(kvswap.get_library_dir(), "libkvswap.so")
        self._library = ctypes.CDLL(os.fspath(path))
        self._swap = self._library.kvswap_swap_blocks_batch
        self._swap.argtypes = [
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]
        self._library.kvswap_engine_name.restype = ctypes.c_char_p
        self._library.kvswap_status_name.restype = ctypes.c_char_p

    def prepare(
        self, blocks: Descriptors, stream: int, engine: str = "auto", priority: str = ""
    ) -> Callable[[], None]:
        """A call that submits blocks to a stream."""
        options = _Options(
            struct_size=ctypes.sizeof(_Options),
            engine=self._library.kvswap_engine_from_name(engine.encode()),
        )
        if priority:
            options.priority = PRIORITIES.index(priority)
        swap, names = self._swap, self._library.kvswap_status_name
        kept = (blocks, options)
        arguments = (
            blocks.src_ptrs.data_ptr(),
            blocks.dst_ptrs.data_ptr(),
            blocks.sizes.data_ptr(),
            blocks.count,
            stream,
            ctypes.addressof(options),
            None,
        )

        def call(_kept: Any = kept) -> None:
            code = swap(*arguments)
            if code != 0:
                raise RuntimeError(f"kvswap_swap_blocks_batch: {names(code).decode()}")

        return call

    def copies(self) -> dict[str, int]:
        """Copies submitted so far, by engine."""
        statistics = _Statistics(struct_size=ctypes.sizeof(_Statistics))
        self._library.kvswap_get_statistics(ctypes.byref(statistics))
        names = self._library.kvswap_engine_name
        return {
            names(engine).decode(): count
            for engine, count in enumerate(statistics.copies)
            if count
        }

    def batch_available(self) -> bool:
        """Whether its driver has the batch call."""
        information = _DriverInfo(struct_size=ctypes.sizeof(_DriverInfo))
        self._library.kvswap_get_driver_info(ctypes.byref(information))
        return bool(information.batch_available)


def library_without_batch_driver(folder: pathlib.Path) -> CAbi:
    """A second kvswap in this process, on a driver without the batch call.

    So both are measured in the same rounds. It is another file, because the loader
    knows libraries by their files; it looks for its driver once, here.

    Raises:
        UnavailableError: it cannot be made.
    """
    original = pathlib.Path(kvswap.get_library_dir()) / "libkvswap.so"
    copy = folder / "libkvswap_no_batch.so"
    try:
        driver = native.driver_without_batch(folder, kvswap.driver_info().path)
        shutil.copy(original, copy)
    except (OSError, native.CompilerError) as error:
        raise UnavailableError(str(error)) from error
    before = os.environ.get(_LIBRARY_VARIABLE)
    os.environ[_LIBRARY_VARIABLE] = str(driver)
    try:
        library = CAbi(copy)
        found = library.batch_available()
    finally:
        if before is None:
            del os.environ[_LIBRARY_VARIABLE]
        else:
            os.environ[_LIBRARY_VARIABLE] = before
    if found:
        raise UnavailableError("the second library found the batch call all the same")
    return library
