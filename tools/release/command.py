"""Gathers a release: wheels, their checksums, a bill of materials.

    ./bazelw run //tools/release -- WHEELS... --output dist

Refuses what must not be released. docs/releasing.md has the steps around it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import set_version
from release import bill_of_materials, source_checks, wheel_files
from release.bill_of_materials import LockedPackage, LockError
from release.wheel_files import DISTRIBUTION, Wheel, WheelError

CHECKSUMS = "SHA256SUMS"


class Refused(Exception):
    """The release is refused, for the reasons given.

    Attributes:
        reasons: a sentence each, that names the file.
    """

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("\n".join(reasons))
        self.reasons = reasons


def _source_date_epoch(environment: Mapping[str, str]) -> int | None:
    text = environment.get("SOURCE_DATE_EPOCH", "")
    if not text:
        return None
    # Eleven digits are times after the year 5000, and dates end with the year 9999.
    if not (text.isascii() and text.isdecimal() and len(text) <= 11):
        raise Refused([f"SOURCE_DATE_EPOCH={text}: is not a number of seconds"])
    return int(text)


def _compiler(root: Path, draft: bool) -> LockedPackage | None:
    path = root / bill_of_materials.COMPILER_LOCK
    # Wheels of a draft may come from any compiler.
    if draft and not path.exists():
        return None
    return bill_of_materials.read_lock(path, "ziglang")


def _checksums(folder: Path) -> str:
    """Lines that `sha256sum --check` reads."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
    )


def _write(output: Path, wheels: list[Wheel], version: str, bill: str) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    # All or nothing: the folder gets its name when it is complete.
    with tempfile.TemporaryDirectory(dir=output.parent) as temporary:
        folder = Path(temporary, output.name)
        folder.mkdir()
        for wheel in wheels:
            shutil.copyfile(wheel.path, folder / wheel.path.name)
        name = f"{DISTRIBUTION}-{version}.cdx.json"
        (folder / name).write_text(bill, encoding="utf-8")
        (folder / CHECKSUMS).write_text(_checksums(folder), encoding="utf-8")
        if output.exists():
            output.rmdir()
        folder.rename(output)


def gather(
    paths: list[Path],
    root: Path,
    output: Path,
    draft: bool,
    environment: Mapping[str, str],
) -> None:
    """Writes the release to `output`.

    Args:
        paths: wheels, or folders of them.
        root: the source tree.
        output: a folder that is empty or does not exist.
        draft: whether to let pass what is not ready for others: an unfinished
            change log, uncommitted files, wheels for this machine alone.
        environment: where SOURCE_DATE_EPOCH is.

    Raises:
        Refused: nothing was written.
    """
    try:
        version = set_version.read_version(root)
        wheels = [
            wheel_files.read_wheel(path) for path in wheel_files.find_wheels(paths)
        ]
        reasons = list(wheel_files.refusals(wheels, version))
        if not draft:
            reasons += wheel_files.platform_refusals(wheels)
            reasons += source_checks.refusals(root)
        if output.exists() and (not output.is_dir() or any(output.iterdir())):
            reasons.append(f"{output}: is there and not empty: remove it")
        if reasons:
            raise Refused(reasons)
        pybind11 = bill_of_materials.read_lock(
            root / bill_of_materials.PYBIND11_LOCK, "pybind11"
        )
        nvrtc = bill_of_materials.read_lock(
            root / bill_of_materials.NVRTC_LOCK, bill_of_materials.NVRTC
        )
        compiler = _compiler(root, draft)
    except (WheelError, LockError, set_version.VersionError) as error:
        raise Refused([str(error)]) from error
    except OSError as error:
        raise Refused([f"{error.filename}: {error.strerror}"]) from error
    bill = bill_of_materials.write(
        version, wheels, pybind11, nvrtc, compiler, _source_date_epoch(environment)
    )
    _write(output, wheels, version, bill)


def _given_path(text: str, environment: Mapping[str, str]) -> Path:
    """A path as Bazel gives it, from its runfiles, or as the user does."""
    path = Path(text)
    if not path.exists() and "BUILD_WORKING_DIRECTORY" in environment:
        path = Path(environment["BUILD_WORKING_DIRECTORY"], text)
    return path


def main(arguments: list[str], environment: Mapping[str, str]) -> int:
    parser = argparse.ArgumentParser(
        prog="release",
        description="Gathers wheels, SHA256SUMS and a bill of materials in a folder.",
    )
    parser.add_argument("wheels", nargs="*", help="wheels, or folders of wheels")
    parser.add_argument(
        "--output", required=True, help="folder to write, empty or not there yet"
    )
    parser.add_argument(
        "--source",
        type=Path,
        default=environment.get("BUILD_WORKSPACE_DIRECTORY"),
        help="the source tree; default: the one that Bazel runs in",
    )
    parser.add_argument(
        "--draft",
        action="store_true",
        help="to look at: accept an unfinished change log, uncommitted files, "
        "and wheels for this machine alone",
    )
    options = parser.parse_args(arguments)
    if options.source is None:
        parser.error("--source is needed outside of `bazel run`")
    output = Path(environment.get("BUILD_WORKING_DIRECTORY", "."), options.output)
    paths = [_given_path(text, environment) for text in options.wheels]
    try:
        gather(paths, options.source, output, options.draft, environment)
    except Refused as error:
        for reason in error.reasons:
            print(f"release: {reason}", file=sys.stderr)
        print("release: refused, nothing was written", file=sys.stderr)
        return 1
    for path in sorted(output.iterdir()):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
