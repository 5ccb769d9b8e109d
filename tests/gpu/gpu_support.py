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
    "STREAM_KINDS",
    "TWO_GPUS",
    "Driver",
    "addresses",
    "copy_blocks",
    "kvswap",
    "random_bytes",
    "run_in_child",
    "stream_of_kind",
    "torch",
]

BATCH_AVAILABLE = kvswap.driver_info().batch_available

TWO_GPUS = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")

STREAM_KINDS = ("created", "current", "torch_default", "legacy", "per_thread")


@contextlib.contextmanager
def stream_of_kind(kind: str) -> Iterator[Any]:
    """Yields a `stream` argument of kvswap's calls; waits for the GPU at the end.

    created: a torch stream, passed. current: None, while a created torch stream is
    current. torch_default: None, while torch's default stream is. legacy and
    per_thread: CUDA's handles 1 and 2.
    """
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


def is_legacy(kind: str) -> bool:
    """Whether a kind of stream is the legacy default stream, as torch's default is."""
    return kind in ("torch_default", "legacy")


def random_bytes(size: int, *, device: str = "cpu", pinned: bool = False) -> Any:
    """A uint8 tensor of shape (size,) with random content."""
    tensor = torch.randint(0, 256, (size,), dtype=torch.uint8)
    if pinned:
        return tensor.pin_memory()
    return tensor.to(device)


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
