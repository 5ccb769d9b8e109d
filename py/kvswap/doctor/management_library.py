"""What NVIDIA's management library (NVML) says of PCIe links and MIG, by ctypes."""

from __future__ import annotations

import ctypes
from typing import Any

_LIBRARY = "libnvidia-ml.so.1"


class _PciInfo(ctypes.Structure):
    # nvmlPciInfo_t
    _fields_ = [
        ("bus_id_legacy", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("device_id", ctypes.c_uint),
        ("subsystem_id", ctypes.c_uint),
        ("bus_id", ctypes.c_char * 32),
    ]


_LINK = {
    "generation": "nvmlDeviceGetCurrPcieLinkGeneration",
    "width": "nvmlDeviceGetCurrPcieLinkWidth",
    "max_generation": "nvmlDeviceGetMaxPcieLinkGeneration",
    "max_width": "nvmlDeviceGetMaxPcieLinkWidth",
}


def describe(library: Any = None) -> dict[str, Any]:
    """What it says of each GPU, by PCI address: its link, and whether MIG is enabled.

    Empty where the library is not there or does not start.
    """
    if library is None:
        try:
            library = ctypes.CDLL(_LIBRARY)
        except OSError:
            return {}
    if library.nvmlInit_v2() != 0:
        return {}
    try:
        count = ctypes.c_uint()
        library.nvmlDeviceGetCount_v2(ctypes.byref(count))
        return dict(_describe(library, number) for number in range(count.value))
    finally:
        library.nvmlShutdown()


def _describe(library: Any, number: int) -> tuple[str, dict[str, Any]]:
    handle = ctypes.c_void_p()
    library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(number), ctypes.byref(handle))
    pci = _PciInfo()
    library.nvmlDeviceGetPciInfo_v3(handle, ctypes.byref(pci))
    address = f"{pci.domain:04x}:{pci.bus:02x}:{pci.device:02x}.0"
    found: dict[str, Any] = {
        key: _number(library, function, handle) for key, function in _LINK.items()
    }
    current, pending = ctypes.c_uint(), ctypes.c_uint()
    code = library.nvmlDeviceGetMigMode(
        handle, ctypes.byref(current), ctypes.byref(pending)
    )
    found["mig_enabled"] = code == 0 and current.value == 1
    return address, found


def _number(library: Any, function: str, handle: Any) -> int | None:
    value = ctypes.c_uint()
    code = getattr(library, function)(handle, ctypes.byref(value))
    return value.value if code == 0 else None
