"""The CUDA driver: what kvswap found of it, and what else of it is on this machine."""

from __future__ import annotations

from typing import Any

from kvswap.doctor.schema import DeviceFile, Driver, Library
from kvswap.doctor.system import System
from kvswap.doctor.versions import version_text

# Where libcuda.so.1 is looked for, beside LD_LIBRARY_PATH: the folder, what is there.
_LIBRARY_FOLDERS = (
    ("/usr/lib/wsl/lib", "wsl"),
    ("/usr/lib/x86_64-linux-gnu", "driver"),
    ("/usr/lib/aarch64-linux-gnu", "driver"),
    ("/usr/lib64", "driver"),
    ("/usr/lib", "driver"),
    ("/usr/local/nvidia/lib64", "driver"),
    ("/usr/local/cuda/compat", "compat"),
    ("/usr/local/cuda/lib64/stubs", "stub"),
)
_LIBRARY_NAMES = ("libcuda.so.1", "libcuda.so")

# How 32-bit libraries begin, which some systems keep in /usr/lib: the loader skips them.
_ELF_OF_32_BITS = b"\x7fELF\x01"

_DEVICE_NAMES = ("nvidiactl", "nvidia-uvm", "dxg")


def library_kind(path: str) -> str:
    """What the folder of a libcuda.so says of it: driver, wsl, compat or stub."""
    if "/stubs/" in path:
        return "stub"
    if "/wsl/" in path:
        return "wsl"
    return "compat" if "/compat/" in path else "driver"


def libraries(system: System) -> list[Library]:
    """The driver libraries on this machine, each once, in the order of the loader."""
    search = system.environment.get("LD_LIBRARY_PATH", "").split(":")
    folders = [(folder, "") for folder in search if folder.startswith("/")]
    folders += _LIBRARY_FOLDERS
    found: dict[str, Library] = {}
    for folder, kind in folders:
        for name in _LIBRARY_NAMES:
            path = f"{folder.rstrip('/')}/{name}"
            if not system.exists(path) or system.begins_with(path, _ELF_OF_32_BITS):
                continue
            real = system.real_path(path)
            if real not in found:
                found[real] = Library(path=path, kind=kind or library_kind(path))
    return list(found.values())


def device_files(system: System) -> list[DeviceFile]:
    """The files below /dev that the driver opens, and whether this user may."""
    return [
        DeviceFile(path=f"/dev/{name}", problem=system.open_problem(f"/dev/{name}"))
        for name in system.names("/dev")
        if name in _DEVICE_NAMES
        or (name.startswith("nvidia") and name[len("nvidia") :].isdigit())
    ]


def kernel_module(system: System) -> str | None:
    """The version of the driver's kernel module, as "580.95.05"."""
    version = system.read("/sys/module/nvidia/version")
    if version:
        return version
    for line in (system.read("/proc/driver/nvidia/version") or "").splitlines():
        if line.startswith("NVRM version:"):
            words = line.split()
            return next((word for word in words if word[0].isdigit()), None)
    return None


def driver(
    system: System,
    info: dict[str, Any] | None,
    initialization: dict[str, Any] | None,
    management: dict[str, Any],
) -> Driver:
    """What there is to say.

    Args:
        system: the machine.
        info: ``kvswap.driver_info()`` of the probe; None where it found nothing out.
        initialization: what cuInit answered there; None where it was not called.
        management: what NVML says of each GPU; empty where it is not there.
    """
    info = info or {}
    initialization = initialization or {}
    number = info.get("driver_version", 0)
    return Driver(
        usable=info.get("usable", False),
        path=info.get("path", ""),
        version=version_text(number),
        version_number=number,
        batch_available=info.get("batch_available", False),
        simulated=info.get("simulated", False),
        message=info.get("message", "it could not be asked").partition(" Tried:")[0],
        tried=list(info.get("tried", ())),
        init_error=initialization.get("error"),
        init_error_name=initialization.get("name"),
        gpu_count=initialization.get("gpu_count"),
        mig_gpus=(
            sum(bool(gpu["mig_enabled"]) for gpu in management.values())
            if management
            else None
        ),
        kernel_module=kernel_module(system),
        libraries=libraries(system),
        device_files=device_files(system),
    )
