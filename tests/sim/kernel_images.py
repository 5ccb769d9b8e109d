"""Images for tests: as small as a driver's checks allow, without any code.

The simulated driver runs host code by the kernels' names, so that an image has to name
kernels and say what they need, as NVRTC's do.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Sequence

# The two generations of cubins, by the ELF header's OS ABI and its version.
OLDER = (0x33, 7)
NEWER = (0x41, 8)

_MACHINE_CUDA = 190
_PROGBITS, _SYMTAB, _STRTAB, _NOBITS, _NV_INFO = 1, 2, 3, 8, 0x70000000
_RESERVED_SHARED = 1024


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What an image says of a kernel."""

    name: str
    parameter_bytes: int = 0
    max_threads: int = 1024
    shared_bytes: int = 0


def cubin(
    kernels: Sequence[Kernel],
    capability: int = 90,
    *,
    toolkit: str = "12.8",
    abi: tuple[int, int] | None = None,
    machine: int = _MACHINE_CUDA,
) -> bytes:
    """A cubin as NVRTC of a toolkit makes it."""
    major, minor = (int(part) for part in toolkit.split("."))
    if abi is None:
        abi = NEWER if major >= 13 or capability >= 100 else OLDER
    flags = capability << 8 if abi == NEWER else capability << 16 | capability
    names = _Strings()
    symbol_names = _Strings()
    sections: list[tuple[str, int, bytes, int, int]] = []
    symbols = bytes(24)
    for kernel in kernels:
        text_index = len(sections) + 1
        sections.append((f".text.{kernel.name}", _PROGBITS, bytes(16), 0, 16))
        sections.append(
            (f".nv.info.{kernel.name}", _NV_INFO, _info(kernel, major, minor), 0, 0)
        )
        reserved = _RESERVED_SHARED if capability >= 90 else 0
        sections.append(
            (
                f".nv.shared.{kernel.name}",
                _NOBITS,
                b"",
                0,
                kernel.shared_bytes + reserved,
            )
        )
        # A global function, and an entry.
        symbols += struct.pack(
            "<IBBHQQ", symbol_names.add(kernel.name), 0x12, 0x10, text_index, 0, 16
        )
    # A global function that is no kernel.
    sections.append((".text.helper", _PROGBITS, bytes(16), 0, 16))
    symbols += struct.pack(
        "<IBBHQQ", symbol_names.add("helper"), 0x12, 0, len(sections), 0, 16
    )
    symbol_table = len(sections) + 1
    sections.append((".symtab", _SYMTAB, symbols, symbol_table + 1, 0))
    sections.append((".strtab", _STRTAB, symbol_names.content, 0, 0))
    name_offsets = [names.add(name) for name, *_ in sections]
    own_name = names.add(".shstrtab")
    content = b""
    headers = bytes(64)
    for offset, (_, kind, data, link, memory_size) in zip(
        name_offsets, sections, strict=True
    ):
        size = memory_size if kind == _NOBITS else len(data)
        headers += _section(offset, kind, 64 + len(content), size, link)
        content += data
    headers += _section(own_name, _STRTAB, 64 + len(content), len(names.content), 0)
    content += names.content
    count = len(sections) + 2
    header = struct.pack(
        "<4sBBBBB7xHHIQQQIHHHHHH",
        b"\x7fELF", 2, 1, 1, *abi,
        2, machine, 1, 0, 0, 64 + len(content), flags, 64, 0, 0, 64, count, count - 1,
    )  # fmt: skip
    return header + content + headers


def ptx(
    kernels: Sequence[Kernel], target: str = "sm_90", *, version: str = "8.4"
) -> bytes:
    """PTX, with the null character that ends it."""
    lines = [
        "// a comment with .version 1.0 and .entry no_kernel(",
        f".version {version}",
        f".target {target}",
        ".address_size 64",
        "/* .entry no_kernel_either( */",
        ".extern .shared .align 128 .b8 ring[];",
    ]
    for kernel in kernels:
        parameter = (
            f"\t.param .align 8 .b8 {kernel.name}_param_0[{kernel.parameter_bytes}]"
        )
        lines += [
            f".visible .entry {kernel.name}(",
            parameter if kernel.parameter_bytes else "",
            ")",
            f".maxntid {kernel.max_threads}, 1, 1",
            "{",
        ]
        if kernel.shared_bytes:
            lines.append(f"\t.shared .align 8 .b8 barriers[{kernel.shared_bytes}];")
        # Of no kernel in particular.
        lines += ["\tret;", "}", ".extern .shared .b32 flag;"]
    return "\n".join(lines).encode() + b"\0"


class _Strings:
    def __init__(self) -> None:
        self.content = b"\0"

    def add(self, text: str) -> int:
        offset = len(self.content)
        self.content += text.encode() + b"\0"
        return offset


def _info(kernel: Kernel, major: int, minor: int) -> bytes:
    toolkit = struct.pack("<BBHI", 4, 0x37, 4, major * 10 + minor)
    threads = struct.pack("<BBHIII", 4, 0x05, 12, kernel.max_threads, 1, 1)
    parameters = struct.pack("<BBH", 3, 0x19, kernel.parameter_bytes)
    return toolkit + threads + parameters


def _section(name: int, kind: int, offset: int, size: int, link: int) -> bytes:
    return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size, link, 0, 1, 0)
