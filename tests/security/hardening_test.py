"""The libraries are hardened, and the check that says so finds each mistake."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from tests.security.hardening import findings

_LIBRARIES = {str(path): path for path in map(Path, os.environ["LIBRARIES"].split())}
# As `-c opt` makes them, whatever the mode of this build.
_OPTIMISED, _PROBE = (
    Path(os.environ[name]) for name in ("OPTIMISED_LIBRARY", "OPTIMISED_PROBE")
)


@pytest.mark.parametrize("library", _LIBRARIES.values(), ids=_LIBRARIES)
def test_libraries_are_hardened(library: Path) -> None:
    assert findings(library.name, library.read_bytes(), fortified=False) == []


def test_the_optimised_library_is_hardened() -> None:
    assert findings(_OPTIMISED.name, _OPTIMISED.read_bytes(), fortified=False) == []


def test_optimised_code_is_fortified() -> None:
    assert findings(_PROBE.name, _PROBE.read_bytes(), fortified=True) == []


# ---------------------------------------------------------------------------
# The check finds what it is for: mistakes put into the good library
# ---------------------------------------------------------------------------

Mutation = Callable[[bytearray], None]


def _elf(content: bytearray) -> ELFFile:
    return ELFFile(io.BytesIO(bytes(content)))


def _segment(kind: str) -> Callable[[ELFFile], int]:
    """Finds the offset of the program header of a kind."""

    def find(elf: ELFFile) -> int:
        (number,) = (
            number
            for number, segment in enumerate(elf.iter_segments())
            if segment["p_type"] == kind
        )
        return int(elf["e_phoff"] + number * elf["e_phentsize"])

    return find


def _without_segment(kind: str) -> Mutation:
    def mutate(content: bytearray) -> None:
        offset = _segment(kind)(_elf(content))
        content[offset : offset + 4] = bytes(4)  # PT_NULL

    return mutate


def _executable_stack(content: bytearray) -> None:
    content[_segment("PT_GNU_STACK")(_elf(content)) + 4] |= 1


def _writable_code(content: bytearray) -> None:
    elf = _elf(content)
    for number, segment in enumerate(elf.iter_segments()):
        if segment["p_type"] == "PT_LOAD" and segment["p_flags"] & 1:
            content[elf["e_phoff"] + number * elf["e_phentsize"] + 4] |= 2


def _tag(kind: str, change: Callable[[int, int], tuple[int, int]]) -> Mutation:
    """Changes the number and the value of the dynamic section's entries of a kind."""

    def mutate(content: bytearray) -> None:
        section: Any = _elf(content).get_section_by_name(".dynamic")
        changed = 0
        for number, tag in enumerate(section.iter_tags()):
            if tag.entry.d_tag != kind:
                continue
            offset = section["sh_offset"] + number * 16
            raw = int.from_bytes(content[offset : offset + 8], "little")
            new_tag, new_value = change(raw, tag.entry.d_val)
            content[offset : offset + 16] = new_tag.to_bytes(
                8, "little"
            ) + new_value.to_bytes(8, "little")
            changed += 1
        assert changed, kind

    return mutate


def _bound_late(content: bytearray) -> None:
    _tag("DT_FLAGS", lambda tag, value: (tag, value & ~8))(content)
    _tag("DT_FLAGS_1", lambda tag, value: (tag, value & ~1))(content)


def _search_path(tag: int, folder: bytes) -> Mutation:
    """Turns the library's own name into a search path."""

    def mutate(content: bytearray) -> None:
        _tag("DT_SONAME", lambda _, value: (tag, value))(content)
        _rename(b"libkvswap.so", folder.ljust(12, b"\0"))(content)

    return mutate


def _rename(name: bytes, other: bytes) -> Mutation:
    assert len(name) == len(other)

    def mutate(content: bytearray) -> None:
        section: Any = _elf(content).get_section_by_name(".dynstr")
        begin, size = section["sh_offset"], section["sh_size"]
        text = bytes(content[begin : begin + size])
        assert name in text
        content[begin : begin + size] = text.replace(name, other)

    return mutate


_RUNPATH, _RPATH = 29, 15

MUTATIONS = {
    "(no RELRO)": _without_segment("PT_GNU_RELRO"),
    "(no PT_GNU_STACK)": _without_segment("PT_GNU_STACK"),
    "its stack is executable": _executable_stack,
    "a segment is writable and executable": _writable_code,
    "bound late": _bound_late,
    "(TEXTREL)": _tag("DT_FLAGS", lambda tag, value: (tag, value | 4)),
    "RPATH, which comes before": _search_path(_RPATH, b"$ORIGIN"),
    "elsewhere than beside it: /tmp": _search_path(_RUNPATH, b"/tmp"),
    "elsewhere than beside it: $ORIGIN:": _search_path(_RUNPATH, b"$ORIGIN:"),
    "no function checks its stack": _rename(b"__stack_chk_fail", b"__stack_chk_none"),
    "it exports swapkv_": _rename(b"kvswap_", b"swapkv_"),
}


@pytest.mark.parametrize("finding", MUTATIONS)
def test_mistakes_are_found(finding: str) -> None:
    content = bytearray(_OPTIMISED.read_bytes())
    MUTATIONS[finding](content)
    found = findings("libkvswap.so", bytes(content), fortified=False)
    assert any(finding in each for each in found), found


def test_missing_fortification_is_found() -> None:
    content = bytearray(_PROBE.read_bytes())
    _rename(b"__memcpy_chk", b"__memcpy_chq")(content)
    found = findings(_PROBE.name, bytes(content), fortified=True)
    assert any("it calls no checked function" in each for each in found), found


def test_every_library_is_known() -> None:
    found = findings("libother.so", _OPTIMISED.read_bytes(), fortified=False)
    assert any("no list says what libother.so exports" in each for each in found)
