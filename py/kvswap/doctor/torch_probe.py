"""Run as a program in a child process: what torch is here, and whether ours loads."""

from __future__ import annotations

from typing import Any

from kvswap.doctor import stages


def describe_torch() -> dict[str, Any]:
    """Its version, the CUDA it was built for, and what it sees."""
    import torch

    available = bool(torch.cuda.is_available())
    return {
        "version": str(torch.__version__),
        "cuda": torch.version.cuda,
        "cuda_available": available,
        "gpu_count": torch.cuda.device_count() if available else 0,
    }


def load_operators() -> bool:
    """Loads kvswap's operators for torch."""
    import kvswap.torch_ops  # noqa: F401

    return True


if __name__ == "__main__":
    stages.answer({"torch": describe_torch, "operators": load_operators})
