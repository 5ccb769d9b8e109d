"""Ranges of tracing tools around calls: NVTX's, the torch profiler's."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from typing import TYPE_CHECKING, Any

from kvswap import _core

if TYPE_CHECKING:
    from kvswap import SwapResult

_VARIABLE = "KVSWAP_NVTX"
_DOMAIN = "kvswap"

_nvtx: Any = None


def set_tracing(*, nvtx: bool) -> None:
    """Turns NVTX ranges around calls on or off, for the process.

    They are off at the start, unless the environment variable ``KVSWAP_NVTX`` is "1": they
    cost some microseconds a call even where no tool listens. Ranges of the torch
    profiler need no setting: they are there while one of its profiles runs.

    Args:
        nvtx: whether calls are ranges of the NVTX domain "kvswap", by the package nvtx.

    Raises:
        ImportError: the package nvtx is not installed.
    """
    global _nvtx
    if nvtx:
        try:
            _nvtx = importlib.import_module("nvtx")
        except ImportError as error:
            raise ImportError(
                "NVTX ranges need the package nvtx: python -m pip install nvtx"
            ) from error
    _core._set_nvtx(nvtx)


class TraceRange:
    """A call as a range of the tools that listen; the bindings make it.

    Names are few, since tools keep each of them: numbers are payload and arguments. What
    the call submitted follows as a mark of NVTX, and as a range inside for torch, for each
    engine.
    """

    __slots__ = ("_in_nvtx", "_record")

    def __init__(self, function: str, copies: int, is_profiling: bool) -> None:
        name = f"kvswap.{function}"
        self._record: Any = None
        # Ranges are pushed and popped, and may be turned off in between.
        self._in_nvtx: Any = _nvtx
        if self._in_nvtx is not None:
            self._in_nvtx.push_range(name, domain=_DOMAIN, payload=copies)
        if is_profiling:
            self._record = _torch_range(name, {"copies": copies})
            self._record.__enter__()

    def close(self, result: SwapResult | None) -> None:
        """Ends the range; `result` is None for a call that failed."""
        if result is not None:
            for engine, copies in result.copies.items():
                if copies:
                    self._tell(f"kvswap.{engine}", copies, result.submitted_bytes)
        if self._record is not None:
            self._record.__exit__(None, None, None)
        if self._in_nvtx is not None:
            self._in_nvtx.pop_range(domain=_DOMAIN)

    def _tell(self, name: str, copies: int, bytes_of_call: int) -> None:
        """Says inside of the range what an engine submitted."""
        if self._in_nvtx is not None:
            self._in_nvtx.mark(name, domain=_DOMAIN, payload=copies)
        if self._record is not None:
            numbers = {"copies": copies, "bytes_of_call": bytes_of_call}
            with _torch_range(name, numbers):
                pass


def _torch_range(name: str, numbers: dict[str, int]) -> Any:
    # A profiler runs, so torch is imported.
    torch = sys.modules["torch"]
    try:
        # The one kind of range whose numbers get into traces.
        return torch._C._profiler._RecordFunctionFast(name, [], numbers)
    except (AttributeError, TypeError):
        return torch.autograd.profiler.record_function(name)


def _set_up() -> None:
    """Does what the environment asks for."""
    if os.environ.get(_VARIABLE, "") != "1":
        return
    try:
        set_tracing(nvtx=True)
    except ImportError as error:
        logging.getLogger("kvswap").warning(
            "%s is 1 and there are no ranges: %s", _VARIABLE, error
        )


_set_up()
