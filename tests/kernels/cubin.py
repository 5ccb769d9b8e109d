"""Reads cubins: ELF files with sections of NVIDIA's own.

`.nv.info` and `.nv.info.KERNEL` hold attributes: a byte for the format, one for the
kind, and two that are the value or, in the format SIZED, the length of the value.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_SIZED = 4
_FRAME_SIZE = 0x11
_PARAMETER_BYTES = 0x19


@dataclass(frozen=True)
class Kernel:
    """A kernel of a cubin.

    Attributes:
        parameter_bytes: of all its parameters.
        frame_bytes: of local memory for each thread: spilled registers, arrays.
    """

    parameter_bytes: int
    frame_bytes: int


@dataclass(frozen=True)
class Cubin:
    """What an ELF file for a GPU says of itself.

    Attributes:
        machine: as pyelftools names it.
        os_abi: EI_OSABI.
        abi_version: EI_ABIVERSION.
        architecture: 90 for sm_90.
        kernels: by name.
    """

    machine: str
    os_abi: int
    abi_version: int
    architecture: int
    kernels: dict[str, Kernel]


def _attributes(data: bytes) -> list[tuple[int, bytes]]:
    attributes = []
    position = 0
    while position < len(data):
        form, kind, value = struct.unpack_from("<BBH", data, position)
        position += 4
        if form == _SIZED:
            attributes.append((kind, data[position : position + value]))
            position += value
        else:
            attributes.append((kind, struct.pack("<H", value)))
    return attributes


def _attributes_of(elf: ELFFile, name: str) -> list[tuple[int, bytes]]:
    section = elf.get_section_by_name(name)
    assert section is not None, name
    return _attributes(section.data())


def read_cubin(content: bytes) -> Cubin:
    """Reads the content of a cubin."""
    elf = ELFFile(io.BytesIO(content))
    identification = elf.header["e_ident"]
    os_abi = int(identification["EI_OSABI"])
    # Where the newer form has it.
    shift = 0 if os_abi == 0x33 else 8
    symbols = elf.get_section_by_name(".symtab")
    assert isinstance(symbols, SymbolTableSection)
    frames = {}
    for kind, value in _attributes_of(elf, ".nv.info"):
        if kind == _FRAME_SIZE:
            symbol, frame_bytes = struct.unpack("<II", value)
            frames[symbols.get_symbol(symbol).name] = frame_bytes
    kernels = {}
    for symbol in symbols.iter_symbols():
        # Functions that are not defined here are the driver's.
        is_defined = symbol["st_shndx"] != "SHN_UNDEF"
        if symbol["st_info"]["type"] != "STT_FUNC" or not is_defined:
            continue
        (parameter_bytes,) = [
            struct.unpack("<H", value)[0]
            for kind, value in _attributes_of(elf, f".nv.info.{symbol.name}")
            if kind == _PARAMETER_BYTES
        ]
        kernels[symbol.name] = Kernel(parameter_bytes, frames[symbol.name])
    return Cubin(
        machine=str(elf.header["e_machine"]),
        os_abi=os_abi,
        abi_version=int(identification["EI_ABIVERSION"]),
        architecture=elf.header["e_flags"] >> shift & 0xFF,
        kernels=kernels,
    )
