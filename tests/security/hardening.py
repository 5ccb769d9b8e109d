"""What a shared library must have against the exploitation of mistakes."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from elftools.elf.constants import P_FLAGS
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_DF_TEXTREL = 4
_DF_BIND_NOW = 8
_DF_1_NOW = 1

# What each library exports: nothing else of it is meant for others.
_EXPORTS = {
    # It has no list of its own exports for the linker, which adds three.
    r"libhardening_probe\.so": r"kvswap_probe|__bss_start|_edata|_end",
    r"libkvswap\.so": r"kvswap_\w+",
    r"libkvswap_torch\.so": r"(?!)",
    r"_core(\.[\w-]+)?\.so": r"PyInit__core",
    r"libcuda_sim(_before_\d+_\d+)?\.so": r"cu\w+",
    r"libkvswap_sim_kernels\.so": r"cuda_sim_find_kernel",
}


def _number(tags: list[Any], kind: str) -> int:
    return sum(tag.entry.d_val for tag in tags if tag.entry.d_tag == kind)


def _dynamic(elf: ELFFile) -> list[str]:
    section = elf.get_section_by_name(".dynamic")
    if not isinstance(section, DynamicSection):
        return ["it has no dynamic section: it is no shared library"]
    tags = list(section.iter_tags())
    kinds = {tag.entry.d_tag for tag in tags}
    flags = _number(tags, "DT_FLAGS")
    found = []
    if not (
        flags & _DF_BIND_NOW
        or "DT_BIND_NOW" in kinds
        or _number(tags, "DT_FLAGS_1") & _DF_1_NOW
    ):
        found.append("functions are bound late, so the table of them stays writable")
    if flags & _DF_TEXTREL or "DT_TEXTREL" in kinds:
        found.append("the loader writes to its code (TEXTREL)")
    if "DT_RPATH" in kinds:
        found.append("it has an RPATH, which comes before the user's own search path")
    for tag in tags:
        if tag.entry.d_tag != "DT_RUNPATH":
            continue
        path = str(getattr(tag, "runpath"))  # noqa: B009 - not declared by pyelftools
        if not all(re.fullmatch(r"\$ORIGIN(/.*)?", each) for each in path.split(":")):
            found.append(f"RUNPATH leads elsewhere than beside it: {path}")
    return found


def _segments(elf: ELFFile) -> list[str]:
    segments = list(elf.iter_segments())
    kinds = {segment["p_type"] for segment in segments}
    found = []
    if "PT_GNU_RELRO" not in kinds:
        found.append("what the loader has written stays writable (no RELRO)")
    if "PT_GNU_STACK" not in kinds:
        found.append("its stack is executable by default (no PT_GNU_STACK)")
    for segment in segments:
        executable = segment["p_flags"] & P_FLAGS.PF_X
        if segment["p_type"] == "PT_GNU_STACK" and executable:
            found.append("its stack is executable")
        writable = segment["p_flags"] & P_FLAGS.PF_W
        if segment["p_type"] == "PT_LOAD" and executable and writable:
            found.append("a segment is writable and executable")
    return found


def _symbols(elf: ELFFile, name: str, fortified: bool) -> list[str]:
    section = elf.get_section_by_name(".dynsym")
    assert isinstance(section, SymbolTableSection), name
    needed, exported = set(), set()
    for symbol in section.iter_symbols():
        if symbol["st_info"]["bind"] == "STB_LOCAL" or not symbol.name:
            continue
        if symbol["st_shndx"] == "SHN_UNDEF":
            needed.add(symbol.name)
        # A linker may add a symbol for a version itself.
        elif symbol["st_shndx"] != "SHN_ABS":
            exported.add(symbol.name)
    found = []
    if "__stack_chk_fail" not in needed:
        found.append("no function checks its stack (-fstack-protector-strong)")
    if fortified and "__memcpy_chk" not in needed:
        found.append("it calls no checked function (_FORTIFY_SOURCE)")
    meant = [
        meant for library, meant in _EXPORTS.items() if re.fullmatch(library, name)
    ]
    if not meant:
        return [*found, f"no list says what {name} exports: add it to hardening.py"]
    return found + [
        f"it exports {exported_name}, which nobody is meant to call"
        for exported_name in sorted(exported)
        if not re.fullmatch(meant[0], exported_name)
    ]


def findings(name: str, content: bytes, fortified: bool) -> list[str]:
    """What a library lacks, in words; empty: nothing.

    Args:
        name: its file name.
        content: the ELF file.
        fortified: whether it copies memory of a size that no compiler can know, and
            must have that checked. The libraries themselves do so nowhere.
    """
    elf = ELFFile(io.BytesIO(content))
    checks: list[Callable[[ELFFile], list[str]]] = [_dynamic, _segments]
    return [finding for check in checks for finding in check(elf)] + _symbols(
        elf, name, fortified
    )
