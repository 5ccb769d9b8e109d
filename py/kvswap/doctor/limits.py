"""Kinds of machines, and the limits that they set on a process."""

from __future__ import annotations

from kvswap.doctor.schema import Machine
from kvswap.doctor.system import System, number

_NODES = "/sys/devices/system/node"
_PCI = "/sys/bus/pci/devices"
_NVIDIA_VENDOR = "0x10de"
_DISPLAY_CLASS = "0x03"

# Of lists of CPUs and nodes: more than kernels can be built for.
_MOST_CPUS = 1 << 16

# The version-1 controller has no word for "no limit" but a number near 2^63.
_NO_CGROUP_LIMIT = 1 << 60


def machine(system: System) -> Machine:
    """What is found of this machine."""
    limit, used = _cgroup_memory(system)
    return Machine(
        wsl=_is_wsl(system),
        container=_is_container(system),
        nvidia_pci_devices=_nvidia_pci_devices(system),
        locked_memory_limit=system.locked_memory_limit(),
        memory_bytes=_total_memory(system),
        cgroup_limit=limit,
        cgroup_used=used,
        numa_nodes=_numa_nodes(system),
        cpu_nodes=_cpu_nodes(system),
        memory_nodes=_memory_nodes(system),
    )


def numbers_of_list(text: str) -> set[int]:
    """The numbers that the kernel's "0-3,8" stands for.

    What is no number or range, or goes beyond all CPUs and nodes that a kernel can have,
    stands for none.
    """
    found: set[int] = set()
    for part in text.replace("\n", ",").split(","):
        begin, _, end = part.strip().partition("-")
        first, last = number(begin), number(end or begin)
        if first is not None and last is not None and last < _MOST_CPUS:
            found |= set(range(first, last + 1))
    return found


def _is_wsl(system: System) -> bool:
    release = system.read("/proc/sys/kernel/osrelease") or ""
    return "microsoft" in release.lower()


def _is_container(system: System) -> bool:
    return (
        system.exists("/.dockerenv")
        or system.exists("/run/.containerenv")
        or bool(system.environment.get("container"))
        or bool(system.environment.get("KUBERNETES_SERVICE_HOST"))
    )


def _nvidia_pci_devices(system: System) -> int:
    return sum(
        system.read(f"{_PCI}/{name}/vendor") == _NVIDIA_VENDOR
        and (system.read(f"{_PCI}/{name}/class") or "").startswith(_DISPLAY_CLASS)
        for name in system.names(_PCI)
    )


def _total_memory(system: System) -> int | None:
    for line in (system.read("/proc/meminfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name == "MemTotal":
            kibibytes = number(value.partition("kB")[0].strip())
            return None if kibibytes is None else kibibytes * 1024
    return None


def _cgroup_memory(system: System) -> tuple[int | None, int | None]:
    """The tightest limit among this process's control groups, and what it has used."""
    found = []
    for folder, limit_file, used_file in _cgroup_folders(system):
        limit = number(system.read(f"{folder}/{limit_file}"))
        if limit is not None and limit < _NO_CGROUP_LIMIT:
            found.append((limit, number(system.read(f"{folder}/{used_file}"))))
    return min(found, key=lambda pair: pair[0]) if found else (None, None)


def _cgroup_folders(system: System) -> list[tuple[str, str, str]]:
    version_2 = ("memory.max", "memory.current")
    version_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    folders = [
        ("/sys/fs/cgroup", *version_2),
        ("/sys/fs/cgroup/memory", *version_1),
    ]
    for line in (system.read("/proc/self/cgroup") or "").splitlines():
        number, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        parts = [part for part in path.split("/") if part]
        for length in range(1, len(parts) + 1):
            below = "/".join(parts[:length])
            if number == "0":
                folders.append((f"/sys/fs/cgroup/{below}", *version_2))
            elif "memory" in controllers.split(","):
                folders.append((f"/sys/fs/cgroup/memory/{below}", *version_1))
    return folders


def _numa_nodes(system: System) -> list[int]:
    nodes = (
        number(name[4:]) for name in system.names(_NODES) if name.startswith("node")
    )
    return sorted(node for node in nodes if node is not None)


def _cpu_nodes(system: System) -> list[int]:
    cpus = system.cpus()
    return [
        node
        for node in _numa_nodes(system)
        if numbers_of_list(system.read(f"{_NODES}/node{node}/cpulist") or "") & cpus
    ]


def _memory_nodes(system: System) -> list[int]:
    for line in (system.read("/proc/self/status") or "").splitlines():
        name, _, value = line.partition(":")
        if name == "Mems_allowed_list":
            return sorted(numbers_of_list(value) & set(_numa_nodes(system)))
    return []
