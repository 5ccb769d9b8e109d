"""The built wheels, for their tests."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection


@dataclass(frozen=True)
class Binary:
    """An ELF file of a wheel.

    Attributes:
        name: its path in the wheel.
        needed: libraries that it names (DT_NEEDED).
        search_path: where it looks for them (DT_RUNPATH, or DT_RPATH).
        soname: its own name (DT_SONAME), or None.
        versions: symbol versions that it needs, by library.
        content: its bytes.
    """

    name: str
    needed: tuple[str, ...]
    search_path: str | None
    soname: str | None
    versions: dict[str, set[str]]
    content: bytes


def _names(tags: list[Any], kind: str) -> list[str]:
    """The strings of the dynamic section's entries of one kind."""
    attribute = kind.removeprefix("DT_").lower()
    return [str(getattr(tag, attribute)) for tag in tags if tag.entry.d_tag == kind]


def _read_binary(name: str, content: bytes) -> Binary:
    elf = ELFFile(io.BytesIO(content))
    dynamic = elf.get_section_by_name(".dynamic")
    assert isinstance(dynamic, DynamicSection), name
    tags = list(dynamic.iter_tags())
    paths = _names(tags, "DT_RUNPATH") + _names(tags, "DT_RPATH")
    versions: dict[str, set[str]] = {}
    for section in elf.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for library, needed in section.iter_versions():
                versions[str(library.name)] = {version.name for version in needed}
    return Binary(
        name=name,
        needed=tuple(_names(tags, "DT_NEEDED")),
        search_path=paths[0] if paths else None,
        soname=next(iter(_names(tags, "DT_SONAME")), None),
        versions=versions,
        content=content,
    )


class Wheel:
    """A wheel file.

    Attributes:
        path: where it is.
        content: of each file in it, by path.
        distribution, version, python_tag, abi_tag, platform_tag: by its name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.entries = archive.infolist()
            self.content = {
                entry.filename: archive.read(entry) for entry in self.entries
            }
        (
            self.distribution,
            self.version,
            self.python_tag,
            self.abi_tag,
            self.platform_tag,
        ) = path.stem.split("-")

    @property
    def information(self) -> str:
        """Its .dist-info folder."""
        return f"{self.distribution}-{self.version}.dist-info"

    @property
    def metadata(self) -> Message:
        """Its METADATA."""
        text = self.content[f"{self.information}/METADATA"].decode()
        return Parser().parsestr(text)

    def binaries(self) -> Iterator[Binary]:
        """Every ELF file in it, by content: whatever its name is."""
        for name, content in self.content.items():
            if content.startswith(b"\x7fELF"):
                yield _read_binary(name, content)


def built_wheels() -> dict[str, Wheel]:
    """The wheels that Bazel built, by distribution: "kvswap", "kvswap_sim"."""
    wheels = [Wheel(Path(path)) for path in os.environ["WHEELS"].split()]
    return {wheel.distribution: wheel for wheel in wheels}


def is_release() -> bool:
    """Whether they were built by --config=release."""
    return os.environ["IS_RELEASE"] == "1"


def has_device_kernels() -> bool:
    """Whether they were not left out."""
    return os.environ["HAS_DEVICE_KERNELS"] == "1"


def has_torch_operators() -> bool:
    """Whether they were built with the headers of torch."""
    return os.environ["HAS_TORCH_OPERATORS"] == "1"
