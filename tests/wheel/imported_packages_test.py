"""Tests import what they are said to test: the sources, or the installed wheels."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

EXPECTED = os.environ["EXPECTED"]


@pytest.mark.parametrize(
    "name", ["kvswap", "kvswap._core", "kvswap.demo", "kvswap.testing", "kvswap_sim"]
)
def test_where_it_comes_from(name: str) -> None:
    file = importlib.import_module(name).__file__
    assert file is not None
    folder = Path(file).parts[-2 - name.count(".") - (file.endswith("__init__.py"))]
    assert (folder == "installed") == (EXPECTED == "wheels"), file


def test_installed_wheels_have_their_metadata() -> None:
    import kvswap

    folder = Path(kvswap.__file__).parent.parent
    found = sorted(path.name for path in folder.glob("*.dist-info"))
    version = kvswap.__version__
    assert found == (
        [f"kvswap-{version}.dist-info", f"kvswap_sim-{version}.dist-info"]
        if EXPECTED == "wheels"
        else []
    )
