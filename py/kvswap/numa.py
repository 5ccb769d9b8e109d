"""The NUMA node beside a GPU, and host memory that is to lie on it.

Copies between a GPU and memory of another socket cross the link between the sockets,
which others use too.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from pathlib import Path

_PCI_DEVICES = Path("/sys/bus/pci/devices")

# Number of the system call mbind(2).
_MBIND = {"x86_64": 237, "aarch64": 235}

# linux/mempolicy.h: of that node while it has memory, else of another one.
_MPOL_PREFERRED = 1


def pci_address(device: int) -> str | None:
    """Where a GPU is on the PCI bus, as "0000:4f:00.0"; torch tells it.

    None where torch is not imported, sees no such GPU, or does not tell.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    if device >= torch.cuda.device_count():
        return None
    properties = torch.cuda.get_device_properties(device)
    try:
        domain, bus, slot = (
            int(getattr(properties, f"pci_{part}_id"))
            for part in ("domain", "bus", "device")
        )
    except AttributeError:
        return None
    return f"{domain:04x}:{bus:02x}:{slot:02x}.0"


def node_of_pci_device(address: str, devices: Path = _PCI_DEVICES) -> int | None:
    """The NUMA node that a device of the PCI bus belongs to.

    None where the system does not tell, as where there is but one.
    """
    try:
        node = int((devices / address / "numa_node").read_text())
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None


def node_of_gpu(device: int | None) -> int | None:
    """The NUMA node beside a GPU, where torch and the system tell it."""
    address = None if device is None else pci_address(device)
    return None if address is None else node_of_pci_device(address)


def prefer_node(address: int, size: int, node: int) -> None:
    """Has pages that are not there yet made on a node, while it has memory left.

    Args:
        address: where whole pages of this process begin.
        size: in bytes.
        node: number of the node.

    Raises:
        OSError: the system refuses, or has no such node.
    """
    number = _MBIND.get(platform.machine())
    if number is None:
        raise OSError(f"mbind is not known on {platform.machine()}")
    word_bits = 8 * ctypes.sizeof(ctypes.c_ulong)
    words = (ctypes.c_ulong * (node // word_bits + 1))()
    words[node // word_bits] = 1 << node % word_bits
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    # The system reads one bit less than it is told.
    outcome = libc.syscall(
        ctypes.c_long(number),
        ctypes.c_void_p(address),
        ctypes.c_ulong(size),
        ctypes.c_long(_MPOL_PREFERRED),
        words,
        ctypes.c_ulong(len(words) * word_bits + 1),
        ctypes.c_ulong(0),
    )
    if outcome != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"mbind to NUMA node {node}: {os.strerror(code)}")
