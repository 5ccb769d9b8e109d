"""What a result must be read with, as far as it is not the GPU's."""

from __future__ import annotations

import datetime
import pathlib
import platform
from typing import Any

import kvswap


def host_environment() -> dict[str, Any]:
    """Versions, processor and date."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "kvswap": kvswap.__version__,
        "python": platform.python_version(),
        "cpu": _processor(),
        "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _processor(path: str = "/proc/cpuinfo") -> str:
    """The processor's name; its architecture where the system does not tell one."""
    try:
        lines = pathlib.Path(path).read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
