"""Pairs of block ids as each array library has them: torch, NumPy, Python alone.

The library takes all three; what the demo shows is the same with each.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class PairArrays:
    """One of the array libraries.

    Attributes:
        name: "torch", "numpy" or "python".
        description: its name and version, for people.
        make: pairs as an array of it.
    """

    name: str
    description: str
    make: Callable[[Pairs], Any]


def _torch() -> PairArrays:
    import torch

    return PairArrays(
        "torch",
        f"torch {torch.__version__}",
        lambda pairs: torch.tensor(pairs, dtype=torch.int64),
    )


def _numpy() -> PairArrays:
    import numpy

    return PairArrays(
        "numpy",
        f"NumPy {numpy.__version__}",
        lambda pairs: numpy.array(pairs, dtype=numpy.int64),
    )


def _python() -> PairArrays:
    return PairArrays(
        "python", f"lists of Python {platform.python_version()} alone", list
    )


def choose_pair_arrays(name: str) -> PairArrays:
    """An array library by name; "auto" is torch where it is installed, else NumPy.

    Raises:
        ImportError: the one that was asked for is not installed.
    """
    makers = {"torch": _torch, "numpy": _numpy, "python": _python}
    if name != "auto":
        try:
            return makers[name]()
        except ImportError as error:
            raise ImportError(
                f"--arrays={name}: {error}. Install it, or take --arrays=python"
            ) from error
    for maker in makers.values():
        try:
            return maker()
        except ImportError:
            pass
    raise AssertionError("Python itself is always there")
