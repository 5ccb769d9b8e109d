"""Questions to a CUDA driver, real or simulated, with comparable answers.

Each probe calls the driver in a process of its own and returns what the driver
answered: result codes, indices, attributes relative to known addresses, or the
signal that the process died of. Nothing depends on addresses or timing, so the
answers of two drivers can be compared. The answers of a real one are recorded
beside this file; conformance_test.py holds the simulated driver against them.

    python3 tests/sim/probes.py [--library libcuda.so.1] [PROBE...] > answers.json

Probes that a file of answers lacks are recorded into it by

    python3 tests/sim/probes.py --missing --into tests/sim/recorded_driver_580.json
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import os
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

MIB = 1 << 20
PAGE = 4096
NO_INDEX = (1 << 64) - 1
UNTOUCHED = 0x5A5A5A5A

Answer = Any
_PROBES: dict[str, Callable[[], Answer]] = {}
_LIBRARY = "libcuda.so.1"


def probe(function: Callable[[], Answer]) -> Callable[[], Answer]:
    """Makes a function a probe, under its own name."""
    _PROBES[function.__name__] = function
    return function


# The driver -------------------------------------------------------------------


def library() -> ctypes.CDLL:
    return ctypes.CDLL(_LIBRARY)


def call(function: str, *arguments: Any) -> int:
    """Calls a driver function; integers are passed as 64 bits."""
    wrapped = [
        ctypes.c_uint64(argument) if isinstance(argument, int) else argument
        for argument in arguments
    ]
    return int(getattr(library(), function)(*wrapped))


def need(function: str, *arguments: Any) -> None:
    """Calls a driver function that has to succeed for the probe to make sense."""
    code = call(function, *arguments)
    if code != 0:
        raise RuntimeError(f"{function} answered {code}")


def out(function: str, *arguments: Any) -> int:
    """Calls a function that has to succeed; what it writes to its first."""
    value = ctypes.c_uint64()
    need(function, ctypes.byref(value), *arguments)
    return value.value


def start() -> int:
    """Initialises the driver and makes device 0's primary context current."""
    need("cuInit", 0)
    context = out("cuDevicePrimaryCtxRetain", 0)
    need("cuCtxSetCurrent", context)
    return context


def device_memory(size: int = MIB) -> int:
    return out("cuMemAlloc_v2", size)


def pinned_memory(size: int = MIB) -> int:
    return out("cuMemHostAlloc", size, 0)


