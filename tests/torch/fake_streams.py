"""torch's current streams as a test sets them, where torch has no CUDA."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

_LIBRARY = Path("tests/torch/libtorch_cuda.so")
_SYNCHRONIZE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)


class FakeStreams:
    """What libkvswap_torch.so finds as libtorch_cuda.so, from the first call on.

    Make one before the first call of an operator in a process.
    """

    def __init__(self, streams: list[int]) -> None:
        """`streams`: the handle of the current stream of each GPU."""
        self._library = ctypes.CDLL(str(_LIBRARY.absolute()))
        self._integer("fake_device_count").value = len(streams)
        handles = (ctypes.c_void_p * 4).in_dll(self._library, "fake_streams")
        for device, handle in enumerate(streams):
            handles[device] = handle
        self._integer("fake_asked").value = 0
        # Waiting for a stream: nothing, unless a test says what it is.
        ctypes.c_void_p.in_dll(self._library, "fake_synchronize").value = None
        self._callback = _SYNCHRONIZE()

    def _integer(self, name: str) -> ctypes.c_int32:
        return ctypes.c_int32.in_dll(self._library, name)

    def set_current_device(self, device: int) -> None:
        """Which GPU is torch's current one."""
        self._integer("fake_current_device").value = device

    def synchronize_by(self, wait: Callable[[int], object]) -> None:
        """What waits for a stream: called with its handle."""

        def synchronize(handle: int | None, _device: int) -> int:
            wait(handle or 0)
            return 0

        self._set_synchronize(synchronize)

    def fail_to_synchronize(self) -> None:
        """Waiting for a stream is an error."""
        self._set_synchronize(lambda _handle, _device: 1)

    def _set_synchronize(self, function: Callable[[int | None, int], int]) -> None:
        # The library has but its address.
        self._callback = _SYNCHRONIZE(function)
        pointer = ctypes.c_void_p.in_dll(self._library, "fake_synchronize")
        pointer.value = ctypes.cast(self._callback, ctypes.c_void_p).value

    @property
    def asked(self) -> int:
        """How often the current stream was asked for."""
        return self._integer("fake_asked").value

    @property
    def asked_device(self) -> int:
        """The GPU whose current stream was asked for last."""
        return self._integer("fake_asked_device").value
