"""Sets the version of kvswap: python3 tools/set_version.py 0.2.0

The version stands in toolchains/version.bzl; files that cannot load it repeat it. This
changes all of them, and opens the section of CHANGELOG.md for the new version.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from pathlib import Path

SOURCE = Path("toolchains/version.bzl")

_VERSION = r"[0-9]+\.[0-9]+\.[0-9]+"


@dataclasses.dataclass(frozen=True)
class Place:
    """Where files say the version.

    Attributes:
        files: of the repository, a pattern of pathlib's `glob`.
        pattern: regular expression; its group is what is replaced.
        part: 0, 1, 2 for major, minor, patch where it is one number; None: all.
        required: whether each such file must have it once.
    """

    files: str
    pattern: str
    part: int | None = None
    required: bool = True

    def text(self, version: str) -> str:
        """What stands in this place."""
        return version if self.part is None else version.split(".")[self.part]


_DEPENDENCY = rf'bazel_dep\(name = "kvswap", version = "({_VERSION})"'

PLACES = (
    Place(str(SOURCE), rf'^VERSION = "({_VERSION})"$'),
    Place("MODULE.bazel", rf'name = "kvswap",\n    version = "({_VERSION})"'),
    Place("csrc/kvswap.h", r"^#define KVSWAP_VERSION_MAJOR ([0-9]+)$", 0),
    Place("csrc/kvswap.h", r"^#define KVSWAP_VERSION_MINOR ([0-9]+)$", 1),
    Place("csrc/kvswap.h", r"^#define KVSWAP_VERSION_PATCH ([0-9]+)$", 2),
    Place("README.md", _DEPENDENCY),
    Place("docs/bazel.md", _DEPENDENCY),
    Place("docs/**/*.md", _DEPENDENCY, required=False),
    Place("tests/consumers/**/MODULE.bazel", _DEPENDENCY, required=False),
)

CHANGELOG = Path("CHANGELOG.md")
UNRELEASED = "unreleased"
_HEADING = re.compile(rf"^## ({_VERSION}) \(([^()]*)\)$", re.MULTILINE)


class VersionError(Exception):
    """The version cannot be read or set; the message says where."""


def read_version(root: Path) -> str:
    """The version, out of its source."""
    path = root / SOURCE
    match = re.search(PLACES[0].pattern, path.read_text(encoding="utf-8"), re.M)
    if match is None:
        raise VersionError(f'{path}: there is no line `VERSION = "X.Y.Z"`')
    return match[1]


def changelog_heading(root: Path) -> tuple[str, str]:
    """Version and state of the topmost section of CHANGELOG.md."""
    match = _HEADING.search((root / CHANGELOG).read_text(encoding="utf-8"))
    if match is None:
        raise VersionError(
            f"{root / CHANGELOG}: there is no heading `## X.Y.Z ({UNRELEASED})` or "
            "`## X.Y.Z (date)`"
        )
    return match[1], match[2]


def _files(root: Path, place: Place) -> list[Path]:
    files = sorted(path for path in root.glob(place.files) if path.is_file())
    if place.required and not files:
        raise VersionError(f"{root / place.files}: the file is missing")
    return files


def _found(path: Path, place: Place, text: str) -> list[re.Match[str]]:
    matches = list(re.finditer(place.pattern, text, re.MULTILINE))
    if place.required and len(matches) != 1:
        raise VersionError(
            f"{path}: the version is to be found once by {place.pattern!r}, "
            f"and is found {len(matches)} times"
        )
    return matches


def disagreements(root: Path) -> list[str]:
    """Each place that says another version than the source, a sentence each."""
    version = read_version(root)
    found = []
    for place in PLACES:
        for path in _files(root, place):
            for match in _found(path, place, path.read_text(encoding="utf-8")):
                if match[1] != place.text(version):
                    found.append(
                        f"{path}: says {match[1]} where {place.text(version)} "
                        f"is expected (`{match[0].strip()}`)"
                    )
    heading, state = changelog_heading(root)
    if heading != version:
        found.append(
            f"{root / CHANGELOG}: the topmost section is of {heading} ({state})"
        )
    # Two patterns can name one file.
    return list(dict.fromkeys(found))


def _set_changelog(root: Path, version: str) -> None:
    path = root / CHANGELOG
    heading, state = changelog_heading(root)
    if heading == version:
        return
    text = path.read_text(encoding="utf-8")
    new = f"## {version} ({UNRELEASED})"
    old = f"## {heading} ({state})"
    # A section that was not released is this version's; one that was stays.
    text = text.replace(old, new if state == UNRELEASED else f"{new}\n\n{old}", 1)
    path.write_text(text, encoding="utf-8")


def set_version(root: Path, version: str) -> list[Path]:
    """Changes all places; returns the files that say the version."""
    if re.fullmatch(_VERSION, version) is None:
        raise VersionError(f"{version!r} is no version: X.Y.Z is expected")
    changed: dict[Path, str] = {}
    # All places are read before the first file is written.
    changelog_heading(root)
    for place in PLACES:
        for path in _files(root, place):
            text = changed.get(path) or path.read_text(encoding="utf-8")
            for match in reversed(_found(path, place, text)):
                start, end = match.span(1)
                text = text[:start] + place.text(version) + text[end:]
                changed[path] = text
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
    _set_changelog(root, version)
    return [*changed, root / CHANGELOG]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="set_version.py", description="Sets the version of kvswap."
    )
    parser.add_argument("version", help="X.Y.Z")
    parser.add_argument(
        "--root",
        type=Path,
        default=Path(__file__).resolve().parent.parent,
        help="the repository; default: the one that this program is in",
    )
    options = parser.parse_args(arguments)
    try:
        for path in set_version(options.root, options.version):
            print(path)
    except VersionError as error:
        print(f"set_version.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