def pageable_memory(size: int = MIB, protection: int = 0) -> int:
    """Pages of the process, unknown to the driver, never given back."""
    prot = protection or (mmap.PROT_READ | mmap.PROT_WRITE)
    area = mmap.mmap(-1, size, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    ctypes.memset(address, 0x11, size)
    _KEPT.append(area)
    if prot != mmap.PROT_READ | mmap.PROT_WRITE:
        libc = ctypes.CDLL(None)
        libc.mprotect(
            ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_int(prot)
        )
    return address


_KEPT: list[Any] = []


def wild_address() -> int:
    """An address that nothing is mapped at, nor will be."""
    return 0x123456789000


def stream(flags: int = 1) -> int:
    return out("cuStreamCreate", flags)


class Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class AllocationProperties(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("meta", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class AccessDescriptor(ctypes.Structure):
    _fields_ = (("location", Location), ("flags", ctypes.c_int))


class CopyAttributes(ctypes.Structure):
    _fields_ = (
        ("order", ctypes.c_int),
        ("source_hint", Location),
        ("destination_hint", Location),
        ("flags", ctypes.c_uint),
    )


def properties(device: int = 0) -> AllocationProperties:
    value = AllocationProperties()
    value.type = 1
    value.location.type = 1
    value.location.id = device
    return value


def reserve(size: int) -> int:
    return out("cuMemAddressReserve", size, 0, 0, 0)


def map_memory(address: int, size: int, access: int | None = 3) -> None:
    handle = out("cuMemCreate", size, ctypes.byref(properties()), 0)
    need("cuMemMap", address, size, 0, handle, 0)
    need("cuMemRelease", handle)
    if access is not None:
        need("cuMemSetAccess", address, size, access_descriptor(access), 1)


def access_descriptor(flags: int, device: int = 0) -> Any:
    descriptor = AccessDescriptor()
    descriptor.location.type = 1
    descriptor.location.id = device
    descriptor.flags = flags
    return ctypes.byref(descriptor)


def batch(
    copies: list[tuple[int, int, int]],
    on: int,
    *,
    orders: tuple[int, ...] = (1,),
    indices: tuple[int, ...] = (0,),
    attribute_count: int | None = None,
    count: int | None = None,
    null: tuple[str, ...] = (),
    failed_index: bool = True,
    flags: int = 0,
    eight: bool = False,
) -> list[Any]:
    """cuMemcpyBatchAsync; its code and what became of failIdx."""
    number = max(len(copies), 1)
    arrays: dict[str, Any] = {
        "dsts": (ctypes.c_uint64 * number)(*[copy[0] for copy in copies]),
        "srcs": (ctypes.c_uint64 * number)(*[copy[1] for copy in copies]),
        "sizes": (ctypes.c_size_t * number)(*[copy[2] for copy in copies]),
        "attrs": (CopyAttributes * max(len(orders), 1))(),
        "indices": (ctypes.c_size_t * max(len(indices), 1))(*indices),
    }
    for attribute, order in zip(arrays["attrs"], orders, strict=False):
        attribute.order = order
        attribute.flags = flags
    for name in null:
        arrays[name] = None
    failed = ctypes.c_size_t(UNTOUCHED)
    arguments = [
        arrays["dsts"],
        arrays["srcs"],
        arrays["sizes"],
        len(copies) if count is None else count,
        arrays["attrs"],
        arrays["indices"],
        len(orders) if attribute_count is None else attribute_count,
    ]
    if eight:
        return [call("cuMemcpyBatchAsync_v2", *arguments, on)]
    arguments.append(ctypes.byref(failed) if failed_index else None)
    code = call("cuMemcpyBatchAsync", *arguments, on)
    shown: Any = failed.value
    if shown == UNTOUCHED:
        shown = "untouched"
    elif shown == NO_INDEX:
        shown = "none"
    return [code, shown]


def each(**questions: Callable[[], Answer]) -> Answer:
    """Asks several questions, each in a process of its own.

    The caller must not have initialised the driver: it could not be used in a
    child then.
    """
    names = list(questions)
    workers = min(16, os.cpu_count() or 1)
    with ThreadPoolExecutor(max_workers=workers) as pool:
        answers = list(pool.map(lambda name: in_child(questions[name]), names))
    return dict(zip(names, answers, strict=True))


_FORK_LOCK = threading.Lock()

# A question that takes longer is answered "SIGALRM".
_SECONDS = 300


def in_child(question: Callable[[], Answer]) -> Answer:
    """Runs a question in a child process; its answer, or how it died."""
    global _FORK_LOCK
    with _FORK_LOCK:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            # The child may ask a child of its own.
            _FORK_LOCK = threading.Lock()
            status = 1
            try:
                signal.alarm(_SECONDS)
                os.close(reader)
                # What the simulated driver says before it dies is expected.
                null = os.open(os.devnull, os.O_WRONLY)
                if not os.environ.get("PROBES_VERBOSE"):
                    os.dup2(null, 2)
                try:
                    answer = question()
                except Exception as error:  # noqa: BLE001 - it is the answer
                    answer = f"{type(error).__name__}: {error}"
                text = json.dumps(answer).encode()
                while text:
                    text = text[os.write(writer, text) :]
                status = 0
            finally:
                os._exit(status)
        os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    if not content:
        return f"exit {os.WEXITSTATUS(status)}"
    return json.loads(content)


def in_thread(question: Callable[[], Answer]) -> Answer:
    """Runs a question in a new thread of this process."""
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(question()))
    thread.start()
    thread.join()
    return answers[0] if answers else "no answer"


# Lookup -----------------------------------------------------------------------


def look_up(name: str, version: int, flags: int = 1) -> list[Any]:
    """cuGetProcAddress_v2; its code, the pointer's kind, and the status."""
    function = ctypes.c_void_p(UNTOUCHED)
    status = ctypes.c_int(77)
    code = call(
        "cuGetProcAddress_v2",
        name.encode(),
        ctypes.byref(function),
        version,
        flags,
        ctypes.byref(status),
    )
    return [code, pointer_kind(function.value), status.value]


def look_up_short(name: str, version: int, flags: int = 1) -> list[Any]:
    """cuGetProcAddress, the 4-argument form."""
    function = ctypes.c_void_p(UNTOUCHED)
    code = call(
        "cuGetProcAddress", name.encode(), ctypes.byref(function), version, flags
    )
    return [code, pointer_kind(function.value)]


def pointer_kind(value: int | None) -> str:
    if not value:
        return "null"
    return "untouched" if value == UNTOUCHED else "function"


@probe
def lookup() -> Answer:
    answer = {}
    for name, version in (
        ("cuMemcpyBatchAsync", 12070),
        ("cuMemcpyBatchAsync", 12080),
        ("cuMemcpyBatchAsync", 13000),
        ("cuMemcpyBatchAsync", 0),
        ("cuMemcpyBatchAsync", -1),
        ("cuMemcpyBatchAsync", 99000),
        ("cuMemcpyBatchAsync_v2", 13000),
        ("cuMemAlloc_v2", 13000),
        ("cuMemAlloc", 3020),
        ("cuMemAlloc", 3010),
        ("cuNoSuchFunction", 12000),
        ("cuNoSuchFunction", 99000),
        ("", 12000),
        ("cuGetProcAddress", 11030),
        ("cuGetProcAddress", 11020),
        ("cuGetProcAddress", 12000),
        ("cuCtxGetId", 11080),
        ("cuCtxGetId", 12000),
        ("cuDevicePrimaryCtxRelease", 7000),
        ("cuStreamBeginCapture", 10000),
        ("cuStreamBeginCapture", 10010),
        ("cuInit", 2000),
        ("cuInit", 1000),
    ):
        answer[f"{name} {version}"] = look_up(name, version)
        answer[f"{name} {version} short"] = look_up_short(name, version)
    return answer


@probe
def lookup_flags() -> Answer:
    return {
        f"{name} {flags}": look_up(name, 12080, flags)
        for name in ("cuMemcpyAsync", "cuMemAlloc", "cuNoSuchFunction")
        for flags in (0, 1, 2, 3, 4, 5, 8)
    }


@probe
def lookup_identity() -> Answer:
    """Which lookups give the same function."""

    def found(name: str, version: int, flags: int = 1) -> int:
        function = ctypes.c_void_p()
        status = ctypes.c_int()
        need(
            "cuGetProcAddress_v2",
            name.encode(),
            ctypes.byref(function),
            version,
            flags,
            ctypes.byref(status),
        )
        return function.value or 0

    return {
        "batch 12080 = 12090": found("cuMemcpyBatchAsync", 12080)
        == found("cuMemcpyBatchAsync", 12090),
        "batch 12080 = 13000": found("cuMemcpyBatchAsync", 12080)
        == found("cuMemcpyBatchAsync", 13000),
        "legacy = per thread": found("cuMemcpyAsync", 12080)
        == found("cuMemcpyAsync", 12080, 2),
        "legacy = default": found("cuMemcpyAsync", 12080)
        == found("cuMemcpyAsync", 12080, 0),
        "plain = per thread": found("cuMemAlloc", 12080)
        == found("cuMemAlloc", 12080, 2),
        "stream context 9020 = 12050": found("cuStreamGetCtx", 9020)
        == found("cuStreamGetCtx", 12050),
        "device 2000 = 13000": found("cuCtxGetDevice", 2000)
        == found("cuCtxGetDevice", 13000),
        "synchronize 2000 = 13000": found("cuCtxSynchronize", 2000)
        == found("cuCtxSynchronize", 13000),
        "release 7000 = 11000": found("cuDevicePrimaryCtxRelease", 7000)
        == found("cuDevicePrimaryCtxRelease", 11000),
        "instantiate 11000 = 12000": found("cuGraphInstantiate", 11000)
        == found("cuGraphInstantiate", 12000),
        "capture info 11030 = 12030": found("cuStreamGetCaptureInfo", 11030)
        == found("cuStreamGetCaptureInfo", 12030),
    }


@probe
def lookup_null_arguments() -> Answer:
    function = ctypes.c_void_p(UNTOUCHED)
    status = ctypes.c_int(77)
    f, s = ctypes.byref(function), ctypes.byref(status)
    return each(
        symbol=lambda: call("cuGetProcAddress_v2", None, f, 12000, 1, s),
        function=lambda: call("cuGetProcAddress_v2", b"cuInit", None, 12000, 1, s),
        status=lambda: call("cuGetProcAddress_v2", b"cuInit", f, 12000, 1, None),
        short_symbol=lambda: call("cuGetProcAddress", None, f, 12000, 1),
        short_function=lambda: call("cuGetProcAddress", b"cuInit", None, 12000, 1),
    )


# Initialisation ---------------------------------------------------------------


@probe
def before_initialisation() -> Answer:
    word = ctypes.c_uint64()
    w = ctypes.byref(word)
    attribute = (ctypes.c_int * 1)(2)
    values = (ctypes.c_void_p * 1)(ctypes.addressof(word))
    return {
        "cuDriverGetVersion": call("cuDriverGetVersion", w),
        "cuGetErrorName": call("cuGetErrorName", 1, w),
        "cuGetErrorString": call("cuGetErrorString", 1, w),
        "cuDeviceGet": call("cuDeviceGet", w, 0),
        "cuDeviceGetCount": call("cuDeviceGetCount", w),
        "cuDevicePrimaryCtxGetState": call("cuDevicePrimaryCtxGetState", 0, w, w),
        "cuDevicePrimaryCtxRetain": call("cuDevicePrimaryCtxRetain", w, 0),
        "cuCtxGetCurrent": call("cuCtxGetCurrent", w),
        "cuCtxGetDevice": call("cuCtxGetDevice", w),
        "cuCtxPopCurrent": call("cuCtxPopCurrent_v2", w),
        "cuStreamIsCapturing": call("cuStreamIsCapturing", 0, w),
        "cuStreamGetCtx": call("cuStreamGetCtx", 0, w),
        "cuMemcpyAsync": call("cuMemcpyAsync", 0, 0, 0, 0),
        "cuPointerGetAttributes": call(
            "cuPointerGetAttributes", 1, attribute, values, 4096
        ),
        "batch": batch([(4096, 4096, 8)], 2),
        "cuInit flags": call("cuInit", 1),
        "unknown error": [
            call("cuGetErrorName", 12345, w),
            call("cuGetErrorString", 12345, w),
        ],
    }


@probe
def null_arguments_before_initialisation() -> Answer:
    return each(
        version=lambda: call("cuDriverGetVersion", None),
        error_name=lambda: call("cuGetErrorName", 1, None),
        error_text=lambda: call("cuGetErrorString", 1, None),
    )


@probe
def after_fork() -> Answer:
    """A child of a process that had initialised the driver."""
    start()
    word = ctypes.c_uint64()
    w = ctypes.byref(word)

    def ask() -> Answer:
        return {
            "cuDriverGetVersion": call("cuDriverGetVersion", w),
            "cuInit": call("cuInit", 0),
            "cuGetErrorName": call("cuGetErrorName", 1, w),
            "cuGetProcAddress": look_up("cuInit", 12000),
            "cuDeviceGetCount": call("cuDeviceGetCount", w),
            "cuCtxGetCurrent": call("cuCtxGetCurrent", w),
            "cuCtxGetDevice": call("cuCtxGetDevice", w),
            "cuMemAlloc": call("cuMemAlloc_v2", w, 100),
            "cuStreamCreate": call("cuStreamCreate", w, 0),
        }

    return in_child(ask)


@probe
def after_fork_uninitialised() -> Answer:
    """A child of a process that had only looked functions up."""
    word = ctypes.c_uint64()
    look_up("cuInit", 12000)

    def ask() -> Answer:
        return {
            "cuInit": call("cuInit", 0),
            "cuDeviceGetCount": call("cuDeviceGetCount", ctypes.byref(word)),
        }

    return in_child(ask)


# Contexts ---------------------------------------------------------------------


def context_id(context: int | None) -> Any:
    value = ctypes.c_uint64()
    code = call("cuCtxGetId", context, ctypes.byref(value))
    return value.value if code == 0 else f"code {code}"


@probe
def primary_context() -> Answer:
    need("cuInit", 0)
    word = ctypes.c_uint64()
    w = ctypes.byref(word)

    def active() -> int:
        flags, on = ctypes.c_uint(), ctypes.c_int()
        need(
            "cuDevicePrimaryCtxGetState",
            0,
            ctypes.byref(flags),
            ctypes.byref(on),
        )
        return on.value

    answer: dict[str, Any] = {"active at first": active()}
    answer["release unretained"] = call("cuDevicePrimaryCtxRelease_v2", 0)
    first = out("cuDevicePrimaryCtxRetain", 0)
    first_id = context_id(first)
    answer["active retained"] = active()
    second = out("cuDevicePrimaryCtxRetain", 0)
    answer["same handle"] = first == second
    answer["current after retain"] = out("cuCtxGetCurrent") != 0
    answer["destroy"] = call("cuCtxDestroy_v2", first)
    answer["release once"] = [
        call("cuDevicePrimaryCtxRelease_v2", 0),
        active(),
    ]
    need("cuCtxPushCurrent_v2", first)
    answer["release twice"] = [
        call("cuDevicePrimaryCtxRelease_v2", 0),
        active(),
    ]
    answer["current after release"] = out("cuCtxGetCurrent") == first
    answer["device after release"] = call("cuCtxGetDevice", w)
    answer["synchronize after release"] = call("cuCtxSynchronize")
    answer["allocate after release"] = call("cuMemAlloc_v2", w, 100)
    answer["stream after release"] = call("cuStreamCreate", w, 0)
    answer["id after release"] = isinstance(context_id(first), int)
    answer["release thrice"] = call("cuDevicePrimaryCtxRelease_v2", 0)
    third = out("cuDevicePrimaryCtxRetain", 0)
    answer["same handle again"] = third == first
    answer["same id again"] = context_id(third) == first_id
    answer["usable again"] = call("cuCtxSynchronize")
    answer["reset"] = [call("cuDevicePrimaryCtxReset_v2", 0), active()]
    answer["synchronize after reset"] = call("cuCtxSynchronize")
    answer["retain after reset"] = out("cuDevicePrimaryCtxRetain", 0) == first
    answer["synchronize then"] = call("cuCtxSynchronize")
    answer["releases"] = [call("cuDevicePrimaryCtxRelease_v2", 0) for _ in range(3)]
    answer["bad device"] = [
        call("cuDevicePrimaryCtxRetain", w, 99),
        call("cuDevicePrimaryCtxRelease_v2", 99),
        call("cuDeviceGet", w, 99),
        call("cuDevicePrimaryCtxRetain", w, -1),
    ]
    return answer


@probe
def context_stack() -> Answer:
    need("cuInit", 0)
    word = ctypes.c_uint64()
    w = ctypes.byref(word)
    answer: dict[str, Any] = {
        "pop empty": call("cuCtxPopCurrent_v2", w),
        "device empty": call("cuCtxGetDevice", w),
        "current empty": [call("cuCtxGetCurrent", w), word.value],
        "id empty": context_id(None),
        "synchronize empty": call("cuCtxSynchronize"),
        "push null": call("cuCtxPushCurrent_v2", None),
        "set null on empty": call("cuCtxSetCurrent", None),
    }
    first = out("cuCtxCreate_v2", 0, 0)
    second = out("cuCtxCreate_v2", 0, 0)
    answer["current is latest"] = out("cuCtxGetCurrent") == second
    answer["set null"] = [
        call("cuCtxSetCurrent", None),
        out("cuCtxGetCurrent") == first,
        out("cuCtxGetCurrent"),
    ][:2]
    answer["depth after set null"] = call("cuCtxPopCurrent_v2", w)
    answer["depth after pop"] = call("cuCtxPopCurrent_v2", w)
    answer["destroy not current"] = call("cuCtxDestroy_v2", second)
    need("cuCtxPushCurrent_v2", first)
    need("cuCtxPushCurrent_v2", first)
    answer["destroy current twice"] = call("cuCtxDestroy_v2", first)
    answer["current after destroy"] = out("cuCtxGetCurrent") == first
    answer["pop after destroy"] = call("cuCtxPopCurrent_v2", w)
    answer["ids differ"] = True
    return answer


@probe
def destroyed_context() -> Answer:
    """Current to another thread while it is destroyed."""
    word = ctypes.c_uint64()
    w = ctypes.byref(word)

    def ask(question: Callable[[int], Answer]) -> Callable[[], Answer]:
        def run() -> Answer:
            need("cuInit", 0)
            context = out("cuCtxCreate_v2", 0, 0)
            in_thread(lambda: call("cuCtxDestroy_v2", context))
            return question(context)

        return run

    return each(
        current=ask(lambda context: out("cuCtxGetCurrent") == context),
        device=ask(lambda _: call("cuCtxGetDevice", w)),
        synchronize=ask(lambda _: call("cuCtxSynchronize")),
        allocate=ask(lambda _: call("cuMemAlloc_v2", w, 100)),
        stream=ask(lambda _: call("cuStreamCreate", w, 0)),
        legacy_stream=ask(lambda _: call("cuStreamIsCapturing", 0, w)),
        legacy_context=ask(lambda _: call("cuStreamGetCtx", 0, w)),
        pop=ask(lambda _: call("cuCtxPopCurrent_v2", w)),
        push=ask(lambda context: call("cuCtxPushCurrent_v2", context)),
        set=ask(lambda context: call("cuCtxSetCurrent", context)),
        api_version=ask(lambda context: call("cuCtxGetApiVersion", context, w)),
        copy=ask(lambda _: call("cuMemcpyAsync", 4096, 4096, 8, 0)),
        batch=ask(lambda _: batch([(4096, 4096, 8)], 2)),
        attributes=ask(lambda _: attributes(4096, 0)),
        identify=ask(lambda context: context_id(context)),
        destroy=ask(lambda context: call("cuCtxDestroy_v2", context)),
    )


@probe
def context_handles_reused() -> Answer:
    need("cuInit", 0)
    first = out("cuCtxCreate_v2", 0, 0)
    first_id = context_id(first)
    need("cuCtxDestroy_v2", first)
    second = out("cuCtxCreate_v2", 0, 0)
    return {
        "same id": context_id(second) == first_id,
        "api version": call(
            "cuCtxGetApiVersion", second, ctypes.byref(ctypes.c_uint())
        ),
    }


@probe
def without_context() -> Answer:
    """A thread with no current context."""
    context = start()
    on = stream()
    blocking = stream(0)
    device, pinned = device_memory(), pinned_memory()
    need("cuCtxPopCurrent_v2", None)
    assert context
    word = ctypes.c_uint64()
    w = ctypes.byref(word)
    size = 64
    return {
        "allocate": call("cuMemAlloc_v2", w, 100),
        "allocate host": call("cuMemHostAlloc", w, 100, 0),
        "stream create": call("cuStreamCreate", w, 0),
        "event create": call("cuEventCreate", w, 2),
        "copy created": call("cuMemcpyAsync", device, pinned, size, on),
        "copy blocking": call("cuMemcpyAsync", device, pinned, size, blocking),
        "copy legacy": call("cuMemcpyAsync", device, pinned, size, 0),
        "copy legacy 1": call("cuMemcpyAsync", device, pinned, size, 1),
        "copy per thread": call("cuMemcpyAsync", device, pinned, size, 2),
        "batch created": batch([(device, pinned, size)], on),
        "batch legacy": batch([(device, pinned, size)], 0),
        "batch legacy 1": batch([(device, pinned, size)], 1),
        "batch per thread": batch([(device, pinned, size)], 2),
        "fill created": call("cuMemsetD8Async", device, 1, size, on),
        "synchronize created": call("cuStreamSynchronize", on),
        "query created": call("cuStreamQuery", on),
        "context of created": call("cuStreamGetCtx", on, w),
        "context of legacy": call("cuStreamGetCtx", 0, w),
        "capturing created": call("cuStreamIsCapturing", on, w),
        "capturing legacy": call("cuStreamIsCapturing", 0, w),
        "copy synchronous": call("cuMemcpy", device, pinned, size),
        "free": call("cuMemFree_v2", device),
        "free host": call("cuMemFreeHost", pinned),
        "register": call("cuMemHostRegister_v2", pageable_memory(), MIB, 0),
        "exchange mode": call(
            "cuThreadExchangeStreamCaptureMode",
            ctypes.byref(ctypes.c_int(2)),
        ),
        "destroy stream": call("cuStreamDestroy_v2", on),
    }


@probe
def foreign_context() -> Answer:
    """A stream of one context while another is current."""
    start()
    on = stream()
    event = out("cuEventCreate", 2)
    device, pinned = device_memory(), pinned_memory()
    out("cuCtxCreate_v2", 0, 0)
    word = ctypes.c_uint64()
    answer: dict[str, Any] = {
        "copy": call("cuMemcpyAsync", device, pinned, 64, on),
        "batch": batch([(device, pinned, 64)], on),
        "synchronize": call("cuStreamSynchronize", on),
        "capturing": call("cuStreamIsCapturing", on, ctypes.byref(word)),
        "record event": call("cuEventRecord", event, on),
        "record here": call("cuEventRecord", event, stream()),
        "wait here": call("cuStreamWaitEvent", stream(), event, 0),
        "copy of foreign memory": call("cuMemcpyAsync", device, pinned, 64, stream()),
        "batch of foreign memory": batch([(device, pinned, 64)], stream()),
        "attributes of foreign memory": attributes(device, device),
        "attributes of foreign pinned": attributes(pinned, pinned),
        "free foreign": call("cuMemFree_v2", device),
    }
    return answer


# Stream handles ---------------------------------------------------------------


@probe
def stream_handles() -> Answer:
    word = ctypes.c_uint64()
    w = ctypes.byref(word)
    zeros = (ctypes.c_uint64 * 512)()

    def ask(handle: str, action: str) -> Callable[[], Answer]:
        def run() -> Answer:
            start()
            device, pinned = device_memory(), pinned_memory()
            if handle == "destroyed":
                value = stream()
                need("cuStreamDestroy_v2", value)
            elif handle == "small":
                value = 3
            else:
                value = ctypes.addressof(zeros)
            if action == "copy":
                return call("cuMemcpyAsync", device, pinned, 64, value)
            if action == "batch":
                return batch([(device, pinned, 64)], value)
            if action == "capturing":
                return call("cuStreamIsCapturing", value, w)
            if action == "context":
                return call("cuStreamGetCtx", value, w)
            return call("cuStreamSynchronize", value)

        return run

    return each(
        **{
            f"{handle} {action}": ask(handle, action)
            for handle in ("destroyed", "small", "foreign")
            for action in (
                "copy",
                "batch",
                "capturing",
                "context",
                "synchronize",
            )
        }
    )


@probe
def destroy_special_streams() -> Answer:
    return each(
        legacy=lambda: (start(), call("cuStreamDestroy_v2", 0))[1],
        legacy_1=lambda: (start(), call("cuStreamDestroy_v2", 1))[1],
        per_thread=lambda: (start(), call("cuStreamDestroy_v2", 2))[1],
    )


@probe
def stream_properties() -> Answer:
    start()
    word = ctypes.c_uint64()
    w = ctypes.byref(word)

    def flags(on: int) -> Any:
        value = ctypes.c_uint(99)
        return [call("cuStreamGetFlags", on, ctypes.byref(value)), value.value]

    def same_context(on: int) -> Any:
        code = call("cuStreamGetCtx", on, w)
        return [code, word.value == out("cuCtxGetCurrent")]

    return {
        "bad flags": call("cuStreamCreate", w, 2),
        "flags": [flags(stream(0)), flags(stream(1)), flags(0), flags(2)],
        "contexts": [same_context(on) for on in (stream(), 0, 1, 2)],
        "context null": call("cuStreamGetCtx", stream(), None),
        "capturing null": call("cuStreamIsCapturing", stream(), None),
        "capturing": [call("cuStreamIsCapturing", on, w) for on in (stream(), 0, 1, 2)],
        "event flags": [call("cuEventCreate", w, value) for value in (0, 1, 2, 3, 8)],
    }


# Pointer attributes -------------------------------------------------------------

_ATTRIBUTES: dict[str, tuple[int, Any]] = {
    "context": (1, ctypes.c_uint64),
    "type": (2, ctypes.c_uint),
    "device pointer": (3, ctypes.c_uint64),
    "host pointer": (4, ctypes.c_uint64),
    "managed": (8, ctypes.c_int),
    "ordinal": (9, ctypes.c_int),
    "range start": (11, ctypes.c_uint64),
    "range size": (12, ctypes.c_uint64),
    "mapped": (13, ctypes.c_int),
    "access": (16, ctypes.c_int),
    "mapping size": (18, ctypes.c_uint64),
    "mapping base": (19, ctypes.c_uint64),
}


def attributes(pointer: int, base: int) -> Any:
    """All attributes of a pointer, addresses relative to `base`."""
    names = list(_ATTRIBUTES)
    numbers = (ctypes.c_int * len(names))(*[_ATTRIBUTES[name][0] for name in names])
    values = [_ATTRIBUTES[name][1](0) for name in names]
    pointers = (ctypes.c_void_p * len(names))(
        *[ctypes.addressof(value) for value in values]
    )
    code = call("cuPointerGetAttributes", len(names), numbers, pointers, pointer)
    if code != 0:
        return f"code {code}"
    answer: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        shown: Any = value.value
        if name == "context":
            shown = shown != 0
        elif name in (
            "device pointer",
            "host pointer",
            "range start",
            "mapping base",
        ):
            if shown == pointer != 0:
                shown = "the pointer"
            elif shown != 0:
                shown = f"base {shown - base:+d}"
        answer[name] = shown
    return answer


def single_attributes(pointer: int) -> Any:
    """The result codes of asking for each attribute alone."""
    value = (ctypes.c_uint64 * 4)()
    return {
        name: call("cuPointerGetAttribute", value, number, pointer)
        for name, (number, _) in _ATTRIBUTES.items()
    }


def kinds_of_memory() -> Iterator[tuple[str, int, int]]:
    """Every kind of memory: a name, a pointer into it, its base."""
    device = device_memory(3 * MIB)
    yield "device", device + 5, device
    small = device_memory(1000)
    yield "small device", small + 999, small
    pinned = pinned_memory(1000)
    yield "pinned", pinned + 5, pinned
    area = pageable_memory()
    need("cuMemHostRegister_v2", area + 100, 5000, 0)
    yield "registered", area + 105, area + 100
    need("cuMemHostRegister_v2", area + 8 * PAGE, PAGE, 8)
    yield "registered read-only", area + 8 * PAGE + 1, area + 8 * PAGE
    managed = out("cuMemAllocManaged", MIB, 1)
    yield "managed", managed + 5, managed
    reservation = reserve(16 * MIB)
    map_memory(reservation + 2 * MIB, 4 * MIB)
    map_memory(reservation + 6 * MIB, 2 * MIB, None)
    yield "mapped", reservation + 3 * MIB, reservation
    yield "mapped without access", reservation + 7 * MIB, reservation
    yield "reserved", reservation + 9 * MIB, reservation
    pool = out("cuMemAllocAsync", MIB, 0)
    yield "pool", pool + 5, pool
    yield "pageable", pageable_memory() + 5, 0
    yield "past device", device + 64 * MIB, 0
    yield "null", 0, 0
    freed = device_memory(4 * MIB)
    need("cuMemFree_v2", freed)
    yield "freed", freed, 0


@probe
def pointer_attributes() -> Answer:
    start()
    return {
        name: attributes(pointer, base) for name, pointer, base in kinds_of_memory()
    }


@probe
def pointer_attributes_without_context() -> Answer:
    start()
    kinds = list(kinds_of_memory())
    need("cuCtxPopCurrent_v2", None)
    return {name: attributes(pointer, base) for name, pointer, base in kinds}


@probe
def single_pointer_attributes() -> Answer:
    start()
    return {name: single_attributes(pointer) for name, pointer, _ in kinds_of_memory()}


@probe
def single_pointer_attributes_without_context() -> Answer:
    start()
    kinds = list(kinds_of_memory())
    need("cuCtxPopCurrent_v2", None)
    return {name: single_attributes(pointer) for name, pointer, _ in kinds}


@probe
def address_ranges() -> Answer:
    start()
    answer = {}
    for name, pointer, base in kinds_of_memory():
        start_address, size = ctypes.c_uint64(), ctypes.c_size_t()
        code = call(
            "cuMemGetAddressRange_v2",
            ctypes.byref(start_address),
            ctypes.byref(size),
            pointer,
        )
        answer[name] = (
            [f"base {start_address.value - base:+d}", size.value]
            if code == 0
            else f"code {code}"
        )
    return answer


@probe
def known_attributes() -> Answer:
    """Which attribute numbers the driver knows."""
    start()
    pointer = device_memory()
    value = (ctypes.c_uint64 * 4)()
    number = ctypes.c_int()
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(value))
    answer = {}
    for number.value in range(24):
        if number.value == 5:
            continue  # P2P tokens: a deprecated structure
        answer[str(number.value)] = call(
            "cuPointerGetAttributes",
            1,
            ctypes.byref(number),
            pointers,
            pointer,
        )
    answer["none"] = call(
        "cuPointerGetAttributes", 0, ctypes.byref(number), pointers, pointer
    )
    return answer


# Allocation and registration -----------------------------------------------------


@probe
def allocation() -> Answer:
    start()
    word = ctypes.c_uint64()
    w = ctypes.byref(word)
    device, pinned = device_memory(), pinned_memory()
    managed = out("cuMemAllocManaged", MIB, 1)
    return {
        "size 0": call("cuMemAlloc_v2", w, 0),
        "null": call("cuMemAlloc_v2", None, 100),
        "too large": call("cuMemAlloc_v2", w, 1 << 50),
        "host size 0": call("cuMemHostAlloc", w, 0, 0),
        "host flags": call("cuMemHostAlloc", w, 100, 0x100),
        "managed flags": [
            call("cuMemAllocManaged", w, 100, flags) for flags in (0, 3, 4)
        ],
        "managed size 0": call("cuMemAllocManaged", w, 0, 1),
        "free null": call("cuMemFree_v2", 0),
        "free inside": call("cuMemFree_v2", device + 512),
        "free pinned as device": call("cuMemFree_v2", pinned),
        "free pageable": call("cuMemFree_v2", pageable_memory()),
        "free host inside": call("cuMemFreeHost", pinned + 512),
        "free host pageable": call("cuMemFreeHost", pageable_memory()),
        "free host null": call("cuMemFreeHost", None),
        "free host device": call("cuMemFreeHost", device),
        "free": call("cuMemFree_v2", device),
        "free again": call("cuMemFree_v2", device),
        "free managed": call("cuMemFree_v2", managed),
        "free host": call("cuMemFreeHost", pinned),
        "free host again": call("cuMemFreeHost", pinned),
        "pool size 0": call("cuMemAllocAsync", w, 0, 0),
        "free async pageable": call("cuMemFreeAsync", pageable_memory(), 0),
        "free async device": call("cuMemFreeAsync", device_memory(), 0),
        "free pool": call("cuMemFree_v2", out("cuMemAllocAsync", 100, 0)),
    }


@probe
def registration() -> Answer:
    start()
    area = pageable_memory(64 * PAGE)
    pinned = pinned_memory()
    device = device_memory()
    read_only = pageable_memory(PAGE, mmap.PROT_READ)
    answer: dict[str, Any] = {
        "null": call("cuMemHostRegister_v2", None, PAGE, 0),
        "size 0": call("cuMemHostRegister_v2", area, 0, 0),
        "bad flags": call("cuMemHostRegister_v2", area, PAGE, 0x100),
        "pages": call("cuMemHostRegister_v2", area, 2 * PAGE, 0),
        "again": call("cuMemHostRegister_v2", area, 2 * PAGE, 0),
        "inside": call("cuMemHostRegister_v2", area + PAGE, 100, 0),
        "overlapping": call("cuMemHostRegister_v2", area + PAGE, 4 * PAGE, 0),
        "adjacent": call("cuMemHostRegister_v2", area + 2 * PAGE, PAGE, 0),
        "part of a page": call("cuMemHostRegister_v2", area + 8 * PAGE + 64, 100, 0),
        "same page, other part": call(
            "cuMemHostRegister_v2", area + 8 * PAGE + 1024, 100, 0
        ),
        "same page, adjacent": call(
            "cuMemHostRegister_v2", area + 8 * PAGE + 1124, 100, 0
        ),
        "same page, overlapping": call(
            "cuMemHostRegister_v2", area + 8 * PAGE + 1100, 100, 0
        ),
        "pinned": call("cuMemHostRegister_v2", pinned, PAGE, 0),
        "device": call("cuMemHostRegister_v2", device, PAGE, 0),
        "wild": call("cuMemHostRegister_v2", wild_address(), PAGE, 0),
        "read-only pages": call("cuMemHostRegister_v2", read_only, PAGE, 0),
        "read-only pages, so told": call("cuMemHostRegister_v2", read_only, PAGE, 8),
        "read-only attribute": out("cuDeviceGetAttribute", 113, 0),
        "unregister inside": call("cuMemHostUnregister", area + 64),
        "unregister": call("cuMemHostUnregister", area),
        "unregister again": call("cuMemHostUnregister", area),
        "unregister null": call("cuMemHostUnregister", None),
        "unregister pinned": call("cuMemHostUnregister", pinned),
        "unregister device": call("cuMemHostUnregister", device),
        "unregister pageable": call("cuMemHostUnregister", area + 32 * PAGE),
        "host flags of registered": call(
            "cuMemHostGetFlags",
            ctypes.byref(ctypes.c_uint()),
            area + 2 * PAGE,
        ),
    }
    return answer


@probe
def virtual_memory() -> Answer:
    start()
    word = ctypes.c_uint64()
    w = ctypes.byref(word)
    p = ctypes.byref(properties())
    bad_device = ctypes.byref(properties(99))
    host_location = properties()
    host_location.location.type = 2
    granularity = out("cuMemGetAllocationGranularity", p, 0)
    base = reserve(32 * MIB)
    handle = out("cuMemCreate", 4 * MIB, p, 0)
    answer: dict[str, Any] = {
        "granularity": granularity,
        "reserve 0": call("cuMemAddressReserve", w, 0, 0, 0, 0),
        "reserve odd": call("cuMemAddressReserve", w, 1000, 0, 0, 0),
        "reserve flags": call("cuMemAddressReserve", w, 2 * MIB, 0, 0, 1),
        "reserve alignment": call("cuMemAddressReserve", w, 2 * MIB, 3, 0, 0),
        "create odd": call("cuMemCreate", w, 1000, p, 0),
        "create 0": call("cuMemCreate", w, 0, p, 0),
        "create bad device": call("cuMemCreate", w, 2 * MIB, bad_device, 0),
        "create flags": call("cuMemCreate", w, 2 * MIB, p, 1),
        "map": call("cuMemMap", base, 4 * MIB, 0, handle, 0),
        "map over": call("cuMemMap", base, 4 * MIB, 0, handle, 0),
        "map overlapping": call("cuMemMap", base + 2 * MIB, 4 * MIB, 0, handle, 0),
        "map twice elsewhere": call("cuMemMap", base + 8 * MIB, 4 * MIB, 0, handle, 0),
        "map part": call("cuMemMap", base + 16 * MIB, 2 * MIB, 0, handle, 0),
        "map offset": call("cuMemMap", base + 20 * MIB, 2 * MIB, 2 * MIB, handle, 0),
        "map too large": call("cuMemMap", base + 24 * MIB, 8 * MIB, 0, handle, 0),
        "map odd": call("cuMemMap", base + 24 * MIB + 512, 512, 0, handle, 0),
        "map outside": call("cuMemMap", base + 30 * MIB, 4 * MIB, 0, handle, 0),
        "access": call("cuMemSetAccess", base, 4 * MIB, access_descriptor(3), 1),
        "access part": call("cuMemSetAccess", base, 2 * MIB, access_descriptor(3), 1),
        "access unmapped": call(
            "cuMemSetAccess", base + 4 * MIB, 4 * MIB, access_descriptor(3), 1
        ),
        "access read-only": call(
            "cuMemSetAccess", base + 8 * MIB, 4 * MIB, access_descriptor(1), 1
        ),
        "access bad device": call(
            "cuMemSetAccess", base, 4 * MIB, access_descriptor(3, 99), 1
        ),
        "unmap part": call("cuMemUnmap", base, 2 * MIB),
        "unmap unmapped": call("cuMemUnmap", base + 4 * MIB, 4 * MIB),
        "free while mapped": call("cuMemAddressFree", base, 32 * MIB),
        "release": call("cuMemRelease", handle),
        "release again": call("cuMemRelease", handle),
        "unmap": call("cuMemUnmap", base, 4 * MIB),
        "unmap again": call("cuMemUnmap", base, 4 * MIB),
        "access after unmap": call(
            "cuMemSetAccess", base, 4 * MIB, access_descriptor(3), 1
        ),
        "free part": call("cuMemAddressFree", base, 4 * MIB),
    }
    for offset, size in ((8, 4), (16, 2), (20, 2)):
        answer[f"unmap {offset}"] = call("cuMemUnmap", base + offset * MIB, size * MIB)
    answer["free"] = call("cuMemAddressFree", base, 32 * MIB)
    return answer


# Copies -------------------------------------------------------------------------


def hard_cases() -> dict[str, Callable[[], tuple[int, int, int]]]:
    """Copies that a driver may refuse: destination, source, size."""

    def with_device(
        case: Callable[[int, int], tuple[int, int, int]],
    ) -> Callable[[], tuple[int, int, int]]:
        return lambda: case(device_memory(), pinned_memory())

    def seam(write: bool, by: int = PAGE) -> tuple[int, int, int]:
        area = pageable_memory(8 * PAGE)
        need("cuMemHostRegister_v2", area, PAGE, 0)
        need("cuMemHostRegister_v2", area + by, PAGE, 0)
        device = device_memory()
        if write:
            return area + PAGE - 64, device, 128
        return device, area + PAGE - 64, 128

    def registered_into_pageable(write: bool) -> tuple[int, int, int]:
        area = pageable_memory(8 * PAGE)
        need("cuMemHostRegister_v2", area, PAGE, 0)
        device = device_memory()
        if write:
            return area + PAGE - 64, device, 128
        return device, area + PAGE - 64, 128

    def pageable_into_registered(write: bool) -> tuple[int, int, int]:
        area = pageable_memory(8 * PAGE)
        need("cuMemHostRegister_v2", area + PAGE, PAGE, 0)
        device = device_memory()
        if write:
            return area + PAGE - 64, device, 128
        return device, area + PAGE - 64, 128

    def read_only_registration(write: bool) -> tuple[int, int, int]:
        area = pageable_memory(PAGE)
        need("cuMemHostRegister_v2", area, PAGE, 8)
        device = device_memory()
        return (area, device, 64) if write else (device, area, 64)

    def read_only_pages(write: bool) -> tuple[int, int, int]:
        area = pageable_memory(PAGE, mmap.PROT_READ)
        device = device_memory()
        return (area, device, 64) if write else (device, area, 64)

    def mapping(
        access: int | None, write: bool, offset: int, size: int
    ) -> tuple[int, int, int]:
        base = reserve(16 * MIB)
        map_memory(base, 2 * MIB, access)
        map_memory(base + 2 * MIB, 2 * MIB, access)
        pinned = pinned_memory(8 * MIB)
        if write:
            return base + offset, pinned, size
        return pinned, base + offset, size

    def freed(write: bool) -> tuple[int, int, int]:
        device, pinned = device_memory(4 * MIB), pinned_memory()
        need("cuMemFree_v2", device)
        return (device, pinned, 64) if write else (pinned, device, 64)

    def pool() -> tuple[int, int, int]:
        return out("cuMemAllocAsync", MIB, 0), pinned_memory(), 64

    def pool_past_end() -> tuple[int, int, int]:
        return out("cuMemAllocAsync", MIB, 0) + MIB - 8, pinned_memory(), 64

    def managed(write: bool) -> tuple[int, int, int]:
        address = out("cuMemAllocManaged", MIB, 1)
        device = device_memory()
        return (address, device, 64) if write else (device, address, 64)

    return {
        "plain": with_device(lambda d, p: (d, p, 64)),
        "back": with_device(lambda d, p: (p, d, 64)),
        "size 0": with_device(lambda d, p: (d, p, 0)),
        "size 0 and null": lambda: (0, 0, 0),
        "size 0 and wild": lambda: (wild_address(), wild_address(), 0),
        "null destination": with_device(lambda d, p: (0, p, 64)),
        "null source": with_device(lambda d, p: (d, 0, 64)),
        "past end of device destination": with_device(
            lambda d, p: (d + MIB - 8, p, 64)
        ),
        "past end of device source": with_device(lambda d, p: (p, d + MIB - 8, 64)),
        "past end of small device": lambda: (
            device_memory(1000) + 992,
            pinned_memory(),
            64,
        ),
        "past end of pinned": with_device(lambda d, p: (d, p + MIB - 8, 64)),
        "past end of pinned destination": with_device(
            lambda d, p: (p + MIB - 8, d, 64)
        ),
        "wrapping": with_device(lambda d, p: (d, p, (1 << 64) - 64)),
        "device to device": with_device(lambda d, p: (d, d + 4096, 64)),
        "onto itself": with_device(lambda d, p: (d, d, 64)),
        "overlapping itself": with_device(lambda d, p: (d, d + 8, 64)),
        "pinned to pinned": with_device(lambda d, p: (p, p + 4096, 64)),
        "pageable source": lambda: (device_memory(), pageable_memory(), 64),
        "pageable destination": lambda: (
            pageable_memory(),
            device_memory(),
            64,
        ),
        "pageable to pageable": lambda: (
            pageable_memory(),
            pageable_memory(),
            64,
        ),
        "wild source": lambda: (device_memory(), wild_address(), 64),
        "wild destination": lambda: (wild_address(), device_memory(), 64),
        "read-only pages as source": lambda: read_only_pages(False),
        "read-only pages as destination": lambda: read_only_pages(True),
        "freed source": lambda: freed(False),
        "freed destination": lambda: freed(True),
        "seam source": lambda: seam(False),
        "seam destination": lambda: seam(True),
        "registered into pageable source": lambda: registered_into_pageable(False),
        "registered into pageable destination": lambda: registered_into_pageable(True),
        "pageable into registered source": lambda: pageable_into_registered(False),
        "pageable into registered destination": lambda: pageable_into_registered(True),
        "read-only registration as source": lambda: read_only_registration(False),
        "read-only registration as destination": lambda: read_only_registration(True),
        "across mappings": lambda: mapping(3, True, 2 * MIB - 64, 128),
        "across mappings source": lambda: mapping(3, False, 2 * MIB - 64, 128),
        "past the mappings": lambda: mapping(3, True, 4 * MIB - 64, 128),
        "past the mappings source": lambda: mapping(3, False, 4 * MIB - 64, 128),
        "mapping without access": lambda: mapping(None, True, 0, 64),
        "mapping without access source": lambda: mapping(None, False, 0, 64),
        "reserved, not mapped": lambda: mapping(3, True, 8 * MIB, 64),
        "pool": pool,
        "past end of pool": pool_past_end,
        "managed destination": lambda: managed(True),
        "managed source": lambda: managed(False),
    }


@probe
def copy_cases() -> Answer:
    def ask(
        case: Callable[[], tuple[int, int, int]],
    ) -> Callable[[], Answer]:
        def run() -> Answer:
            start()
            on = stream()
            copy = case()
            code = call("cuMemcpyAsync", *copy, on)
            return [code, call("cuStreamSynchronize", on)]

        return run

    return each(**{name: ask(case) for name, case in hard_cases().items()})


@probe
def batch_cases() -> Answer:
    """The same copies in a batch, after a copy that is all right."""

    def ask(
        case: Callable[[], tuple[int, int, int]],
    ) -> Callable[[], Answer]:
        def run() -> Answer:
            start()
            on = stream()
            good = (device_memory(), pinned_memory(), 64)
            answer = batch([good, case()], on)
            return [*answer, call("cuStreamSynchronize", on)]

        return run

    return each(**{name: ask(case) for name, case in hard_cases().items()})


@probe
def synchronous_copy_cases() -> Answer:
    def ask(
        case: Callable[[], tuple[int, int, int]],
    ) -> Callable[[], Answer]:
        def run() -> Answer:
            start()
            return call("cuMemcpy", *case())

        return run

    return each(**{name: ask(case) for name, case in hard_cases().items()})


@probe
def batch_arguments() -> Answer:
    start()
    on, blocking = stream(), stream(0)
    d, p = device_memory(), pinned_memory()
    good = (d, p, 64)
    bad = (d, p, 0)
    three = [(d, p, 64), (d + 64, p, 64), (d + 128, p, 64)]
    word = ctypes.c_uint64()
    w = ctypes.byref(word)
    answer: dict[str, Any] = {
        "good": batch(three, on),
        "blocking": batch(three, blocking),
        "legacy": batch(three, 0),
        "legacy 1": batch(three, 1),
        "per thread": batch(three, 2),
        "legacy with bad copy": batch([bad], 0),
        "legacy 1 with bad copy": batch([bad], 1),
        "count 0": batch([], on),
        "count 0 legacy": batch([], 0),
        "count 0, nothing else": batch(
            [],
            on,
            null=("dsts", "srcs", "sizes", "attrs", "indices"),
            orders=(),
            indices=(),
        ),
        "no destinations": batch(three, on, null=("dsts",)),
        "no sources": batch(three, on, null=("srcs",)),
        "no sizes": batch(three, on, null=("sizes",)),
        "no attributes": batch(three, on, null=("attrs",)),
        "no indices": batch(three, on, null=("indices",)),
        "attribute count 0": batch(three, on, attribute_count=0),
        "no attributes at all": batch(
            three, on, attribute_count=0, null=("attrs", "indices")
        ),
        "more attributes than copies": batch([good], on, orders=(1, 1), indices=(0, 1)),
        "first index 1": batch(three, on, indices=(1,)),
        "two attributes": batch(three, on, orders=(1, 3), indices=(0, 2)),
        "indices equal": batch(three, on, orders=(1, 3), indices=(0, 0)),
        "indices falling": batch(three, on, orders=(1, 3, 1), indices=(0, 2, 1)),
        "index at count": batch(three, on, orders=(1, 3), indices=(0, 3)),
        "orders": [batch(three, on, orders=(order,)) for order in (0, 1, 2, 3, 4, -1)],
        "second order 0": batch(three, on, orders=(1, 0), indices=(0, 2)),
        "overlap flag": batch(three, on, flags=1),
        "unknown flag": batch(three, on, flags=0x100),
        "bad copy": batch([good, good, bad], on),
        "two bad copies": batch([good, bad, (0, p, 64)], on),
        "bad copy and order 0": batch([good, bad], on, orders=(0,)),
        "bad copy and first index 1": batch([good, bad], on, indices=(1,)),
        "same copy twice": batch([good, good], on),
    }
    answer["synchronize"] = call("cuCtxSynchronize")
    need("cuStreamBeginCapture_v2", on, 0)
    answer["capturing"] = batch(three, on)
    answer["capturing, bad copy"] = batch([good, bad], on)
    answer["capturing, order 0"] = batch([good], on, orders=(0,))
    answer["capturing, count 0"] = batch([], on)
    answer["capturing status"] = [
        call("cuStreamIsCapturing", on, w),
        word.value,
    ]
    answer["capturing end"] = call("cuStreamEndCapture", on, w)
    return answer


@probe
def batch_without_failed_index() -> Answer:
    def ask(copies: list[int], on: int | None) -> Callable[[], Answer]:
        def run() -> Answer:
            start()
            d, p = device_memory(), pinned_memory()
            handle = stream() if on is None else on
            return batch([(d, p, size) for size in copies], handle, failed_index=False)[
                0
            ]

        return run

    return each(
        good=ask([64], None),
        bad=ask([64, 0], None),
        empty=ask([], None),
        legacy=ask([64], 1),
    )


@probe
def batch_of_eight_arguments() -> Answer:
    start()
    on = stream()
    d, p = device_memory(), pinned_memory()
    good, bad = (d, p, 64), (d, p, 0)
    return {
        "good": batch([good], on, eight=True),
        "bad": batch([good, bad], on, eight=True),
        "legacy": batch([good], 0, eight=True),
        "legacy 1": batch([good], 1, eight=True),
        "per thread": batch([good], 2, eight=True),
        "count 0": batch([], on, eight=True),
        "order 0": batch([good], on, orders=(0,), eight=True),
    }


@probe
def other_operations() -> Answer:
    start()
    d, p = device_memory(), pinned_memory()
    on = stream()
    return {
        "fill": call("cuMemsetD8Async", d, 1, 64, on),
        "fill nothing": call("cuMemsetD8Async", d, 1, 0, on),
        "fill null": call("cuMemsetD8Async", 0, 1, 64, on),
        "fill past end": call("cuMemsetD8Async", d + MIB - 8, 1, 64, on),
        "fill pinned": call("cuMemsetD8Async", p, 1, 64, on),
        "fill pageable": call("cuMemsetD8Async", pageable_memory(), 1, 64, on),
        "fill synchronous": call("cuMemsetD8_v2", d, 1, 64),
        "synchronize": call("cuStreamSynchronize", on),
        "event bad": call("cuEventQuery", 0),
        "event unrecorded": call("cuEventQuery", out("cuEventCreate", 2)),
        "event unrecorded wait": call(
            "cuStreamWaitEvent", on, out("cuEventCreate", 2), 0
        ),
        "wait flags": call("cuStreamWaitEvent", on, out("cuEventCreate", 2), 8),
    }


# Capture ------------------------------------------------------------------------


def capture_status(on: int) -> Any:
    value = ctypes.c_int(99)
    code = call("cuStreamIsCapturing", on, ctypes.byref(value))
    return value.value if code == 0 else f"code {code}"


def end_capture(on: int) -> Any:
    """The code of ending a capture, and how many nodes the graph has."""
    graph = ctypes.c_void_p()
    code = call("cuStreamEndCapture", on, ctypes.byref(graph))
    if code != 0:
        return f"code {code}"
    count = ctypes.c_size_t()
    need("cuGraphGetNodes", graph, None, ctypes.byref(count))
    return count.value


def calls_during_capture() -> dict[str, Callable[[int], Answer]]:
    """Calls to make while a stream captures; they get its handle."""
    word = ctypes.c_uint64()
    w = ctypes.byref(word)

    def memory(on: int) -> tuple[int, int]:
        del on
        return _PREPARED["device"], _PREPARED["pinned"]

    def copy(handle: int) -> Callable[[int], Answer]:
        return lambda on: call("cuMemcpyAsync", *memory(on), 64, handle)

    return {
        "event query": lambda on: call("cuEventQuery", _PREPARED["event"]),
        "event synchronize": lambda on: call("cuEventSynchronize", _PREPARED["event"]),
        "event create": lambda on: call("cuEventCreate", w, 2),
        "event destroy": lambda on: call("cuEventDestroy_v2", _PREPARED["event"]),
        "stream query": lambda on: call("cuStreamQuery", _PREPARED["other"]),
        "stream synchronize": lambda on: call(
            "cuStreamSynchronize", _PREPARED["other"]
        ),
        "stream create": lambda on: call("cuStreamCreate", w, 0),
        "stream destroy": lambda on: call("cuStreamDestroy_v2", _PREPARED["other"]),
        "query itself": lambda on: call("cuStreamQuery", on),
        "synchronize itself": lambda on: call("cuStreamSynchronize", on),
        "context synchronize": lambda on: call("cuCtxSynchronize"),
        "allocate": lambda on: call("cuMemAlloc_v2", w, 100),
        "free": lambda on: call("cuMemFree_v2", _PREPARED["spare"]),
        "allocate host": lambda on: call("cuMemHostAlloc", w, 100, 0),
        "free host": lambda on: call("cuMemFreeHost", _PREPARED["spare host"]),
        "allocate managed": lambda on: call("cuMemAllocManaged", w, 100, 1),
        "register": lambda on: call("cuMemHostRegister_v2", pageable_memory(), PAGE, 0),
        "unregister": lambda on: call("cuMemHostUnregister", _PREPARED["registered"]),
        "reserve": lambda on: call("cuMemAddressReserve", w, 2 * MIB, 0, 0, 0),
        "create memory": lambda on: call(
            "cuMemCreate", w, 2 * MIB, ctypes.byref(properties()), 0
        ),
        "unmap": lambda on: call("cuMemUnmap", _PREPARED["mapped"], 2 * MIB),
        "memory info": lambda on: call("cuMemGetInfo_v2", w, w),
        "pointer attributes": lambda on: isinstance(
            attributes(_PREPARED["device"], 0), dict
        ),
        "copy synchronous": lambda on: call("cuMemcpy", *memory(on), 64),
        "copy itself": lambda on: call("cuMemcpyAsync", *memory(on), 64, on),
        "copy itself pageable": lambda on: call(
            "cuMemcpyAsync", _PREPARED["device"], pageable_memory(), 64, on
        ),
        "copy itself back to pageable": lambda on: call(
            "cuMemcpyAsync", pageable_memory(), _PREPARED["device"], 64, on
        ),
        "copy itself between hosts": lambda on: call(
            "cuMemcpyAsync",
            _PREPARED["pinned"],
            _PREPARED["pinned"] + 4096,
            64,
            on,
        ),
        "copy itself nothing": lambda on: call("cuMemcpyAsync", *memory(on), 0, on),
        "copy itself past end": lambda on: call(
            "cuMemcpyAsync",
            _PREPARED["device"] + MIB - 8,
            _PREPARED["pinned"],
            64,
            on,
        ),
        "copy itself null": lambda on: call(
            "cuMemcpyAsync", 0, _PREPARED["pinned"], 64, on
        ),
        "copy itself seam": lambda on: call(
            "cuMemcpyAsync",
            _PREPARED["device"],
            _PREPARED["seam"] + PAGE - 64,
            128,
            on,
        ),
        "fill itself": lambda on: call(
            "cuMemsetD8Async", _PREPARED["device"], 1, 64, on
        ),
        "batch itself": lambda on: batch([(*memory(on), 64)], on),
        "batch other": lambda on: batch([(*memory(on), 64)], _PREPARED["other"]),
        "batch blocking": lambda on: batch([(*memory(on), 64)], _PREPARED["blocking"]),
        "batch legacy": lambda on: batch([(*memory(on), 64)], 0),
        "batch legacy 1": lambda on: batch([(*memory(on), 64)], 1),
        "batch per thread": lambda on: batch([(*memory(on), 64)], 2),
        "copy other": lambda on: call(
            "cuMemcpyAsync", *memory(on), 64, _PREPARED["other"]
        ),
        "copy other pageable": lambda on: call(
            "cuMemcpyAsync",
            _PREPARED["device"],
            pageable_memory(),
            64,
            _PREPARED["other"],
        ),
        "copy blocking": lambda on: call(
            "cuMemcpyAsync", *memory(on), 64, _PREPARED["blocking"]
        ),
        "copy legacy": copy(0),
        "copy legacy 1": copy(1),
        "copy per thread": copy(2),
        "fill legacy": lambda on: call(
            "cuMemsetD8Async", _PREPARED["device"], 1, 64, 0
        ),
        "record legacy": lambda on: call("cuEventRecord", _PREPARED["event"], 0),
        "record other": lambda on: call(
            "cuEventRecord", _PREPARED["event"], _PREPARED["other"]
        ),
        "wait legacy": lambda on: call("cuStreamWaitEvent", 0, _PREPARED["event"], 0),
        "wait itself for event before": lambda on: call(
            "cuStreamWaitEvent", on, _PREPARED["event"], 0
        ),
        "query legacy": lambda on: call("cuStreamQuery", 0),
        "synchronize legacy": lambda on: call("cuStreamSynchronize", 0),
        "capturing legacy": lambda on: capture_status(0),
        "capturing legacy 1": lambda on: capture_status(1),
        "capturing other": lambda on: capture_status(_PREPARED["other"]),
        "capturing per thread": lambda on: capture_status(2),
        "context of legacy": lambda on: call("cuStreamGetCtx", 0, w),
        "flags of legacy": lambda on: call("cuStreamGetFlags", 0, w),
        "context of legacy 1": lambda on: call("cuStreamGetCtx", 1, w),
        "context of per thread": lambda on: call("cuStreamGetCtx", 2, w),
        "context of itself": lambda on: call("cuStreamGetCtx", on, w),
        "context of other": lambda on: call("cuStreamGetCtx", _PREPARED["other"], w),
        "priority of legacy": lambda on: call("cuStreamGetPriority", 0, w),
        "id of legacy": lambda on: call("cuStreamGetId", 0, w),
        "device of legacy": lambda on: call("cuStreamGetDevice", 0, w),
        "info of legacy": lambda on: call("cuStreamGetCaptureInfo", 0, w, w),
        "context state": lambda on: [
            call("cuCtxGetCurrent", w),
            call("cuCtxGetDevice", w),
            context_id(None) != 0,
            call("cuDevicePrimaryCtxGetState", 0, w, w),
            call("cuCtxPushCurrent_v2", out("cuCtxGetCurrent")),
            call("cuCtxPopCurrent_v2", w),
        ],
        "look up": lambda on: look_up("cuMemcpyAsync", 12000),
        "copy synchronous pageable": lambda on: call(
            "cuMemcpy", _PREPARED["device"], pageable_memory(), 64
        ),
        "copy synchronous to pageable": lambda on: call(
            "cuMemcpy", pageable_memory(), _PREPARED["device"], 64
        ),
        "fill synchronous": lambda on: call(
            "cuMemsetD8_v2", _PREPARED["device"], 1, 64
        ),
        "launch other": lambda on: call(
            "cuGraphLaunch", _PREPARED["graph"], _PREPARED["other"]
        ),
        "launch itself": lambda on: call("cuGraphLaunch", _PREPARED["graph"], on),
        "launch legacy": lambda on: call("cuGraphLaunch", _PREPARED["graph"], 0),
        "begin again": lambda on: call("cuStreamBeginCapture_v2", on, 0),
        "begin other": lambda on: call(
            "cuStreamBeginCapture_v2", _PREPARED["other"], 0
        ),
        "end other": lambda on: end_capture(_PREPARED["other"]),
        "pool allocate other": lambda on: call(
            "cuMemAllocAsync", w, 100, _PREPARED["other"]
        ),
        "pool allocate legacy": lambda on: call("cuMemAllocAsync", w, 100, 0),
        "record itself and query": lambda on: [
            call("cuEventRecord", _PREPARED["event"], on),
            call("cuEventQuery", _PREPARED["event"]),
        ],
        "record itself and synchronize": lambda on: [
            call("cuEventRecord", _PREPARED["event"], on),
            call("cuEventSynchronize", _PREPARED["event"]),
        ],
        "record itself, wait legacy": lambda on: [
            call("cuEventRecord", _PREPARED["event"], on),
            call("cuStreamWaitEvent", 0, _PREPARED["event"], 0),
        ],
        "record itself, wait other": lambda on: [
            call("cuEventRecord", _PREPARED["event"], on),
            call("cuStreamWaitEvent", _PREPARED["other"], _PREPARED["event"], 0),
            capture_status(_PREPARED["other"]),
        ],
        "destroy itself": lambda on: call("cuStreamDestroy_v2", on),
        "retain primary": lambda on: call("cuDevicePrimaryCtxRetain", w, 0),
        "create context": lambda on: call("cuCtxCreate_v2", w, 0, 0),
    }


_PREPARED: dict[str, int] = {}


def prepare() -> None:
    """Everything that calls_during_capture uses."""
    prepared = _PREPARED
    prepared["device"] = device_memory()
    prepared["pinned"] = pinned_memory()
    prepared["spare"] = device_memory()
    prepared["spare host"] = pinned_memory()
    prepared["other"] = stream()
    prepared["blocking"] = stream(0)
    prepared["event"] = out("cuEventCreate", 2)
    need("cuEventRecord", prepared["event"], prepared["other"])
    prepared["registered"] = pageable_memory()
    need("cuMemHostRegister_v2", prepared["registered"], PAGE, 0)
    prepared["seam"] = pageable_memory()
    need("cuMemHostRegister_v2", prepared["seam"], PAGE, 0)
    need("cuMemHostRegister_v2", prepared["seam"] + PAGE, PAGE, 0)
    prepared["mapped"] = reserve(2 * MIB)
    map_memory(prepared["mapped"], 2 * MIB)
    need("cuStreamBeginCapture_v2", prepared["other"], 0)
    need(
        "cuMemcpyAsync",
        prepared["device"],
        prepared["pinned"],
        64,
        prepared["other"],
    )
    graph = ctypes.c_void_p()
    need("cuStreamEndCapture", prepared["other"], ctypes.byref(graph))
    prepared["graph"] = out("cuGraphInstantiateWithFlags", graph, 0)
    # Whatever a driver does at first use is done.
    need("cuMemcpyAsync", prepared["device"], prepared["pinned"], 64, 2)
    pool = out("cuMemAllocAsync", 100, prepared["other"])
    need("cuMemFreeAsync", pool, prepared["other"])
    need("cuCtxSynchronize")


def during_capture(
    flags: int,
    mode: int,
    where: str = "same thread",
    thread_mode: int = 0,
) -> Answer:
    """What each call answers, and what became of the capture."""

    def ask(question: Callable[[int], Answer]) -> Callable[[], Answer]:
        return during_capture_question(
            lambda: question, flags, mode, where, thread_mode
        )

    return each(
        **{name: ask(question) for name, question in calls_during_capture().items()}
    )


def during_capture_question(
    make: Callable[[], Callable[[int], Answer]],
    flags: int,
    mode: int,
    where: str,
    thread_mode: int,
) -> Callable[[], Answer]:
    """One such question; it is made before the capture begins."""

    def run() -> Answer:
        context = start()
        prepare()
        question = make()
        on = stream(flags)
        need("cuStreamBeginCapture_v2", on, mode)

        def do() -> Answer:
            need("cuCtxSetCurrent", context)
            value = ctypes.c_int(thread_mode)
            need("cuThreadExchangeStreamCaptureMode", ctypes.byref(value))
            answer = question(on)
            need("cuThreadExchangeStreamCaptureMode", ctypes.byref(value))
            return answer

        answer = do() if where == "same thread" else in_thread(do)
        return [answer, capture_status(on), end_capture(on)]

    return run


@probe
def during_global_capture_of_blocking_stream() -> Answer:
    return during_capture(0, 0)


@probe
def during_global_capture() -> Answer:
    return during_capture(1, 0)


@probe
def during_global_capture_in_other_thread() -> Answer:
    return during_capture(1, 0, "other thread")


@probe
def during_global_capture_of_blocking_stream_in_other_thread() -> Answer:
    return during_capture(0, 0, "other thread")


@probe
def during_global_capture_relaxed() -> Answer:
    return during_capture(1, 0, "same thread", 2)


@probe
def during_thread_local_capture() -> Answer:
    return during_capture(1, 1)


@probe
def during_thread_local_capture_in_other_thread() -> Answer:
    return during_capture(1, 1, "other thread")


@probe
def during_relaxed_capture_of_blocking_stream() -> Answer:
    return during_capture(0, 2)


@probe
def capture_life() -> Answer:
    start()
    d, p = device_memory(), pinned_memory()
    word = ctypes.c_uint64()
    w = ctypes.byref(word)
    on, other = stream(), stream()
    answer: dict[str, Any] = {
        "begin legacy": call("cuStreamBeginCapture_v2", 0, 0),
        "begin legacy 1": call("cuStreamBeginCapture_v2", 1, 0),
        "begin bad mode": call("cuStreamBeginCapture_v2", on, 7),
        "end without begin": call("cuStreamEndCapture", on, w),
        "exchange bad": call(
            "cuThreadExchangeStreamCaptureMode", ctypes.byref(ctypes.c_int(7))
        ),
    }
    need("cuStreamBeginCapture_v2", on, 0)
    answer["empty"] = end_capture(on)
    need("cuStreamBeginCapture_v2", 2, 0)
    answer["per thread status"] = capture_status(2)
    need("cuMemcpyAsync", d, p, 64, 2)
    answer["per thread"] = end_capture(2)

    need("cuStreamBeginCapture_v2", on, 0)
    answer["end in other thread"] = in_thread(lambda: end_capture(on))
    answer["status then"] = capture_status(on)
    answer["end then"] = end_capture(on)
    need("cuStreamBeginCapture_v2", on, 2)
    answer["end relaxed in other thread"] = in_thread(lambda: end_capture(on))
    if capture_status(on) != 0:
        end_capture(on)

    # Fork and join.
    event, joined = out("cuEventCreate", 2), out("cuEventCreate", 2)
    need("cuStreamBeginCapture_v2", on, 0)
    need("cuMemcpyAsync", d, p, 64, on)
    need("cuEventRecord", event, on)
    need("cuStreamWaitEvent", other, event, 0)
    need("cuMemcpyAsync", d + 64, p, 64, other)
    answer["forked status"] = capture_status(other)
    need("cuEventRecord", joined, other)
    need("cuStreamWaitEvent", on, joined, 0)
    answer["forked end"] = end_capture(on)
    answer["forked status after"] = capture_status(other)

    need("cuStreamBeginCapture_v2", on, 0)
    need("cuMemcpyAsync", d, p, 64, on)
    need("cuEventRecord", event, on)
    need("cuStreamWaitEvent", other, event, 0)
    need("cuMemcpyAsync", d + 64, p, 64, other)
    answer["unjoined end"] = end_capture(on)
    answer["unjoined status after"] = [
        capture_status(on),
        capture_status(other),
    ]

    need("cuStreamBeginCapture_v2", on, 0)
    need("cuEventRecord", event, on)
    need("cuStreamWaitEvent", other, event, 0)
    answer["forked without work end"] = end_capture(on)
    answer["event after capture"] = call("cuEventQuery", event)

    need("cuStreamBeginCapture_v2", on, 0)
    need("cuEventRecord", event, on)
    need("cuStreamWaitEvent", other, event, 0)
    answer["end on forked"] = end_capture(other)
    answer["status of forked"] = [capture_status(on), capture_status(other)]
    answer["end after that"] = end_capture(on)

    # Two captures.
    need("cuStreamBeginCapture_v2", on, 2)
    need("cuStreamBeginCapture_v2", other, 2)
    need("cuEventRecord", event, on)
    answer["merge"] = call("cuStreamWaitEvent", other, event, 0)
    answer["merge status"] = [capture_status(on), capture_status(other)]
    answer["merge ends"] = [end_capture(on), end_capture(other)]
    answer["usable after"] = call("cuMemcpyAsync", d, p, 64, on)
    answer["synchronize after"] = call("cuCtxSynchronize")
    return answer


@probe
def null_arguments() -> Answer:
    def ask(function: str, *arguments: Any) -> Callable[[], Answer]:
        def run() -> Answer:
            start()
            return call(function, *arguments)

        return run

    return each(
        end_capture=ask("cuStreamEndCapture", 2, None),
        exchange=ask("cuThreadExchangeStreamCaptureMode", None),
        map_bad_handle=lambda: (
            start(),
            call("cuMemMap", reserve(4 * MIB), 4 * MIB, 0, 0x1234567, 0),
        )[1],
        device=ask("cuDeviceGet", None, 0),
        device_count=ask("cuDeviceGetCount", None),
        current=ask("cuCtxGetCurrent", None),
        context_device=ask("cuCtxGetDevice", None),
        retain=ask("cuDevicePrimaryCtxRetain", None, 0),
        state=ask("cuDevicePrimaryCtxGetState", 0, None, None),
        pop=ask("cuCtxPopCurrent_v2", None),
        stream=ask("cuStreamCreate", None, 0),
        event=ask("cuEventCreate", None, 2),
        allocate=ask("cuMemAlloc_v2", None, 64),
        allocate_host=ask("cuMemHostAlloc", None, 64, 0),
        attributes=ask("cuPointerGetAttributes", 1, None, None, 4096),
        attribute=ask("cuPointerGetAttribute", None, 2, 4096),
        nodes=ask("cuGraphGetNodes", None, None, None),
        info=ask("cuMemGetInfo_v2", None, None),
    )


@probe
def empty_allocations() -> Answer:
    """What an allocation of size 0 gives."""
    start()
    answer = {}
    for function, arguments in (
        ("cuMemHostAlloc", (0, 0)),
        ("cuMemAllocHost_v2", (0,)),
        ("cuMemAllocAsync", (0, 0)),
    ):
        pointer = ctypes.c_uint64(UNTOUCHED)
        code = call(function, ctypes.byref(pointer), *arguments)
        answer[function] = [code, pointer_kind(pointer.value)]
    return answer


@probe
def invalidated_capture() -> Answer:
    """Calls on a stream whose capture is not valid any more."""
    start()
    d, p = device_memory(), pinned_memory()
    on = stream()
    word = ctypes.c_uint64()
    need("cuStreamBeginCapture_v2", on, 0)
    event = out("cuEventCreate", 2)
    answer: dict[str, Any] = {
        "invalidate": call("cuEventQuery", event),
        "status": capture_status(on),
        "copy": call("cuMemcpyAsync", d, p, 64, on),
        "copy nothing": call("cuMemcpyAsync", d, p, 0, on),
        "copy past end": call("cuMemcpyAsync", d + MIB - 8, p, 64, on),
        "fill": call("cuMemsetD8Async", d, 1, 64, on),
        "batch": batch([(d, p, 64)], on),
        "batch bad": batch([(d, p, 0)], on),
        "record": call("cuEventRecord", event, on),
        "wait": call("cuStreamWaitEvent", on, event, 0),
        "query": call("cuStreamQuery", on),
        "synchronize": call("cuStreamSynchronize", on),
        "context": call("cuStreamGetCtx", on, ctypes.byref(word)),
        "begin": call("cuStreamBeginCapture_v2", on, 0),
        "query event": call("cuEventQuery", event),
        "allocate": call("cuMemAlloc_v2", ctypes.byref(word), 100),
    }
    answer["end"] = end_capture(on)
    answer["status after"] = capture_status(on)
    answer["copy after"] = call("cuMemcpyAsync", d, p, 64, on)
    return answer


@probe
def captured_copy_is_by_value() -> Answer:
    """What a replay reads."""
    start()
    d, p = device_memory(), pinned_memory()
    on = stream()
    back = pinned_memory()
    ctypes.memset(p, 1, 64)
    need("cuMemsetD8_v2", d, 0, 64)
    need("cuStreamBeginCapture_v2", on, 0)
    need("cuMemcpyAsync", d, p, 64, on)
    graph = ctypes.c_void_p()
    need("cuStreamEndCapture", on, ctypes.byref(graph))
    executable = out("cuGraphInstantiateWithFlags", graph, 0)

    def content() -> int:
        need("cuMemcpy", back, d, 64)
        return ctypes.string_at(back, 1)[0]

    answer: dict[str, Any] = {"before": content()}
    need("cuGraphLaunch", executable, on)
    need("cuStreamSynchronize", on)
    answer["first"] = content()
    ctypes.memset(p, 2, 64)
    need("cuGraphDestroy", graph)
    need("cuGraphLaunch", executable, 0)
    need("cuStreamSynchronize", 0)
    answer["second"] = content()
    answer["destroy"] = call("cuGraphExecDestroy", executable)
    return answer


@probe
def graph_nodes() -> Answer:
    start()
    d, p = device_memory(), pinned_memory()
    on = stream()
    need("cuStreamBeginCapture_v2", on, 0)
    need("cuMemcpyAsync", d, p, 64, on)
    need("cuMemsetD8Async", d, 1, 64, on)
    graph = ctypes.c_void_p()
    need("cuStreamEndCapture", on, ctypes.byref(graph))
    nodes = (ctypes.c_void_p * 4)(9, 9, 9, 9)

    def ask(room: int) -> Any:
        count = ctypes.c_size_t(room)
        code = call("cuGraphGetNodes", graph, nodes, ctypes.byref(count))
        return [code, count.value, [bool(node) for node in nodes]]

    few = ask(1)
    many = ask(4)
    kinds = []
    for node in list(nodes)[:2]:
        kind = ctypes.c_int()
        call("cuGraphNodeGetType", ctypes.c_void_p(node), ctypes.byref(kind))
        kinds.append(kind.value)
    return {"few": few[:2], "many": many, "types": sorted(kinds)}


# Waiting ------------------------------------------------------------------------

LARGE = 1 << 30


def busy() -> tuple[int, int, int]:
    """A device and a host buffer for copies that take a while, and an event."""
    return device_memory(LARGE), pinned_memory(LARGE), out("cuEventCreate", 2)


def still_running(event: int) -> bool:
    return call("cuEventQuery", event) == 600


@probe
def what_waits() -> Answer:
    """Which calls return only when earlier work of the device is done."""

    def ask(question: Callable[[int], Answer], flags: int = 1) -> Callable[[], Answer]:
        def run() -> Answer:
            start()
            spare = {
                "device": device_memory(),
                "pinned": pinned_memory(),
                "registered": pageable_memory(),
                "mapped": reserve(2 * MIB),
            }
            map_memory(spare["mapped"], 2 * MIB)
            need("cuMemHostRegister_v2", spare["registered"], MIB, 0)
            _PREPARED.update(spare)
            _PREPARED["other"] = stream()
            device, pinned, event = busy()
            on = stream(flags)
            need("cuMemcpyAsync", _PREPARED["pinned"], device, 64, on)
            need("cuCtxSynchronize")
            for _ in range(3):
                need("cuMemcpyAsync", pinned, device, LARGE, on)
            need("cuEventRecord", event, on)
            before = still_running(event)
            code = question(on)
            after = still_running(event)
            need("cuCtxSynchronize")
            return {"code": code, "before": before, "after": after}

        return run

    def pageable_copy(read: bool) -> Callable[[int], Answer]:
        def copy(on: int) -> Answer:
            device, host = _PREPARED["device"], pageable_memory()
            if read:
                return call("cuMemcpyAsync", device, host, MIB, on)
            return call("cuMemcpyAsync", host, device, MIB, on)

        return copy

    def pageable_batch(read: bool) -> Callable[[int], Answer]:
        def copy(on: int) -> Answer:
            device, host = _PREPARED["device"], pageable_memory()
            if read:
                return batch([(device, host, MIB)], on)
            return batch([(host, device, MIB)], on)

        return copy

    return each(
        **{
            "free": ask(lambda on: call("cuMemFree_v2", _PREPARED["device"])),
            "free host": ask(lambda on: call("cuMemFreeHost", _PREPARED["pinned"])),
            "unregister": ask(
                lambda on: call("cuMemHostUnregister", _PREPARED["registered"])
            ),
            "unmap": ask(lambda on: call("cuMemUnmap", _PREPARED["mapped"], 2 * MIB)),
            "destroy stream": ask(lambda on: call("cuStreamDestroy_v2", on)),
            "synchronize legacy": ask(lambda on: call("cuStreamSynchronize", 0), 0),
            "query legacy": ask(lambda on: call("cuStreamQuery", 0), 0),
            "synchronize legacy, non-blocking": ask(
                lambda on: call("cuStreamSynchronize", 0), 1
            ),
            "query legacy, non-blocking": ask(lambda on: call("cuStreamQuery", 0), 1),
            "synchronize other": ask(
                lambda on: call("cuStreamSynchronize", _PREPARED["other"])
            ),
            "copy from pageable": ask(pageable_copy(True)),
            "copy to pageable": ask(pageable_copy(False)),
            "batch from pageable": ask(pageable_batch(True)),
            "batch to pageable": ask(pageable_batch(False)),
            "copy pinned to pinned": ask(
                lambda on: call(
                    "cuMemcpyAsync",
                    _PREPARED["pinned"],
                    _PREPARED["pinned"] + 4096,
                    64,
                    on,
                )
            ),
            "copy pageable to pageable": ask(
                lambda on: call(
                    "cuMemcpyAsync",
                    pageable_memory(),
                    pageable_memory(),
                    64,
                    on,
                )
            ),
            "batch pinned to pinned": ask(
                lambda on: batch(
                    [(_PREPARED["pinned"], _PREPARED["pinned"] + 4096, 64)], on
                )
            ),
            "during api call": ask(
                lambda on: batch(
                    [(_PREPARED["device"], _PREPARED["pinned"], 64)],
                    on,
                    orders=(2,),
                )
            ),
        }
    )


# Modules and launches ------------------------------------------------------------

# As much of kvswap's kernels as these questions need: what the host code of the
# simulated driver does too. The first item's first eight bytes are copied, if there
# are items; the other kernel does nothing that shows.
PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry kvswap_plain_sized_4k(.param .align 8 .b8 p[4080])
.maxntid 1024, 1, 1
{
    .reg .pred %empty;
    .reg .b32 %count;
    .reg .b64 %from, %to, %word;
    ld.param.u32 %count, [p+24];
    setp.eq.u32 %empty, %count, 0;
    @%empty bra DONE;
    ld.param.u64 %from, [p+48];
    ld.param.u64 %to, [p+56];
    ld.global.u64 %word, [%from];
    st.global.u64 [%to], %word;
DONE:
    ret;
}
.visible .entry kvswap_bulk_sized_4k(.param .align 8 .b8 p[4080])
.maxntid 32, 1, 1
{
    .reg .b32 %count;
    .shared .align 8 .b8 barriers[256];
    ld.param.u32 %count, [p+24];
    st.volatile.shared.u32 [barriers], %count;
    ret;
}
"""
PARAMETER_BYTES = 4080
WORD = 8
# Of the simulated bulk kernel's ring: two stages of 128 bytes.
RING_BYTES = 256


def load(image: bytes | None = None) -> int:
    return out("cuModuleLoadData", PTX.encode() if image is None else image)


def function(module: int, kind: str = "plain") -> int:
    return out("cuModuleGetFunction", module, f"kvswap_{kind}_sized_4k".encode())


def parameter(*copies: tuple[int, int]) -> Any:
    """The kernels' parameter, for copies of a word from source to destination."""
    content = struct.pack("<QQQIIIIII", 0, 0, 0, len(copies), 0, 2, 128, 0, 0)
    for source, destination in copies:
        content += struct.pack("<QQQ", source, destination, WORD)
    return ctypes.create_string_buffer(content, PARAMETER_BYTES)


def launch(
    handle: int,
    buffer: Any,
    on: int = 0,
    *,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    shared: int = 0,
) -> int:
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
    shape = [*grid, *block, shared]
    return call("cuLaunchKernel", handle, *shape, on, pointers, None)


def function_attribute(handle: int, attribute: int) -> list[int]:
    value = ctypes.c_int(-7)
    return [
        call("cuFuncGetAttribute", ctypes.byref(value), attribute, handle),
        value.value,
    ]


@probe
def module_images() -> Answer:
    """What a driver says to an image."""

    def ask(image: bytes | None) -> Callable[[], Answer]:
        def run() -> Answer:
            start()
            return call("cuModuleLoadData", ctypes.byref(ctypes.c_void_p()), image)

        return run

    def ptx(old: str, new: str) -> bytes:
        assert old in PTX
        return PTX.replace(old, new).encode()

    def null_module() -> Answer:
        start()
        return call("cuModuleLoadData", None, PTX.encode())

    def without_context() -> Answer:
        need("cuInit", 0)
        return call("cuModuleLoadData", ctypes.byref(ctypes.c_void_p()), PTX.encode())

    with open(sys.executable, "rb") as file:
        program = file.read()
    return each(
        **{
            "ptx": ask(PTX.encode()),
            "null image": ask(None),
            "null module": null_module,
            "without context": without_context,
            "empty": ask(b""),
            "text": ask(b"no image at all"),
            "another ELF file": ask(program),
            "version 99.0": ask(ptx(".version 7.0", ".version 99.0")),
            "no version": ask(ptx(".version 7.0", "")),
            "no target": ask(ptx(".target sm_75", "")),
            "newer device": ask(
                ptx(".version 7.0\n.target sm_75", ".version 8.7\n.target sm_120")
            ),
            "older version than its target": ask(ptx("sm_75", "sm_90")),
            "another device alone": ask(
                ptx(".version 7.0\n.target sm_75", ".version 8.7\n.target sm_100a")
            ),
            "this device alone": ask(
                ptx(".version 7.0\n.target sm_75", ".version 8.0\n.target sm_90a")
            ),
        }
    )


@probe
def module_functions() -> Answer:
    context = start()
    module = load()
    word = ctypes.byref(ctypes.c_void_p())
    get = "cuModuleGetFunction"
    plain, bulk = function(module), function(module, "bulk")
    most = 232448
    answer: dict[str, Any] = {
        "no such name": call(get, word, module, b"no_such_kernel"),
        "empty name": call(get, word, module, b""),
        "same again": function(module) == plain,
        "attributes": {
            kind: [function_attribute(handle, number) for number in (0, 1, 6, 8, 9)]
            for kind, handle in (("plain", plain), ("bulk", bulk))
        },
        "unknown attribute": function_attribute(plain, 99)[0],
        "set": {
            f"{name} {attribute} {value}": [
                call("cuFuncSetAttribute", handle, attribute, value & 0xFFFFFFFF),
                function_attribute(handle, attribute),
            ]
            for name, handle in (("plain", plain), ("bulk", bulk))
            for attribute, value in (
                (8, 0),
                (8, most - 256),
                (8, most - 255),
                (8, most),
                (8, most + 1),
                (8, -1),
                (9, 100),
                (9, 101),
                (9, -1),
                (9, -2),
                (0, 64),
                (99, 1),
            )
        },
        "unload": call("cuModuleUnload", module),
    }
    need("cuCtxSetCurrent", 0)
    need("cuCtxSetCurrent", context)
    module = load()
    need("cuCtxSetCurrent", 0)
    answer["get without context"] = call(get, word, module, b"kvswap_plain_sized_4k")
    answer["unload without context"] = call("cuModuleUnload", module)
    return answer


@probe
def module_handles() -> Answer:
    """Handles and arguments that might end the process."""

    def ask(question: Callable[[int, Any], Answer]) -> Callable[[], Answer]:
        def run() -> Answer:
            start()
            return question(load(), ctypes.byref(ctypes.c_void_p()))

        return run

    get = "cuModuleGetFunction"
    name = b"kvswap_plain_sized_4k"
    return each(
        **{
            "get null module": ask(lambda module, word: call(get, word, None, name)),
            "get null name": ask(lambda module, word: call(get, word, module, None)),
            "get null function": ask(
                lambda module, word: call(get, None, module, name)
            ),
            "unload null": ask(lambda module, word: call("cuModuleUnload", None)),
            "attribute of null": ask(lambda module, word: function_attribute(0, 0)[0]),
            "set attribute of null": ask(
                lambda module, word: call("cuFuncSetAttribute", None, 8, 0)
            ),
            "launch null": ask(lambda module, word: launch(0, parameter())),
        }
    )


@probe
def launch_arguments() -> Answer:
    context = start()
    module = load()
    plain, bulk = function(module), function(module, "bulk")
    on = stream()
    shapes: dict[str, dict[str, Any]] = {
        "plain": {},
        "grid 0": {"grid": (0, 1, 1)},
        "grid y 0": {"grid": (1, 0, 1)},
        "grid z 0": {"grid": (1, 1, 0)},
        "grid x above": {"grid": (1 << 31, 1, 1)},
        "grid y 65535": {"grid": (1, 65535, 1)},
        "grid y above": {"grid": (1, 65536, 1)},
        "grid z above": {"grid": (1, 1, 65536)},
        "block 0": {"block": (0, 1, 1)},
        "block 1024": {"block": (1024, 1, 1)},
        "block above": {"block": (1025, 1, 1)},
        "block product above": {"block": (512, 2, 2)},
        "block z above": {"block": (1, 1, 65)},
        "shared 49152": {"shared": 49152},
        "shared above": {"shared": 49153},
        "shared far above": {"shared": 1 << 24},
    }
    answer: dict[str, Any] = {
        name: launch(plain, parameter(), on, **shape) for name, shape in shapes.items()
    }
    answer["bulk 32"] = launch(bulk, parameter(), on, shared=RING_BYTES)
    answer["bulk 33"] = launch(bulk, parameter(), on, block=(33, 1, 1), shared=512)
    answer["bulk above 48 KiB with its own"] = launch(
        bulk, parameter(), on, shared=49152 - 255
    )
    need("cuFuncSetAttribute", bulk, 8, 65536)
    answer["bulk 64 KiB"] = launch(bulk, parameter(), on, shared=65536)
    answer["bulk above 64 KiB"] = launch(bulk, parameter(), on, shared=65537)
    need("cuFuncSetAttribute", bulk, 8, 512)
    answer["bulk above 512"] = launch(bulk, parameter(), on, shared=513)
    answer["end"] = call("cuStreamSynchronize", on)
    for handle in (0, 1, 2):
        answer[f"stream {handle}"] = launch(plain, parameter(), handle)
    need("cuCtxSynchronize")
    other = out("cuCtxCreate_v2", 0, 0)
    answer["in another context"] = launch(plain, parameter(), 0)
    foreign = stream()
    answer["on its stream"] = launch(plain, parameter(), foreign)
    answer["on its own stream"] = launch(plain, parameter(), on)
    need("cuCtxSetCurrent", context)
    answer["on another context's stream"] = launch(plain, parameter(), foreign)
    need("cuCtxDestroy_v2", other)
    # One for the context that was created, one for the first.
    need("cuCtxPopCurrent_v2", None)
    need("cuCtxPopCurrent_v2", None)
    answer["without context"] = launch(plain, parameter(), 0)
    answer["without context on its stream"] = launch(plain, parameter(), on)
    need("cuCtxSetCurrent", context)
    answer["synchronize"] = call("cuCtxSynchronize")
    return answer


@probe
def launch_parameters() -> Answer:
    """Forms of parameters, some of which might end the process."""

    def ask(form: str) -> Callable[[], Answer]:
        def run() -> Answer:
            start()
            plain = function(load())
            buffer = parameter()
            pointers = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
            difference = {"extra short": -8, "extra long": 8}.get(form, 0)
            size = ctypes.c_size_t(PARAMETER_BYTES + difference)
            extra = (ctypes.c_void_p * 5)(
                1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 0
            )
            code = call(
                "cuLaunchKernel",
                plain,
                *(1, 1, 1, 32, 1, 1, 0, 0),
                pointers if form in {"parameters", "both"} else None,
                extra if form in {"both"} or form.startswith("extra") else None,
            )
            return [code, call("cuCtxSynchronize")]

        return run

    forms = ("parameters", "none", "both", "extra", "extra short", "extra long")
    return each(**{form: ask(form) for form in forms})


@probe
def launch_memory() -> Answer:
    """What a kernel may read and write: how its context ends."""

    def address_of(kind: str) -> int:
        if kind == "null":
            return 0
        if kind == "wild":
            return wild_address()
        if kind == "device":
            return device_memory()
        if kind == "pinned":
            return pinned_memory()
        if kind == "managed":
            return out("cuMemAllocManaged", MIB, 1)
        if kind == "pool":
            return out("cuMemAllocAsync", MIB, 0)
        if kind in {"registered", "read only"}:
            address = pageable_memory()
            flags = 8 if kind == "read only" else 0
            need("cuMemHostRegister_v2", address, MIB, flags)
            return address
        address = reserve(2 * MIB)
        if kind != "reserved":
            access = {"mapped": 3, "mapped to read": 1, "no access": None}[kind]
            map_memory(address, 2 * MIB, access)
        return address

    def ask(kind: str, writes: bool, shift: int = 0) -> Callable[[], Answer]:
        def run() -> Answer:
            start()
            plain = function(load())
            good, asked = device_memory(), address_of(kind) + shift
            copy = (good, asked) if writes else (asked, good)
            code = launch(plain, parameter(copy))
            return [code, call("cuCtxSynchronize")]

        return run

    kinds = (
        "null",
        "wild",
        "device",
        "pinned",
        "managed",
        "pool",
        "registered",
        "read only",
        "mapped",
        "mapped to read",
        "no access",
        "reserved",
    )
    questions = {f"read {kind}": ask(kind, False) for kind in kinds}
    questions |= {f"write {kind}": ask(kind, True) for kind in kinds}
    return each(**questions)


@probe
def after_a_mistake_of_a_kernel() -> Answer:
    """What calls answer in a context that a kernel ended."""

    def calls() -> dict[str, Callable[[dict[str, int], Any], Answer]]:
        return {
            "stream synchronize": lambda p, w: call("cuStreamSynchronize", p["other"]),
            "stream query": lambda p, w: call("cuStreamQuery", p["other"]),
            "context synchronize": lambda p, w: call("cuCtxSynchronize"),
            "event query": lambda p, w: call("cuEventQuery", p["event"]),
            "event synchronize": lambda p, w: call("cuEventSynchronize", p["event"]),
            "event record": lambda p, w: call("cuEventRecord", p["event"], p["other"]),
            "event wait": lambda p, w: call(
                "cuStreamWaitEvent", p["other"], p["event"], 0
            ),
            "event create": lambda p, w: call("cuEventCreate", w, 2),
            "event destroy": lambda p, w: call("cuEventDestroy_v2", p["event"]),
            "stream create": lambda p, w: call("cuStreamCreate", w, 1),
            "stream destroy": lambda p, w: call("cuStreamDestroy_v2", p["other"]),
            "capture status": lambda p, w: call("cuStreamIsCapturing", p["other"], w),
            "stream context": lambda p, w: call("cuStreamGetCtx", p["other"], w),
            "copy": lambda p, w: call(
                "cuMemcpyAsync", p["device"], p["pinned"], 64, p["other"]
            ),
            "allocate": lambda p, w: call("cuMemAlloc_v2", w, 64),
            "allocate host": lambda p, w: call("cuMemHostAlloc", w, 64, 0),
            "free": lambda p, w: call("cuMemFree_v2", p["device"]),
            "free host": lambda p, w: call("cuMemFreeHost", p["pinned"]),
            "load": lambda p, w: call("cuModuleLoadData", w, PTX.encode()),
            "get function": lambda p, w: call(
                "cuModuleGetFunction", w, p["module"], b"kvswap_plain_sized_4k"
            ),
            "launch": lambda p, w: launch(p["plain"], parameter(), p["other"]),
            "unload": lambda p, w: call("cuModuleUnload", p["module"]),
            "context id": lambda p, w: call("cuCtxGetId", p["context"], w),
            "current": lambda p, w: call("cuCtxGetCurrent", w),
            "device": lambda p, w: call("cuCtxGetDevice", w),
            "pointer attributes": lambda p, w: attributes(p["device"], p["device"]),
            "retain": lambda p, w: call("cuDevicePrimaryCtxRetain", w, 0),
            "create context": lambda p, w: call("cuCtxCreate_v2", w, 0, 0),
        }

    def ask(question: Callable[[dict[str, int], Any], Answer]) -> Callable[[], Answer]:
        def run() -> Answer:
            prepared = {"context": start()}
            prepared["module"] = load()
            prepared["plain"] = function(prepared["module"])
            prepared["device"] = device_memory()
            prepared["pinned"] = pinned_memory()
            prepared["other"] = stream()
            prepared["event"] = out("cuEventCreate", 2)
            need("cuEventRecord", prepared["event"], prepared["other"])
            need("cuCtxSynchronize")
            mistake = parameter((0, prepared["device"]))
            need("cuLaunchKernel", prepared["plain"], *(1, 1, 1, 32, 1, 1, 0, 0),
                 (ctypes.c_void_p * 1)(ctypes.addressof(mistake)), None)  # fmt: skip
            ended = call("cuCtxSynchronize")
            return [ended, question(prepared, ctypes.byref(ctypes.c_uint64()))]

        return run

    return each(**{name: ask(question) for name, question in calls().items()})


@probe
def captured_launch() -> Answer:
    """Its node, and whose parameters a replay uses."""
    start()
    plain = function(load())
    device, pinned = device_memory(), pinned_memory()
    on = stream()
    ctypes.memset(pinned, 1, WORD)
    buffer = parameter((pinned, device))
    need("cuStreamBeginCapture_v2", on, 0)
    answer: dict[str, Any] = {"launch": launch(plain, buffer, on)}
    ctypes.memset(buffer, 0, PARAMETER_BYTES)
    graph = ctypes.c_void_p()
    need("cuStreamEndCapture", on, ctypes.byref(graph))
    nodes, count = (ctypes.c_void_p * 4)(), ctypes.c_size_t(4)
    need("cuGraphGetNodes", graph, nodes, ctypes.byref(count))
    kind = ctypes.c_int(-1)
    need("cuGraphNodeGetType", ctypes.c_void_p(nodes[0]), ctypes.byref(kind))
    answer["nodes"] = [count.value, kind.value]
    executable = out("cuGraphInstantiateWithFlags", graph, 0)
    back = pinned_memory()
    for value in (2, 3):
        ctypes.memset(pinned, value, WORD)
        need("cuGraphLaunch", executable, on)
        need("cuStreamSynchronize", on)
        need("cuMemcpy", back, device, WORD)
        answer[f"replay {value}"] = ctypes.string_at(back, 1)[0]
    return answer


def module_calls_during_capture() -> dict[str, Callable[[int], Answer]]:
    word = ctypes.byref(ctypes.c_void_p())
    module = load()
    plain = function(module)
    return {
        "load": lambda on: call("cuModuleLoadData", word, PTX.encode()),
        "get function": lambda on: call(
            "cuModuleGetFunction", word, module, b"kvswap_bulk_sized_4k"
        ),
        "get attribute": lambda on: function_attribute(plain, 8),
        "set attribute": lambda on: call("cuFuncSetAttribute", plain, 8, 512),
        "unload": lambda on: call("cuModuleUnload", module),
        "launch": lambda on: launch(plain, parameter(), on),
        "launch elsewhere": lambda on: launch(plain, parameter(), _PREPARED["other"]),
        "launch legacy": lambda on: launch(plain, parameter(), 0),
        "launch wrongly": lambda on: launch(plain, parameter(), on, grid=(0, 1, 1)),
    }


MODULE_CALLS = (
    "load",
    "get function",
    "get attribute",
    "set attribute",
    "unload",
    "launch",
    "launch elsewhere",
    "launch legacy",
    "launch wrongly",
)


def modules_during_capture(
    flags: int, mode: int, where: str = "same thread", thread_mode: int = 0
) -> Answer:
    def ask(name: str) -> Callable[[], Answer]:
        return during_capture_question(
            lambda: module_calls_during_capture()[name], flags, mode, where, thread_mode
        )

    return each(**{name: ask(name) for name in MODULE_CALLS})


@probe
def modules_during_global_capture() -> Answer:
    return modules_during_capture(1, 0)


@probe
def modules_during_global_capture_of_blocking_stream() -> Answer:
    return modules_during_capture(0, 0)


@probe
def modules_during_global_capture_in_other_thread() -> Answer:
    return modules_during_capture(1, 0, "other thread")


@probe
def modules_during_relaxed_capture() -> Answer:
    return modules_during_capture(1, 2)


# Two devices --------------------------------------------------------------------


@probe
def launch_on_peers_memory() -> Answer:
    def ask(enabled: bool, pool: bool, writes: bool) -> Callable[[], Answer]:
        def run() -> Answer:
            need("cuInit", 0)
            if out("cuDeviceGetCount") & 0xFFFFFFFF < 2:
                return "one device"
            first = out("cuDevicePrimaryCtxRetain", 0)
            second = out("cuDevicePrimaryCtxRetain", 1)
            need("cuCtxSetCurrent", second)
            far = out("cuMemAllocAsync", MIB, 0) if pool else device_memory()
            need("cuCtxSynchronize")
            need("cuCtxSetCurrent", first)
            if enabled:
                need("cuCtxEnablePeerAccess", second, 0)
            near = device_memory()
            plain = function(load())
            copy = (near, far) if writes else (far, near)
            code = launch(plain, parameter(copy))
            return [code, call("cuCtxSynchronize")]

        return run

    return each(
        **{
            " ".join(
                (
                    "write" if writes else "read",
                    "pool" if pool else "memory",
                    "with access" if enabled else "without access",
                )
            ): ask(enabled, pool, writes)
            for enabled in (False, True)
            for pool in (False, True)
            for writes in (False, True)
        }
    )


@probe
def two_devices() -> Answer:
    need("cuInit", 0)
    if out("cuDeviceGetCount") & 0xFFFFFFFF < 2:
        return "one device"
    first = out("cuDevicePrimaryCtxRetain", 0)
    second = out("cuDevicePrimaryCtxRetain", 1)
    need("cuCtxSetCurrent", second)
    far = device_memory()
    far_stream = stream()
    far_event = out("cuEventCreate", 2)
    far_pool = out("cuMemAllocAsync", MIB, 0)
    need("cuCtxSynchronize")
    need("cuCtxSetCurrent", first)
    near, pinned = device_memory(), pinned_memory()
    on = stream()
    word = ctypes.c_uint64()
    answer: dict[str, Any] = {
        "attributes": attributes(far + 5, far),
        "pool attributes": attributes(far_pool + 5, far_pool),
        "copy": call("cuMemcpyAsync", near, far, 64, on),
        "batch": batch([(near, far, 64), (far, near, 64)], on),
        "far stream": call("cuMemcpyAsync", far, pinned, 64, far_stream),
        "far batch": batch([(far, pinned, 64)], far_stream),
        "far stream, near memory": call("cuMemcpyAsync", near, pinned, 64, far_stream),
        "record far event here": call("cuEventRecord", far_event, on),
        "wait for far event": call("cuStreamWaitEvent", on, far_event, 0),
        "free far": call("cuMemFree_v2", far_pool + 0),
        "can access": [
            call("cuDeviceCanAccessPeer", ctypes.byref(word), 0, 1),
            word.value & 0xFF,
        ],
        "enable itself": call("cuCtxEnablePeerAccess", first, 0),
        "enable flags": call("cuCtxEnablePeerAccess", second, 1),
        "enable": call("cuCtxEnablePeerAccess", second, 0),
        "enable again": call("cuCtxEnablePeerAccess", second, 0),
        "attributes then": attributes(far + 5, far),
        "disable": call("cuCtxDisablePeerAccess", second),
        "disable again": call("cuCtxDisablePeerAccess", second),
        "synchronize": call("cuStreamSynchronize", on),
    }
    return answer


def run(names: list[str]) -> dict[str, Answer]:
    """The answers of these probes, or of all."""
    answers = {}
    for name in names or list(_PROBES):
        answers[name] = in_child(_PROBES[name])
        if os.environ.get("PROBES_VERBOSE"):
            sys.stderr.write(f"{name}\n")
    return answers


def probe_names() -> list[str]:
    return list(_PROBES)


def main() -> None:
    global _LIBRARY
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--library",
        default=os.environ.get("KVSWAP_LIBCUDA") or "libcuda.so.1",
        help="the driver: a file, or a name for dlopen",
    )
    parser.add_argument(
        "--into", type=Path, help="a file of answers to bring up to date"
    )
    parser.add_argument(
        "--missing", action="store_true", help="only what that file has no answers to"
    )
    parser.add_argument("probes", nargs="*", help="which; all where none")
    options = parser.parse_args()
    _LIBRARY = options.library
    known = json.loads(options.into.read_text()) if options.into else {}
    names = options.probes
    if options.missing:
        names = sorted(set(names or _PROBES) - set(known))
        if not names:
            parser.exit(0, "nothing is missing\n")
    text = json.dumps({**known, **run(names)}, indent=1, sort_keys=True) + "\n"
    if options.into:
        options.into.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
