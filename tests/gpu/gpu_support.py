"""What the tests share: torch, kvswap, blocks of memory, streams.

Importing this skips the importing test module where there is no GPU to test on, so
test modules take torch and kvswap from here.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest


def _reason_to_skip() -> str | None:
    for module in ("torch", "kvswap"):
        if importlib.util.find_spec(module) is None:
            return f"the Python module {module} is not there"
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return f"torch {torch.__version__} finds no CUDA GPU"
    return None


if _reason := _reason_to_skip():
    pytest.skip(f"tests of a real GPU: {_reason}", allow_module_level=True)

import kvswap

torch: Any = importlib.import_module("torch")

__all__ = [
    "SMALL",
    "STREAM_KINDS",
    "TWO_GPUS",
    "Driver",
    "addresses",
    "assert_healthy",
    "assert_ran",
    "blocking_stream",
    "bulk_policy",
    "copies_by_engine",
    "copy_blocks",
    "engine_of",
    "kvswap",
    "options_of",
    "plain_policy",
    "random_bytes",
    "run_in_child",
    "stream_of_kind",
    "torch",
    "torch_stream",
]

BATCH_AVAILABLE = kvswap.driver_info().batch_available

TWO_GPUS = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")

STREAM_KINDS = (
    "created",
    "current",
    "blocking",
    "torch_default",
    "legacy",
    "per_thread",
)

# For compute-sanitizer, under which everything takes a hundred times as long.
SMALL = os.environ.get("KVSWAP_SMALL_GPU_TESTS") == "1"


@contextlib.contextmanager
def stream_of_kind(kind: str) -> Iterator[Any]:
    """Yields a `stream` argument of kvswap's calls; waits for the GPU at the end.

    created: a torch stream, passed. current: None, while a created torch stream is
    current. blocking: the handle of a stream that waits for the legacy stream, as
    torch's do not. torch_default: None, while torch's default stream is current. legacy
    and per_thread: CUDA's handles 1 and 2.
    """
    if kind == "blocking":
        with blocking_stream() as handle:
            yield handle
        return
    created = torch.cuda.Stream()
    created.wait_stream(torch.cuda.current_stream())
    if kind == "current":
        with torch.cuda.stream(created):
            yield None
    else:
        arguments: dict[str, Any] = {
            "created": created,
            "torch_default": None,
            "legacy": 1,
            "per_thread": 2,
        }
        yield arguments[kind]
    torch.cuda.synchronize()


@contextlib.contextmanager
def blocking_stream() -> Iterator[int]:
    """The handle of a new stream that keeps in step with the legacy stream."""
    driver, stream = Driver(), ctypes.c_void_p()
    torch.cuda.synchronize()
    driver.check("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(0))
    assert stream.value is not None
    try:
        yield stream.value
    finally:
        torch.cuda.synchronize()
        driver.check("cuStreamDestroy_v2", stream)


def torch_stream(stream: Any) -> Any:
    """torch's stream for kernels on the stream that kvswap gets."""
    if stream is None:
        return torch.cuda.current_stream()
    if isinstance(stream, int):
        # torch knows the legacy stream as its default stream, and not by its handles.
        if stream in (0, 1):
            return torch.cuda.default_stream()
        return torch.cuda.ExternalStream(stream)
    return stream


def is_legacy(kind: str) -> bool:
    """Whether a kind of stream is the legacy default stream, as torch's default is."""
    return kind in ("torch_default", "legacy")


def random_bytes(size: int, *, device: str = "cpu", pinned: bool = False) -> Any:
    """A uint8 tensor of shape (size,) with random content."""
    # By words: eight times as quick.
    words = torch.empty(size // 8 + 1, dtype=torch.int64, device=device).random_()
    tensor = words.view(torch.uint8)[:size]
    return tensor.pin_memory() if pinned else tensor


def addresses(tensor: Any, offsets: Sequence[int]) -> Any:
    """Addresses of the bytes at `offsets` of a uint8 tensor, int64 of shape (N,)."""
    return tensor.data_ptr() + torch.tensor(list(offsets), dtype=torch.int64)


def copy_blocks(
    source: Any,
    source_offsets: Sequence[int],
    destination: Any,
    destination_offsets: Sequence[int],
    sizes: Sequence[int],
    **options: Any,
) -> kvswap.SwapResult:
    """Submits copies between two uint8 tensors, by offsets in bytes."""
    return kvswap.swap_blocks_batch(
        addresses(source, source_offsets),
        addresses(destination, destination_offsets),
        torch.tensor(list(sizes), dtype=torch.int64),
        **options,
    )


def plain_policy(ctas: int = 16, threads: int = 1024) -> Any:
    """A policy that launches the plain kernel in one shape."""
    return kvswap.Policy(
        [kvswap.PolicyRule(engine="kernel", kernel="plain", ctas=ctas, threads=threads)]
    )


def bulk_policy(ctas: int = 2, stages: int = 8, stage_bytes: int = 8192) -> Any:
    """A policy that launches the bulk kernel in one shape."""
    return kvswap.Policy(
        [
            kvswap.PolicyRule(
                engine="kernel",
                kernel="bulk",
                ctas=ctas,
                threads=32,
                stages=stages,
                stage_bytes=stage_bytes,
            )
        ]
    )


def options_of(way: str) -> dict[str, Any]:
    """Options of a call: an engine's name, or "plain" or "bulk" for either kernel."""
    if way == "plain":
        return {"engine": "kernel", "strict": True, "policy": plain_policy()}
    if way == "bulk":
        return {"engine": "kernel", "strict": True, "policy": bulk_policy()}
    if way == "auto":
        return {}
    return {"engine": way, "strict": True}


def engine_of(way: str) -> str:
    """The engine behind a way of `options_of`."""
    return "kernel" if way in ("plain", "bulk") else way


def copies_by_engine(result: kvswap.SwapResult) -> dict[str, int]:
    """How many copies went by each engine that had any."""
    return {name: count for name, count in result.copies.items() if count}


def assert_ran(result: kvswap.SwapResult, way: str, count: int) -> None:
    """That all copies went by the engine that was asked for."""
    if way == "auto":
        assert sum(result.copies.values()) == count, result
    else:
        assert copies_by_engine(result) == {engine_of(way): count}, result


def assert_healthy() -> None:
    """That the GPU works, and no error of earlier calls is left in the context."""
    Driver().check("cuCtxSynchronize")
    numbers = torch.arange(1000, device="cuda")
    assert int(numbers.sum()) == 499_500


class Driver:
    """The few functions of the CUDA driver that torch does not offer."""

    INVALID_VALUE = 1
    STREAM_CAPTURE_INVALIDATED = 901
    STREAM_CAPTURE_IMPLICIT = 906
    CAPTURE_MODE_GLOBAL = 0

    def __init__(self) -> None:
        # The library that torch has loaded already.
        self._library = ctypes.CDLL(kvswap.driver_info().path)

    def call(self, name: str, *arguments: Any) -> int:
        """The CUresult of a function whose arguments are ctypes values."""
        code: int = getattr(self._library, name)(*arguments)
        return code

    def check(self, name: str, *arguments: Any) -> None:
        """Calls a function that has to succeed."""
        code = self.call(name, *arguments)
        assert code == 0, f"{name} answered {code}"


def run_in_child(code: str, **environment: str) -> str:
    """Runs Python code in a fresh interpreter; its output. Fails with its errors."""
    child = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert child.returncode == 0, f"{child.stdout}\n{child.stderr}"
    return child.stdout
