"""The client of the driver, and what the fixtures here give.

kvswap.testing.cuda_driver is loaded from its file, because its parent package needs
the extension module, which nothing here needs.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import kvswap_sim

__all__ = ["CLIENT_FILE", "Start", "cuda_driver"]

CLIENT_FILE = (
    Path(kvswap_sim.__file__).parent.parent / "kvswap" / "testing" / "cuda_driver.py"
)


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cuda_driver", CLIENT_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cuda_driver"] = module
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    from kvswap.testing import cuda_driver
else:
    cuda_driver = _load()

# The fixture `start`: a driver version to a simulator and a client.
Start = Callable[..., tuple[kvswap_sim.Simulator, "cuda_driver.CudaDriver"]]
