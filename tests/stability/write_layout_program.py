"""Writes a C program that prints the layout of what csrc/kvswap.h declares.

The compiler knows sizes, offsets and values; the names come out of the header, so that
the program cannot lack one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.stability.c_header import Header, parse

# Macros whose value is no promise: the version, and defaults.
_NAME_ALONE = {
    "KVSWAP_MAX_BATCH_DEFAULT",
    "KVSWAP_VERSION_MAJOR",
    "KVSWAP_VERSION_MINOR",
    "KVSWAP_VERSION_PATCH",
}

_PROGRAM = """\
#include <stddef.h>
#include <stdio.h>

#include "csrc/kvswap.h"

#define SIZE(type) sizeof(type), _Alignof(type)
#define PLACE(type, field) offsetof(type, field), sizeof(((type*)0)->field)

int main(void) {
%s
  return 0;
}
"""


def _printf(text: str, *arguments: str) -> str:
    return "  printf(" + ", ".join([f'"{text}\\n"', *arguments]) + ");"


def _statements(header: Header) -> list[str]:
    lines = []
    for structure, fields in header.structures.items():
        lines.append(
            _printf(
                f"{structure}: struct, %zu bytes, alignment %zu", f"SIZE({structure})"
            )
        )
        lines += [
            _printf(
                f"{structure}.{field.name}: offset %zu, %zu bytes, {field.type}",
                f"PLACE({structure}, {field.name})",
            )
            for field in fields
        ]
    lines += [_printf(f"{name}: opaque struct") for name in header.opaque]
    for enumeration, names in header.enumerations.items():
        lines.append(
            _printf(f"{enumeration}: enum, %zu bytes", f"sizeof({enumeration})")
        )
        lines += [
            _printf(f"{enumeration}.{name}: %lld", f"(long long){name}")
            for name in names
        ]
    for name, value in header.macros.items():
        if name in _NAME_ALONE or value.startswith("{"):
            lines.append(_printf(f"{name}: macro"))
        else:
            lines.append(_printf(f"{name}: macro, %lld", f"(long long)({name})"))
    lines += [
        _printf(f"{name}: function, {function}")
        for name, function in header.functions.items()
    ]
    lines += [
        _printf(f"{name}: callback, {callback}")
        for name, callback in header.callbacks.items()
    ]
    return lines


def main(arguments: list[str]) -> int:
    header, output = map(Path, arguments)
    declared = parse(header.read_text(encoding="utf-8"))
    output.write_text(_PROGRAM % "\n".join(_statements(declared)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
