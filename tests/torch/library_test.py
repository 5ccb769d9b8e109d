"""The library file, and how kvswap.torch_ops loads it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import torch
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

import kvswap.torch_ops
import kvswap_sim
from tests import child_process

LIBRARY = Path(kvswap.torch_ops.library_path())


def run(function: str, *arguments: Any) -> Any:
    return child_process.run(
        "tests.torch.child_bodies",
        function,
        *arguments,
        environment=kvswap_sim.environment("13.0"),
    )


def _dynamic(kind: str) -> list[str]:
    with LIBRARY.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynamic")
        assert isinstance(section, DynamicSection)
        attribute = kind.removeprefix("DT_").lower()
        return [str(getattr(tag, attribute)) for tag in section.iter_tags(kind)]


def test_needs_torch_without_cuda_and_the_one_libkvswap() -> None:
    needed = _dynamic("DT_NEEDED")
    assert {"libtorch_cpu.so", "libkvswap.so"} <= set(needed)
    others = set(needed) - {
        "libtorch_cpu.so",
        "libkvswap.so",
        "libc.so.6",
        "libdl.so.2",
        "libgcc_s.so.1",
        "libm.so.6",
        "libpthread.so.0",
        "libstdc++.so.6",
        "ld-linux-aarch64.so.1",
        "ld-linux-x86-64.so.2",
    }
    assert others == set()


def test_exports_nothing() -> None:
    with LIBRARY.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(symbols, SymbolTableSection)
        exported = {
            symbol.name
            for symbol in symbols.iter_symbols()
            if symbol["st_shndx"] not in ("SHN_UNDEF", "SHN_ABS")
            and symbol["st_info"]["bind"] != "STB_LOCAL"
        }
    assert exported == set()


def test_finds_libkvswap_beside_it() -> None:
    (paths,) = _dynamic("DT_RUNPATH")
    assert paths.split(":")[-1] == "$ORIGIN"
    assert all(path.startswith("$ORIGIN") for path in paths.split(":"))
    assert LIBRARY.with_name("libkvswap.so").exists()


def test_the_library_loaded_is_the_modules_own() -> None:
    """A second copy in the process would be a second driver table."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = {line.split()[-1] for line in lines if "libkvswap.so" in line}
    assert len(paths) == 1
    assert not [line for line in lines if "bindings/torch/libtorch_cpu.so" in line]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="torch-abi-audit needs 3.11")
def test_stable_abi_of_torch_2_10() -> None:
    program = Path(sysconfig.get_path("scripts"), "torch-abi-audit")
    outcome = subprocess.run(
        [sys.executable, program, "--check", "torch", LIBRARY],
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert "Torch ABI:   STABLE" in outcome.stdout, outcome.stdout
    assert "Min torch:   2.10.0" in outcome.stdout, outcome.stdout


def test_loaded_by_its_own_import_alone() -> None:
    outcome = run("import_of_kvswap")
    assert outcome["before"] is False
    assert outcome["after"] is True
    assert outcome["loaded"] == [str(LIBRARY.resolve())]


def test_a_second_import_finds_the_operators() -> None:
    """As after a program in C++ has loaded the library by torch.ops.load_library."""
    assert str(LIBRARY.resolve()) in torch.ops.loaded_libraries
    kvswap.torch_ops._load()


def test_operators_of_another_library() -> None:
    message = run("registered_already")
    assert "kvswap::swap_blocks_batch already" in message


def test_old_torch() -> None:
    message = run("old_torch", "2.9.1+cu128")
    assert message.startswith(
        "kvswap.torch_ops needs torch 2.10 or newer; this is 2.9.1+cu128"
    )


def test_missing_library(tmp_path: Path) -> None:
    message = run("missing_library", str(tmp_path))
    assert f"there is no {tmp_path / 'libkvswap_torch.so'}" in message
    assert "//py/kvswap:torch_ops" in message
