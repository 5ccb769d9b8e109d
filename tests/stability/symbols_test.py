"""Exports are what the headers declare; a library that is too old is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stability.exported_symbols import (
    LIBRARY,
    MODULE,
    SIMULATED_DRIVERS,
    exports,
    header_of,
    needed_versions,
)


def test_the_library_exports_what_its_header_declares() -> None:
    assert exports(LIBRARY).keys() == header_of("csrc/kvswap.h").functions.keys()


def test_every_export_of_the_library_has_a_version() -> None:
    """A function of kvswap.h that kvswap.map lacks is hidden, not without a version."""
    versions = set(exports(LIBRARY).values())
    assert "KVSWAP_0.1" in versions
    assert all(version.startswith("KVSWAP_") for version in versions)


def test_the_module_exports_its_entry_alone() -> None:
    assert exports(MODULE) == {"PyInit__core": ""}


@pytest.mark.parametrize("library", SIMULATED_DRIVERS, ids=lambda path: path.name)
def test_simulated_drivers_have_the_control_functions(library: Path) -> None:
    found = {name for name in exports(library) if name.startswith("cuda_sim_")}
    assert found == header_of("csrc/sim/cuda_sim.h").functions.keys()
    others = exports(library).keys() - found
    assert others and all(name.startswith("cu") for name in others)


def test_all_simulated_drivers_are_here() -> None:
    assert len(SIMULATED_DRIVERS) == 4


def test_users_of_the_library_are_bound_to_its_version() -> None:
    needed = needed_versions(MODULE, "libkvswap.so")
    assert "KVSWAP_0.1" in needed
    assert needed <= set(exports(LIBRARY).values())


def _load(module: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", module],
        env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
        capture_output=True,
        encoding="utf-8",
    )


def test_an_older_library_is_refused_at_once(tmp_path: Path) -> None:
    """The loader names the version that it misses. The same library loads otherwise."""
    newer, older = tmp_path / "newer", tmp_path / "older"
    for folder in (newer, older):
        folder.mkdir()
        shutil.copyfile(MODULE, folder / MODULE.name)
    content = LIBRARY.read_bytes()
    assert b"\0KVSWAP_0.1\0" in content
    (newer / LIBRARY.name).write_bytes(content)
    (older / LIBRARY.name).write_bytes(
        content.replace(b"\0KVSWAP_0.1\0", b"\0KVSWAP_0.0\0")
    )

    assert _load(newer / MODULE.name, newer).returncode == 0
    refused = _load(older / MODULE.name, older)
    assert refused.returncode != 0
    assert f"{older / LIBRARY.name}: version `KVSWAP_0.1' not found" in refused.stderr
