"""torch, and kvswap's operators for it."""

from __future__ import annotations

import importlib.util

from kvswap.doctor import stages
from kvswap.doctor.schema import Torch
from kvswap.doctor.system import System

_LIMIT_SECONDS = 120.0


NO_TORCH = Torch(
    installed=False,
    version=None,
    cuda=None,
    cuda_available=None,
    gpu_count=None,
    operators=None,
    operators_message="",
)


def is_installed() -> bool:
    """Whether torch can be found; it is not imported."""
    return importlib.util.find_spec("torch") is not None


def child(system: System) -> stages.Child:
    """What imports torch."""
    return stages.Child("kvswap.doctor.torch_probe", (), system.environment)


def torch_report(asked: stages.Child | None) -> tuple[Torch, dict[str, str]]:
    """What is found of torch, and what failed.

    Args:
        asked: the child that imports it; None: it is not to be looked at.
    """
    report = NO_TORCH.copy()
    report["installed"] = is_installed()
    if asked is None:
        return report, {}
    outcome = asked.outcome(_LIMIT_SECONDS)
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
