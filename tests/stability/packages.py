"""Where the Python packages are, found without importing them.

A library that does not load is then still compared.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path


def folder_of(package: str) -> Path:
    """The folder of a package."""
    found = importlib.util.find_spec(package)
    assert found is not None and found.origin is not None
    return Path(found.origin).parent
