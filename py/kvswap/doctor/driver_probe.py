"""Run as a program in a child process: what the driver and its GPUs answer.

The one argument is the ordinal of the GPU to look at, or "all".
"""

from __future__ import annotations

import ctypes
import dataclasses
import sys
from typing import Any

import kvswap
from kvswap.doctor import engine_choices, management_library, stages
from kvswap.testing.cuda_driver import CudaDriver, CudaError

# CUdevice_attribute
_COMPUTE_CAPABILITY = (75, 76)
_PCI_ADDRESS = (50, 33, 34)
_CAN_USE_HOST_POINTER = 91


class DriverProbe:
    """The stages, in their order; each may use what those before it found."""

    def __init__(self, gpu: int | None) -> None:
        self._gpu = gpu
        self._driver: CudaDriver | None = None
        self._count = 0
        self._simulated = False

    def driver(self) -> dict[str, Any]:
        """kvswap's own word on the driver."""
        info = kvswap.driver_info()
        if info.path:
            library = ctypes.CDLL(info.path)
            self._simulated = hasattr(library, "cuda_sim_control_version")
        return {**dataclasses.asdict(info), "simulated": self._simulated}

    def initialization(self) -> dict[str, Any] | None:
        """What cuInit and cuDeviceGetCount answer."""
        info = kvswap.driver_info()
        if not info.usable:
            return None
        driver = CudaDriver(info.path, initialize=False)
        code = driver.result("cuInit", ctypes.c_uint(0))
        if code == 0:
            self._count = driver.device_count()
            self._driver = driver
        return {
            "error": code,
            "name": driver.error_name(code) if code else None,
            "gpu_count": self._count if code == 0 else None,
        }

    def _ordinals(self) -> list[int]:
        if self._gpu is None:
            return list(range(self._count))
        return [self._gpu] if self._gpu < self._count else []

    def gpus(self) -> list[dict[str, Any]]:
        """Names and numbers of the GPUs."""
        driver = self._driver
        if driver is None:
            return []
        return [_describe(driver, ordinal) for ordinal in self._ordinals()]

    def kernels(self) -> dict[str, Any]:
        """The copy kernels on each GPU."""
        found = {}
        for ordinal in self._ordinals():
            assert self._driver is not None
            with self._driver.primary_context(ordinal):
                found[str(ordinal)] = dataclasses.asdict(kvswap.kernel_info())
        return found

    def engines(self) -> dict[str, Any] | None:
        """Which engine each kind of stream takes, on the first of the GPUs."""
        ordinals = self._ordinals()
        if self._driver is None or not ordinals:
            return None
        choices = engine_choices.choices(self._driver, ordinals[0])
        return {"gpu": ordinals[0], "choices": choices}

    def management(self) -> dict[str, Any]:
        """What the driver's management library says; of a simulated driver, nothing."""
        return {} if self._simulated else management_library.describe()


def _attribute(driver: CudaDriver, attribute: int, ordinal: int) -> int | None:
    try:
        return driver.device_attribute(attribute, ordinal)
    except CudaError:
        return None


def _describe(driver: CudaDriver, ordinal: int) -> dict[str, Any]:
    major, minor = (_attribute(driver, each, ordinal) for each in _COMPUTE_CAPABILITY)
    domain, bus, slot = (_attribute(driver, each, ordinal) for each in _PCI_ADDRESS)
    address = None
    if domain is not None and bus is not None and slot is not None:
        address = f"{domain:04x}:{bus:02x}:{slot:02x}.0"
    host_pointers = _attribute(driver, _CAN_USE_HOST_POINTER, ordinal)
    name = driver.device_name(ordinal)
    return {
        "ordinal": ordinal,
        "name": name,
        "compute_capability": f"{major}.{minor}",
        "memory_bytes": _memory(driver, ordinal),
        "pci_address": address,
        "mig": "MIG" in name.split(),
        "host_pointers": None if host_pointers is None else bool(host_pointers),
    }


def _memory(driver: CudaDriver, ordinal: int) -> int | None:
    size = ctypes.c_size_t()
    try:
        driver.call("cuDeviceTotalMem_v2", ctypes.byref(size), ctypes.c_int(ordinal))
    except (CudaError, AttributeError):
        return None
    return size.value


def main(arguments: list[str]) -> None:
    """Runs all stages."""
    probe = DriverProbe(None if arguments[0] == "all" else int(arguments[0]))
    stages.answer(
        {
            "driver": probe.driver,
            "initialization": probe.initialization,
            "gpus": probe.gpus,
            "kernels": probe.kernels,
            "engines": probe.engines,
            "management": probe.management,
        }
    )


if __name__ == "__main__":
    main(sys.argv[1:])
