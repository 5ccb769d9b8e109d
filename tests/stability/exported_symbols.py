"""What shared libraries export and need, with symbol versions."""

from __future__ import annotations

from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import (
    GNUVerDefSection,
    GNUVerNeedSection,
    GNUVerSymSection,
)
from elftools.elf.sections import SymbolTableSection

import set_version
from tests.stability.c_header import Header, parse
from tests.stability.committed_list import Entries
from tests.stability.packages import folder_of

LIBRARY = folder_of("kvswap") / "libkvswap.so"
MODULE = LIBRARY.with_name("_core.so")
SIMULATED_DRIVERS = sorted(folder_of("kvswap_sim").glob("libcuda_sim*.so"))

# Set in a symbol's version where the symbol is not the default one of its name.
_HIDDEN = 0x8000


def exports(path: Path) -> dict[str, str]:
    """The functions and variables that a library exports, and the version of each.

    Without versions the description is empty.
    """
    with path.open("rb") as file:
        elf = ELFFile(file)
        symbols = elf.get_section_by_name(".dynsym")
        assert isinstance(symbols, SymbolTableSection)
        names = {}
        definitions = elf.get_section_by_name(".gnu.version_d")
        if isinstance(definitions, GNUVerDefSection):
            for definition, auxiliaries in definitions.iter_versions():
                names[definition["vd_ndx"]] = next(iter(auxiliaries)).name
        versions = elf.get_section_by_name(".gnu.version")
        found = {}
        for position, symbol in enumerate(symbols.iter_symbols()):
            # Linkers differ in whether they add a symbol for a version itself.
            if symbol["st_shndx"] in ("SHN_UNDEF", "SHN_ABS"):
                continue
            if symbol["st_info"]["bind"] == "STB_LOCAL":
                continue
            index = 0
            if isinstance(versions, GNUVerSymSection):
                text = versions.get_symbol(position)["ndx"]
                index = text & ~_HIDDEN if isinstance(text, int) else 0
            found[symbol.name] = names.get(index, "")
        return found


def needed_versions(path: Path, library: str) -> set[str]:
    """The symbol versions of a library that another one was linked with."""
    with path.open("rb") as file:
        needs = ELFFile(file).get_section_by_name(".gnu.version_r")
        assert isinstance(needs, GNUVerNeedSection)
        return {
            auxiliary.name
            for need, auxiliaries in needs.iter_versions()
            if need.name == library
            for auxiliary in auxiliaries
        }


def header_of(path: str) -> Header:
    """What a header of the repository declares."""
    return parse(Path(path).read_text(encoding="utf-8"))


def collect_library() -> Entries:
    """The exports of libkvswap.so."""
    return exports(LIBRARY)


def rule(before: Entries, now: Entries) -> dict[str, str]:
    """New functions have the symbol version of the release that is being made."""
    major, minor, _ = set_version.read_version(Path.cwd()).split(".")
    version = f"KVSWAP_{major}.{minor}"
    return {
        name: f"the version of what comes now is {version}"
        for name in now.keys() - before.keys()
        if now[name] != version
    }


def collect_simulated_driver() -> Entries:
    """The control functions of the simulated driver."""
    header = header_of("csrc/sim/cuda_sim.h")
    return {
        **{name: f"function, {text}" for name, text in header.functions.items()},
        **{name: f"macro, {value}" for name, value in header.macros.items()},
    }
