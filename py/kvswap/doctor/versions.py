"""Versions of what runs here."""

from __future__ import annotations

import importlib.metadata
import platform
import sys

import kvswap
from kvswap.doctor.schema import Versions
from kvswap.doctor.system import System

EXTRAS = {
    "rich": "terminal",
    "matplotlib": "plot",
    "nvtx": "nvtx",
    "kvswap-sim": "sim",
    "torch": "torch",
}
"""From each optional package to the extra that brings it."""


def version_text(number: int) -> str | None:
    """ "12.8" of CUDA's 12080; None of 0."""
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


def versions(system: System, toolkit: int) -> Versions:
    """All of them; `toolkit` is CUDA_VERSION of the build, 0 if there was none."""
    return Versions(
        kvswap=kvswap.__version__,
        toolkit=version_text(toolkit),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        executable=sys.executable,
        libc=" ".join(platform.libc_ver()).strip() or "not told",
        kernel=f"{platform.system()} {platform.release()}",
        machine=platform.machine(),
        system=_system_name(system),
        extras={package: _installed(package) for package in EXTRAS},
    )


def _system_name(system: System) -> str:
    for line in (system.read("/etc/os-release") or "").splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip("\"'")
    return "not told"


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        pass
    if package == "kvswap-sim":
        # From a checkout it has no metadata, and is of the same version.
        from importlib.util import find_spec

        return kvswap.__version__ if find_spec("kvswap_sim") else None
    return None
