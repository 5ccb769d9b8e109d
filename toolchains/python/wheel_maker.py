"""Writes a wheel from a specification in JSON; the tool behind wheel.bzl.

The same specification and files give the same bytes on every machine: entries are
sorted, times and permissions are fixed, and nothing is compressed, because compressors
of different versions write different bytes.

The formats: the binary distribution format and core metadata of the Python packaging
specifications (PEP 427, PEP 639, PEP 600; entry points).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# The first moment that a zip file can hold.
_TIME = (1980, 1, 1, 0, 0, 0)

_GENERATOR = "kvswap wheel_maker"

# A link of Markdown whose target is neither an address nor a place on the page.
_RELATIVE_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")


class WheelError(Exception):
    """The specification cannot be carried out."""


def description_text(markdown: str, home_page: str, version: str) -> str:
    """The project's page as it can stand outside of the repository.

    Relative links lead into the source repository, or become plain text where its
    address is not known.
    """
    if not home_page:
        return re.sub(r"\[([^\]]*)\]\((?![a-z]+:|#)[^)\s]+\)", r"\1", markdown)
    return _RELATIVE_LINK.sub(rf"]({home_page}/blob/v{version}/\1)", markdown)


def check_python(tag: str, headers: Sequence[Path]) -> None:
    """Checks that the module was compiled for the Python that the tag names.

    Raises:
        WheelError: it was not, or that cannot be told.
    """
    if not headers:
        return
    if len(headers) != 1:
        raise WheelError(f"{len(headers)} headers say what version Python has")
    text = headers[0].read_text(encoding="utf-8")
    numbers = [
        re.search(rf"^#define\s+PY_{part}_VERSION\s+(\d+)", text, re.MULTILINE)
        for part in ("MAJOR", "MINOR")
    ]
    found = "cp" + "".join(number[1] for number in numbers if number)
    expected = tag.partition("-")[0]
    if found != expected:
        raise WheelError(
            f"the headers are those of {found}, and the wheel is to be of {expected}: "
            "choose //toolchains/python:version so that it agrees with "
            "//toolchains/python:headers"
        )


def metadata_text(specification: Mapping[str, Any], licenses: Sequence[str]) -> str:
    """The METADATA file."""
    version = specification["version"]
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {specification['distribution']}",
        f"Version: {version}",
        *specification["metadata"],
    ]
    home_page = specification["home_page"].rstrip("/")
    if home_page:
        lines += [
            f"Project-URL: Source, {home_page}",
            f"Project-URL: Issues, {home_page}/issues",
            f"Project-URL: Changelog, {home_page}/blob/v{version}/CHANGELOG.md",
        ]
    lines += [f"License-File: {path}" for path in licenses]
    lines.append("Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM")
    markdown = Path(specification["description"]).read_text(encoding="utf-8")
    return "\n".join(lines) + "\n\n" + description_text(markdown, home_page, version)


def wheel_text(tag: str) -> str:
    """The WHEEL file."""
    return (
        "Wheel-Version: 1.0\n"
        f"Generator: {_GENERATOR}\n"
        "Root-Is-Purelib: false\n"
        f"Tag: {tag}\n"
    )


def entry_points_text(console_scripts: Mapping[str, str]) -> str:
    """The entry_points.txt file: the programs that pip makes."""
    lines = [f"{name} = {target}" for name, target in sorted(console_scripts.items())]
    return "\n".join(["[console_scripts]", *lines]) + "\n"


def _record_line(path: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"{path},sha256={digest.rstrip(b'=').decode()},{len(content)}\n"


def wheel_content(specification: Mapping[str, Any]) -> dict[str, bytes]:
    """From path to content, in the order of the archive."""
    name = specification["distribution"].replace("-", "_")
    information = f"{name}-{specification['version']}.dist-info"
    licenses = specification["license_files"]
    content = {
        path: Path(source).read_bytes()
        for path, source in sorted(specification["files"].items())
    }
    content |= {
        f"{information}/licenses/{path}": Path(source).read_bytes()
        for path, source in sorted(licenses.items())
    }
    content[f"{information}/METADATA"] = metadata_text(
        specification, sorted(licenses)
    ).encode()
    content[f"{information}/WHEEL"] = wheel_text(specification["tag"]).encode()
    if specification["console_scripts"]:
        content[f"{information}/entry_points.txt"] = entry_points_text(
            specification["console_scripts"]
        ).encode()
    record = f"{information}/RECORD"
    lines = [_record_line(path, data) for path, data in content.items()]
    content[record] = "".join([*lines, f"{record},,\n"]).encode()
    return content


def write_wheel(output: Path, content: Mapping[str, bytes]) -> None:
    """Writes the archive."""
    with zipfile.ZipFile(output, "w", zipfile.ZIP_STORED) as archive:
        for path, data in content.items():
            entry = zipfile.ZipInfo(path, _TIME)
            # As written on Unix: a regular file, libraries executable.
            entry.create_system = 3
            mode = 0o100755 if path.endswith(".so") else 0o100644
            entry.external_attr = mode << 16
            archive.writestr(entry, data)


def main(arguments: Sequence[str]) -> int:
    """Makes the wheel that the file named by the argument specifies."""
    specification = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    try:
        check_python(
            specification["tag"],
            [Path(header) for header in specification["python_headers"]],
        )
        write_wheel(Path(specification["output"]), wheel_content(specification))
    except WheelError as error:
        print(f"kvswap: {Path(specification['output']).name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
