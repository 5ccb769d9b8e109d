"""Reads PTX: what a module says of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Ptx:
    """A module of PTX.

    Attributes:
        version: of the language, as "8.7".
        target: as "sm_90".
        kernels: bytes of parameters by the kernel's name.
        uses_local_memory: whether a variable is in local memory.
    """

    version: str
    target: str
    kernels: dict[str, int]
    uses_local_memory: bool


def _directive(name: str, text: str) -> str:
    (value,) = re.findall(rf"^\.{name} (\S+)$", text, re.MULTILINE)
    return str(value)


def read_ptx(content: bytes) -> Ptx:
    """Reads the content of a PTX image, which ends with a null character."""
    text = content.removesuffix(b"\0").decode("ascii")
    kernels = re.findall(
        r"\.visible \.entry (\w+)\(\s*"
        r"\.param \.align 8 \.b8 \w+\[(\d+)\]\s*\)",
        text,
    )
    assert len(kernels) == text.count(".entry"), "every kernel was understood"
    return Ptx(
        version=_directive("version", text),
        target=_directive("target", text),
        kernels={name: int(size) for name, size in kernels},
        uses_local_memory=re.search(r"^\s*\.local\b", text, re.MULTILINE) is not None,
    )
