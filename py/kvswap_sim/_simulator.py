"""Control of the simulated driver inside this process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

from kvswap_sim._library import library_path, version_number
from kvswap_sim._trace import Call, parse_trace

_CONTROL_VERSION = 1
_NO_INDEX = ctypes.c_size_t(-2).value
_EVERY_CALL = ctypes.c_uint64(-1).value

_KINDS = (
    "contexts",
    "primary_contexts",
    "primary_retained",
    "context_stack",
    "streams",
    "events",
    "captures",
    "graphs",
    "graph_executables",
    "modules",
    "device_allocations",
    "pool_allocations",
    "managed_allocations",
    "host_allocations",
    "registrations",
    "reservations",
    "mappings",
    "physical_allocations",
    "pending",
)


class Simulator:
    """The simulated driver in this process.

    The library is loaded once a process for each file, so this is the same driver
    that the program under test loads by the same path.
    """

    def __init__(
        self,
        driver_version: str | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        """Attaches to a library, loading it if need be.

        Args:
            driver_version: chooses the library, and the version that it reports.
                None: as the environment has it, in the library at `path`.
            path: the library; None: the one that ``KVSWAP_LIBCUDA`` names, or,
                with a `driver_version`, the one for that.
        """
        if path is None:
            if driver_version is not None:
                path = library_path(driver_version)
            else:
                path = os.environ.get("KVSWAP_LIBCUDA") or library_path()
        self._path = os.fspath(path)
        self._library = ctypes.CDLL(self._path)
        try:
            version = int(self._library.cuda_sim_control_version())
        except AttributeError:
            raise ValueError(f"{self._path} is not a simulated driver") from None
        if version != _CONTROL_VERSION:
            raise ValueError(
                f"{self._path} has control version {version}, not "
                f"{_CONTROL_VERSION}: it belongs to another kvswap_sim"
            )
        self._declare()
        if driver_version is not None:
            self.driver_version = driver_version

    def _declare(self) -> None:
        size, text = ctypes.c_size_t, ctypes.c_char_p
        number, address = ctypes.c_uint64, ctypes.c_void_p
        integer = ctypes.c_int
        signatures: dict[str, tuple[Any, list[Any]]] = {
            "reset": (None, []),
            "driver_version": (integer, []),
            "set_driver_version": (integer, [integer]),
            "set_batch_capture": (None, [integer]),
            "set_device_attribute": (integer, [integer, integer, integer]),
            "set_compute_capability": (integer, [integer, integer]),
            "seed": (number, []),
            "set_seed": (None, [number]),
            "hold": (None, [integer]),
            "pending": (size, []),
            "run": (size, [size]),
            "peek": (integer, [number, address, size]),
            "poke": (integer, [number, address, size]),
            "trace": (size, [number, address, size]),
            "clear_trace": (None, []),
            "nanoseconds_in_calls": (number, []),
            "violations": (size, [address, size]),
            "clear_violations": (None, []),
            "live": (ctypes.c_int64, [text]),
            "fail": (integer, [text, number, integer, size, integer]),
            "limit_batch": (integer, [size, integer]),
            "lookup": (integer, [text, text]),
            "leave_out": (integer, [text]),
            "clear_faults": (None, []),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(self._library, f"cuda_sim_{name}")
            function.restype = result
            function.argtypes = arguments

    def _check(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, f"cuda_sim_{name}")
        if function(*arguments) != 0:
            shown = ", ".join(repr(argument) for argument in arguments)
            raise ValueError(f"the simulated driver refused {name}({shown})")

    def _text(self, read: Callable[[Any, int], int]) -> str:
        needed = read(None, 0)
        while True:
            buffer = ctypes.create_string_buffer(needed)
            now = read(ctypes.addressof(buffer), needed)
            if now <= needed:
                return buffer.value.decode("utf-8")
            needed = now

    @property
    def path(self) -> str:
        """The library's file, for ``KVSWAP_LIBCUDA``."""
        return self._path

    def reset(self) -> None:
        """Back to the state after loading; the environment is read anew.

        All contexts, streams and memory are gone. No thread may be in a driver
        call. The version that was chosen here is forgotten too.
        """
        self._library.cuda_sim_reset()

    @property
    def driver_version(self) -> str:
        """What the driver says its version is, such as ``"12.8"``."""
        number = int(self._library.cuda_sim_driver_version())
        return f"{number // 1000}.{number % 1000 // 10}"

    @driver_version.setter
    def driver_version(self, driver_version: str) -> None:
        self._check("set_driver_version", version_number(driver_version))

    @property
    def seed(self) -> int:
        """The seed of the order in which work runs; setting begins anew."""
        return int(self._library.cuda_sim_seed())

    @seed.setter
    def seed(self, seed: int) -> None:
        self._library.cuda_sim_set_seed(seed)

    def hold(self, hold: bool = True) -> None:
        """From now on runs only what synchronisation needs (or no longer so)."""
        self._library.cuda_sim_hold(int(hold))

    def pending(self) -> int:
        """Operations submitted and not run yet."""
        return int(self._library.cuda_sim_pending())

    def run(self, count: int | None = None) -> int:
        """Runs that many pending operations, None: all; returns how many ran."""
        limit = ctypes.c_size_t(-1).value if count is None else count
        return int(self._library.cuda_sim_run(limit))

    def peek(self, address: int, size: int) -> bytes:
        """Reads memory that the driver knows, past all pending work."""
        buffer = ctypes.create_string_buffer(size)
        self._check("peek", address, ctypes.addressof(buffer), size)
        return buffer.raw

    def poke(self, address: int, content: bytes) -> None:
        """Writes memory that the driver knows, past all pending work."""
        buffer = ctypes.create_string_buffer(content, len(content))
        self._check("poke", address, ctypes.addressof(buffer), len(content))

    def trace(self, name: str | None = None) -> list[Call]:
        """The recorded calls, or those of one function (by name or symbol)."""
        lines = self._text(
            lambda buffer, size: int(self._library.cuda_sim_trace(0, buffer, size))
        )
        calls = parse_trace(lines)
        if name is None:
            return calls
        return [call for call in calls if name in (call.name, call.symbol)]

    def clear_trace(self) -> None:
        """Forgets the recorded calls; their numbers go on."""
        self._library.cuda_sim_clear_trace()

    def violations(self) -> list[str]:
        """Mistakes of the program that its driver calls could not report."""
        return self._text(
            lambda buffer, size: int(self._library.cuda_sim_violations(buffer, size))
        ).splitlines()

    def clear_violations(self) -> None:
        """Forgets the mistakes noted so far."""
        self._library.cuda_sim_clear_violations()

    def seconds_in_calls(self) -> float:
        """Time spent inside of driver calls, by all threads, since it was loaded.

        What a program spends beside it is its own.
        """
        return int(self._library.cuda_sim_nanoseconds_in_calls()) / 1e9

    def live(self) -> dict[str, int]:
        """How many objects of each kind there are, for tests of leaks."""
        return {
            kind: int(self._library.cuda_sim_live(kind.encode())) for kind in _KINDS
        }

    def fail(
        self,
        entry: str,
        code: int,
        call: int = 1,
        *,
        index: int | None = None,
        after: bool = False,
        every: bool = False,
    ) -> None:
        """Lets a later call of a driver function return an error.

        Args:
            entry: the function, by name or symbol.
            code: the ``CUresult``.
            call: which call, the next is 1.
            index: what ``cuMemcpyBatchAsync`` reports as the copy at fault.
            after: fail after the work was done instead of in its place.
            every: let every call from now on fail instead of one.
        """
        failed_index = _NO_INDEX if index is None else index
        number = _EVERY_CALL if every else call
        self._check("fail", entry.encode(), number, code, failed_index, after)

    def limit_batch(self, count: int, code: int = 1) -> None:
        """Lets ``cuMemcpyBatchAsync`` fail above so many copies."""
        self._check("limit_batch", count, code)

    def lookup(self, entry: str, lie: str) -> None:
        """Makes ``cuGetProcAddress`` answer wrongly about a function.

        Args:
            entry: the function's name.
            lie: "code", an error code with a valid pointer and status 0;
                "null", a null pointer with code 0 and status 0; "status", status
                1 with a valid pointer and code 0.
        """
        self._check("lookup", entry.encode(), lie.encode())

    def leave_out(self, entry: str) -> None:
        """Makes ``cuGetProcAddress`` not find a function."""
        self._check("leave_out", entry.encode())

    def clear_faults(self) -> None:
        """Takes back all failures on demand, also those of the environment."""
        self._library.cuda_sim_clear_faults()

    def set_batch_capture(self, enabled: bool) -> None:
        """Whether a captured batch becomes nodes, or is refused (the preset)."""
        self._library.cuda_sim_set_batch_capture(int(enabled))

    def set_device_attribute(self, device: int, attribute: int, value: int) -> None:
        """Overrides an answer of ``cuDeviceGetAttribute``."""
        self._check("set_device_attribute", device, attribute, value)

    def set_compute_capability(self, capability: str, device: int = 0) -> None:
        """Makes a device one of a compute capability, such as ``"8.0"``.

        With it changes how much shared memory a kernel can have.
        """
        major, _, minor = capability.partition(".")
        self._check("set_compute_capability", device, int(major) * 10 + int(minor))
