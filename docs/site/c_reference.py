"""The reference of the C header, by hawkmoth."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from header_comments import with_documentation_comments

# Declarations alone: what the header takes from the C library stands beside it, so that
# libclang needs no compiler.
_C_LIBRARY = {
    "stddef.h": "typedef unsigned long size_t;\n#define NULL ((void*)0)\n",
    "stdint.h": "".join(
        f"typedef {sign} {base} {prefix}int{bits}_t;\n"
        for bits, base in {8: "char", 16: "short", 32: "int", 64: "long"}.items()
        for sign, prefix in {"signed": "", "unsigned": "u"}.items()
    )
    + "typedef unsigned long uintptr_t;\n",
}

_folder = tempfile.TemporaryDirectory(prefix="kvswap-header-")

CLANG_ARGUMENTS = ["-nostdinc", f"-I{_folder.name}", "-std=c11"]

_NAME = re.compile(r"\b(?:kvswap|KVSWAP)_\w+(?:\.\w+)?")
_known: dict[str, str] = {}


def prepare(header: Path) -> Path:
    """Writes the header as hawkmoth reads it, and returns the folder."""
    text = header.read_text(encoding="utf-8")
    folder = Path(_folder.name)
    (folder / header.name).write_text(
        with_documentation_comments(text), encoding="utf-8"
    )
    for name, content in _C_LIBRARY.items():
        (folder / name).write_text(content, encoding="utf-8")
    _known.update(_roles(text))
    return folder


def _roles(header: str) -> dict[str, str]:
    """What the header declares, with the role that links to it."""
    roles = {name: "macro" for name in re.findall(r"#define (KVSWAP_\w+)", header)}
    roles |= {name: "enumerator" for name in re.findall(r" (KVSWAP_\w+) =", header)}
    roles |= {name: "func" for name in re.findall(r"\b(kvswap_\w+)\(", header)}
    roles |= {name: "struct" for name in re.findall(r"struct (kvswap_\w+)", header)}
    roles |= {name: "enum" for name in re.findall(r"enum (kvswap_\w+)", header)}
    for name in ("KVSWAP_H_", "KVSWAP_API"):
        roles.pop(name, None)
    return roles


def _linked(match: re.Match[str]) -> str:
    name, _, member = match[0].partition(".")
    role = _known.get(name)
    if role is None:
        return f"``{match[0]}``"
    if role == "struct" and member:
        return f":c:member:`{name}.{member}`"
    return f":c:{role}:`{name}`" + (f".{member}" if member else "")


def _line(text: str) -> str:
    # Every other piece is between backticks.
    pieces = re.sub(r"`+([^`]+)`+", r"``\1``", text).split("``")
    for number, piece in enumerate(pieces):
        if number % 2:
            pieces[number] = f"``{piece}``"
            continue
        piece = re.sub(r"([*|])", r"\\\1", piece)
        # KVSWAP_..._SLOTS: not a link named KVSWAP.
        piece = re.sub(r"_(?=\.\.\.)|(?<=\.)_", r"\\_", piece)
        pieces[number] = _NAME.sub(_linked, piece)
    return "".join(pieces)


def _to_rst(_app: Any, lines: list[str], _transform: Any, _options: Any) -> None:
    """Plain English as reStructuredText: links, and no accidental markup."""
    result: list[str] = []
    in_list = False
    for line in lines:
        in_list = line.lstrip().startswith("- ") or (
            in_list and line.startswith(" ") and bool(line.strip())
        )
        previous = result[-1] if result else ""
        indented = line.startswith("  ") and bool(line.strip())
        if indented and not in_list and previous.strip():
            # A formula.
            result += ["", "::", "", "   " + line.strip(), ""]
        elif set(line) == {"-"}:
            result.append(line)
        else:
            result.append(_line(line))
    lines[:] = result


def connect(app: Any) -> None:
    """Prepares comments as they are read."""
    app.connect("hawkmoth-process-docstring", _to_rst)
