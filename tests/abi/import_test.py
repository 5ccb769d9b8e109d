"""The library and the module import without anything of CUDA."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

import kvswap
import kvswap_sim
from tests import child_process
from tests.abi import drivers

# Functions of the driver and the runtime: cuMemcpyAsync, cudaMemcpy, cudaGetErrorName.
_CUDA_SYMBOL = re.compile(r"(__)?cu(da)?[A-Z]\w*")
_CUDA_LIBRARY = re.compile(r"lib(cuda|cudart|nvrtc|torch|c10)\b.*")


def _binaries() -> list[Path]:
    module = Path(kvswap._core.__file__)
    return [module, module.parent / "libkvswap.so"]


def _undefined_symbols(path: Path) -> list[str]:
    with path.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(section, SymbolTableSection)
        return [
            symbol.name
            for symbol in section.iter_symbols()
            if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name
        ]


def _needed_libraries(path: Path) -> list[str]:
    with path.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynamic")
        assert isinstance(section, DynamicSection)
        return [
            str(tag.needed)  # type: ignore[attr-defined]  # it is there for this kind
            for tag in section.iter_tags("DT_NEEDED")
        ]


@pytest.mark.parametrize("path", _binaries(), ids=lambda path: path.name)
def test_nothing_of_cuda_is_linked(path: Path) -> None:
    symbols = _undefined_symbols(path)
    libraries = _needed_libraries(path)
    # The tables were read: whatever a shared library is, it needs libc.
    assert "libc.so.6" in libraries
    assert any(symbol.startswith("mem") for symbol in symbols)
    assert [s for s in symbols if _CUDA_SYMBOL.fullmatch(s)] == []
    assert [n for n in libraries if _CUDA_LIBRARY.fullmatch(n)] == []


def test_the_patterns_find_what_they_look_for() -> None:
    assert _CUDA_SYMBOL.fullmatch("cuMemcpyBatchAsync")
    assert _CUDA_SYMBOL.fullmatch("cudaMemcpyBatchAsync")
    assert not _CUDA_SYMBOL.fullmatch("current")
    assert _CUDA_LIBRARY.fullmatch("libcuda.so.1")
    assert _CUDA_LIBRARY.fullmatch("libcudart.so.13")


def test_the_module_finds_the_library_beside_it() -> None:
    assert "libkvswap.so" in _needed_libraries(_binaries()[0])


def test_import_maps_no_library_of_cuda_or_torch() -> None:
    assert (
        child_process.run(
            "tests.abi.scenarios",
            "libraries_after_import",
            environment=kvswap_sim.environment("13.0"),
        )
        == []
    )


def test_import_without_a_driver() -> None:
    found = child_process.run(
        "tests.abi.scenarios",
        "describe_driver",
        environment={"KVSWAP_LIBCUDA": "/nowhere/libcuda.so.1"},
    )
    assert not found["usable"]
    assert found["driver_version"] == 0
    assert found["path"] == ""
    assert "/nowhere/libcuda.so.1" in found["message"]
    assert "KVSWAP_LIBCUDA" in found["message"]
    (tried,) = found["tried"]
    assert tried.startswith("/nowhere/libcuda.so.1 (from KVSWAP_LIBCUDA): ")


def test_a_library_that_is_no_driver() -> None:
    library = _binaries()[1]
    found = child_process.run(
        "tests.abi.scenarios",
        "describe_driver",
        environment={"KVSWAP_LIBCUDA": str(library)},
    )
    assert not found["usable"]
    assert os.path.samefile(found["path"], library)
    assert "exports no cuGetProcAddress" in found["message"]


@pytest.mark.parametrize("version", drivers.ALL)
def test_import_on_every_driver(version: str) -> None:
    found = child_process.run(
        "tests.abi.scenarios",
        "describe_driver",
        environment=kvswap_sim.environment(version),
    )
    assert found["usable"], found["message"]
    assert found["driver_version"] == drivers.number(version)
    assert found["batch_available"] == (version in drivers.WITH_BATCH)
    missing = {name for name, entry in found["entries"].items() if not entry["present"]}
    assert missing == {
        name
        for name, since in drivers.SINCE.items()
        if drivers.number(version) < drivers.number(since)
    }
    # Nothing is asked but addresses and the version; above all not cuInit.
    assert set(found["calls"]) == {"cuGetProcAddress", "cuDriverGetVersion"}


def test_the_binaries_are_those_of_this_toolkit() -> None:
    found = child_process.run(
        "tests.abi.scenarios",
        "describe_driver",
        environment=kvswap_sim.environment("12.4"),
    )
    assert found["toolkit_version"] == drivers.number(
        os.environ["KVSWAP_MATRIX_TOOLKIT"]
    )
