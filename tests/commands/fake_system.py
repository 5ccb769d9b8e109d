"""A machine for the doctor: a folder that stands for "/", a simulated driver."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import kvswap_sim
from kvswap.doctor.report import collect, conclude
from kvswap.doctor.schema import Report
from kvswap.doctor.system import System

# Where the simulated GPU of `PCI_ATTRIBUTES` is.
PCI_ADDRESS = "0000:4f:00.0"
PCI_ATTRIBUTES = {50: 0, 33: 0x4F, 34: 0}
PCI_FOLDER = f"/sys/bus/pci/devices/{PCI_ADDRESS}"

# A machine of two sockets, with the GPU at the second.
TWO_SOCKETS = {
    "/sys/devices/system/node/node0/cpulist": "0-3",
    "/sys/devices/system/node/node1/cpulist": "4-7",
    f"{PCI_FOLDER}/numa_node": "1",
}

GPU_FILES = {
    f"{PCI_FOLDER}/vendor": "0x10de",
    f"{PCI_FOLDER}/class": "0x030200",
    f"{PCI_FOLDER}/current_link_speed": "32.0 GT/s PCIe",
    f"{PCI_FOLDER}/current_link_width": "16",
    f"{PCI_FOLDER}/max_link_speed": "32.0 GT/s PCIe",
    f"{PCI_FOLDER}/max_link_width": "16",
}


class FakeSystem(System):
    """A machine with files of the test's own."""

    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str],
        *,
        files: Mapping[str, str] | None = None,
        denied: Mapping[str, str] | None = None,
        locked_memory: int | None = None,
        cpus: Iterable[int] = (0,),
    ) -> None:
        super().__init__(root, environment)
        self._denied = dict(denied or {})
        self._locked_memory = locked_memory
        self._cpus = set(cpus)
        for path, text in (files or {}).items():
            file = self.path(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + "\n")

    def open_problem(self, path: str) -> str | None:
        return self._denied.get(path, super().open_problem(path))

    def locked_memory_limit(self) -> int | None:
        return self._locked_memory

    def cpus(self) -> set[int]:
        return self._cpus


def base_environment() -> dict[str, str]:
    """This process's, without what bears on swaps."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("KVSWAP_", "CUDA_", "NVIDIA_", "KUBERNETES_"))
        and name not in ("container", "LD_PRELOAD")
    }


def simulated_environment(**options: Any) -> dict[str, str]:
    """That, on a simulated driver, whose GPU has an address on the PCI bus."""
    options.setdefault("device_attributes", PCI_ATTRIBUTES)
    return {**base_environment(), **kvswap_sim.environment(**options)}


def look(
    root: Path,
    *,
    environment: Mapping[str, str] | None = None,
    simulated: Mapping[str, Any] | None = None,
    gpu: int | None = None,
    limit_seconds: float = 60.0,
    change: Callable[[Report], None] | None = None,
    **machine: Any,
) -> Report:
    """A report on a machine of the test's own.

    Args:
        root: an empty folder.
        environment: further variables.
        simulated: options of the simulated driver; None: the preset.
        gpu: the one to look at.
        limit_seconds: for what the driver is asked.
        change: what a simulation cannot show, set in the report before the advice.
        machine: arguments of FakeSystem.
    """
    variables = simulated_environment(**(simulated or {})) | dict(environment or {})
    machine.setdefault("files", GPU_FILES)
    system = FakeSystem(root, variables, **machine)
    report = collect(system, gpu=gpu, torch=False, limit_seconds=limit_seconds)
    if change is not None:
        change(report)
    return conclude(report)


def real(report: Report) -> None:
    """Has the simulated driver pass for a real one."""
    report["driver"]["simulated"] = False


def names(report: Report) -> set[str]:
    """The troubles that were found."""
    return {finding["name"] for finding in report["findings"]}
