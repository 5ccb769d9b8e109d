"""torch, and kvswap's operators for it."""

from __future__ import annotations

import importlib.util

from kvswap.doctor import stages
from kvswap.doctor.schema import Torch
from kvswap.doctor.system import System

_LIMIT_SECONDS = 120.0


def torch_report(system: System, look: bool) -> tuple[Torch, dict[str, str]]:
    """What is found of torch, and what failed.

    Args:
        system: the machine.
        look: whether to import it, in a child process, which takes seconds.
    """
    installed = importlib.util.find_spec("torch") is not None
    report = Torch(
        installed=installed,
        version=None,
        cuda=None,
        cuda_available=None,
        gpu_count=None,
        operators=None,
        operators_message="",
    )
    if not (installed and look):
        return report, {}
    outcome = stages.ask(
        "kvswap.doctor.torch_probe", (), system.environment, _LIMIT_SECONDS
    )
    found = outcome.found.get("torch")
    if found is not None:
        report["version"] = found["version"]
        report["cuda"] = found["cuda"]
        report["cuda_available"] = found["cuda_available"]
        report["gpu_count"] = found["gpu_count"]
        report["operators"] = "operators" in outcome.found
        report["operators_message"] = outcome.failures.pop("operators", "")
    # Without torch its operators cannot load: one failure is enough.
    outcome.failures.pop("operators", None)
    return report, {
        "torch" if name in ("start", "torch") else f"torch {name}": message
        for name, message in outcome.failures.items()
    }
