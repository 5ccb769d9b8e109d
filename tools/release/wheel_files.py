"""Wheels: what their names and their insides say, and why one may not be released."""

from __future__ import annotations

import dataclasses
import email
import hashlib
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.tags import Tag, parse_tag
from packaging.utils import (
    InvalidWheelFilename,
    canonicalize_name,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

DISTRIBUTION = "kvswap"

# What zipfile raises about archives that are damaged, or packed in ways that it does not
# know, beside OSError.
_UNREADABLE = (
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)

# Of all wheels of a release: kvswap itself, and the simulated driver.
DISTRIBUTIONS = (DISTRIBUTION, "kvswap-sim")


class WheelError(Exception):
    """A file that is no wheel; the message names it."""


@dataclasses.dataclass(frozen=True)
class Wheel:
    """A wheel file.

    Attributes:
        path: where it is.
        distribution: its name in normal form, by the file's name.
        version: by the file's name.
        tags: by the file's name.
        problems: what its metadata say otherwise, a sentence each.
        sha256: of its content, as hexadecimal digits.
    """

    path: Path
    distribution: str
    version: Version
    tags: frozenset[Tag]
    problems: tuple[str, ...]
    sha256: str

    @property
    def platforms(self) -> set[str]:
        """Platform tags, such as "manylinux_2_28_x86_64"."""
        return {tag.platform for tag in self.tags}


def _metadata(archive: zipfile.ZipFile, path: Path, name: str) -> email.message.Message:
    found = [
        member
        for member in archive.namelist()
        if member.count("/") == 1 and member.endswith(f".dist-info/{name}")
    ]
    if len(found) != 1:
        raise WheelError(f"{path}: has {len(found)} files *.dist-info/{name}, not one")
    return email.message_from_string(archive.read(found[0]).decode("utf-8"))


def _problems(
    path: Path, distribution: str, version: Version, tags: frozenset[Tag]
) -> Iterator[str]:
    with zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
        if damaged is not None:
            raise WheelError(f"{path}: {damaged} in it is damaged")
        metadata = _metadata(archive, path, "METADATA")
        wheel = _metadata(archive, path, "WHEEL")
    name = metadata.get("Name", "")
    if canonicalize_name(name) != distribution:
        yield f"{path}: its METADATA is of {name!r}"
    own_version = metadata.get("Version", "")
    try:
        agrees = Version(own_version) == version
    except InvalidVersion:
        agrees = False
    if not agrees:
        yield f"{path}: its METADATA says version {own_version!r}"
    inner = frozenset(
        tag for text in wheel.get_all("Tag", []) for tag in parse_tag(text)
    )
    if inner != tags:
        yield f"{path}: its WHEEL has the tags {' '.join(sorted(map(str, inner)))}"


def read_wheel(path: Path) -> Wheel:
    """Reads a wheel.

    Raises:
        WheelError: it is none.
    """
    try:
        distribution, version, _, tags = parse_wheel_filename(path.name)
        problems = tuple(_problems(path, distribution, version, tags))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except InvalidWheelFilename as error:
        raise WheelError(f"{path}: its name is not a wheel's: {error}") from error
    except _UNREADABLE as error:
        raise WheelError(f"{path}: cannot be read as a wheel: {error}") from error
    except OSError as error:
        raise WheelError(f"{path}: {error.strerror or error}") from error
    return Wheel(path, distribution, version, tags, problems, digest)


def find_wheels(paths: Iterable[Path]) -> list[Path]:
    """The files that are meant: paths as they are, of a folder all its wheels.

    Raises:
        WheelError: there is nothing.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            wheels = sorted(path.glob("*.whl"))
            if not wheels:
                raise WheelError(f"{path}: there is no wheel in this folder")
            found += wheels
        else:
            found.append(path)
    if not found:
        raise WheelError("no wheel is given")
    return found


def refusals(wheels: list[Wheel], version: str) -> Iterator[str]:
    """Why these wheels do not belong together in a release of that version."""
    if DISTRIBUTION not in {wheel.distribution for wheel in wheels}:
        yield f"{wheels[0].path.parent}: no wheel is of {DISTRIBUTION}"
    by_name: dict[str, Wheel] = {}
    for wheel in wheels:
        yield from wheel.problems
        if wheel.distribution not in DISTRIBUTIONS:
            yield (
                f"{wheel.path}: is of {wheel.distribution}, not of "
                f"{' or '.join(DISTRIBUTIONS)}"
            )
        if wheel.version != Version(version):
            yield (
                f"{wheel.path}: is of version {wheel.version}, and toolchains/version.bzl "
                f"says {version}: build it anew"
            )
        other = by_name.setdefault(wheel.path.name, wheel)
        if other is not wheel:
            yield f"{wheel.path}: has the name of {other.path}: give one of them"


def platform_refusals(wheels: list[Wheel]) -> Iterator[str]:
    """Why these wheels cannot be offered to other machines."""
    for wheel in wheels:
        local = sorted(
            platform for platform in wheel.platforms if platform.startswith("linux_")
        )
        if local:
            yield (
                f"{wheel.path}: tag {', '.join(local)} promises nothing about the "
                "systems that it runs on, and package indexes refuse it: build it "
                "with --config=release"
            )
