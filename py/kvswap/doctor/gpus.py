"""The GPUs: what the driver says of them, and what the system says of where they are."""

from __future__ import annotations

from typing import Any

from kvswap.doctor.schema import Gpu, Kernel, Link
from kvswap.doctor.system import System, number

_PCI = "/sys/bus/pci/devices"

# From the transfers a second that sysfs tells to the generation of PCIe.
_GENERATIONS = {"2.5": 1, "5.0": 2, "5": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}


def gpus(
    system: System,
    described: list[dict[str, Any]],
    kernels: dict[str, Any],
    management: dict[str, Any],
) -> list[Gpu]:
    """The GPUs, from what the probe found of each."""
    return [_gpu(system, gpu, kernels, management) for gpu in described]


def _gpu(
    system: System,
    described: dict[str, Any],
    kernels: dict[str, Any],
    management: dict[str, Any],
) -> Gpu:
    address = described["pci_address"]
    managed = management.get(address, {})
    return Gpu(
        ordinal=described["ordinal"],
        name=described["name"],
        compute_capability=described["compute_capability"],
        memory_bytes=described["memory_bytes"],
        pci_address=address,
        numa_node=_numa_node(system, address),
        mig=described["mig"] or bool(managed.get("mig_enabled")),
        host_pointers=described["host_pointers"],
        link=_sysfs_link(system, address) or _management_link(managed),
        kernel=_kernel(kernels.get(str(described["ordinal"]))),
    )


def _kernel(found: dict[str, Any] | None) -> Kernel | None:
    if found is None:
        return None
    return Kernel(
        available=found["available"],
        reason=found["reason"],
        image=found["image"],
        bulk=found["bulk"],
        parameter_bytes=found["parameter_bytes"],
        message=found["message"],
    )


def _numa_node(system: System, address: str | None) -> int | None:
    text = system.read(f"{_PCI}/{address}/numa_node") if address else None
    # -1 where the system does not know, as where there is but one.
    return number(text)


def _sysfs_link(system: System, address: str | None) -> Link | None:
    folder = f"{_PCI}/{address}"
    speed = system.read(f"{folder}/current_link_speed") if address else None
    if not speed:
        return None
    return Link(
        generation=_generation(speed),
        width=_width(system.read(f"{folder}/current_link_width")),
        max_generation=_generation(system.read(f"{folder}/max_link_speed")),
        max_width=_width(system.read(f"{folder}/max_link_width")),
        source="sysfs",
    )


def _generation(speed: str | None) -> int | None:
    """Of "32.0 GT/s PCIe"."""
    return _GENERATIONS.get(speed.split()[0]) if speed else None


def _width(text: str | None) -> int | None:
    # 255, or 0, where there is no link to tell of.
    width = number(text)
    return width if width is not None and 0 < width <= 32 else None


def _management_link(managed: dict[str, Any]) -> Link | None:
    if managed.get("generation") is None:
        return None
    return Link(
        generation=managed["generation"],
        width=managed["width"],
        max_generation=managed["max_generation"],
        max_width=managed["max_width"],
        source="nvml",
    )
