"""The binaries of all toolkits are interchangeable: same imports, same exports.

Follows from the ABI being kvswap's own; a toolkit's header that crept in would show.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

# "none", "12.4", …: the folder of that toolkit's binaries.
_FOLDERS = dict(
    folder.split("=") for folder in os.environ["BINARIES_BY_TOOLKIT"].split()
)
_BINARIES = ["libkvswap.so", "_core.so"]
# Where torch's headers were there to build it.
if Path(_FOLDERS["none"], "libkvswap_torch.so").exists():
    _BINARIES.append("libkvswap_torch.so")


def _interface(path: Path) -> dict[str, set[str]]:
    with path.open("rb") as file:
        elf = ELFFile(file)
        symbols = elf.get_section_by_name(".dynsym")
        dynamic = elf.get_section_by_name(".dynamic")
        assert isinstance(symbols, SymbolTableSection)
        assert isinstance(dynamic, DynamicSection)
        imports: set[str] = set()
        exports: set[str] = set()
        for symbol in symbols.iter_symbols():
            # Of a symbol version itself: some linkers add one.
            if symbol["st_shndx"] == "SHN_ABS":
                continue
            # Of the file itself, as that of a section with thread-local variables.
            if symbol["st_info"]["bind"] == "STB_LOCAL":
                continue
            is_import = symbol["st_shndx"] == "SHN_UNDEF"
            (imports if is_import else exports).add(symbol.name)
        needed = {
            str(tag.needed)  # type: ignore[attr-defined]  # it is there for this kind
            for tag in dynamic.iter_tags("DT_NEEDED")
        }
    return {"imports": imports, "exports": exports, "needed": needed}


def test_every_toolkit_is_here() -> None:
    assert len(_FOLDERS) >= 4
    assert "none" in _FOLDERS


@pytest.mark.parametrize("binary", _BINARIES)
@pytest.mark.parametrize("toolkit", _FOLDERS)
def test_the_same_imports_and_exports(toolkit: str, binary: str) -> None:
    reference = _interface(Path(_FOLDERS["none"], binary))
    assert reference["imports"] and reference["needed"]
    # torch's operators are registered, not exported.
    assert reference["exports"] or binary == "libkvswap_torch.so"
    assert _interface(Path(_FOLDERS[toolkit], binary)) == reference


def test_only_the_c_abi_and_the_module_are_exported() -> None:
    folder = Path(_FOLDERS["none"])
    exports = _interface(folder / "libkvswap.so")["exports"]
    assert "kvswap_swap_blocks_batch" in exports
    assert {name for name in exports if not name.startswith("kvswap_")} == set()
    assert "PyInit__core" in _interface(folder / "_core.so")["exports"]
