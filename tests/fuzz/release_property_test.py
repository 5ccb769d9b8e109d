"""Whatever the files hold that tools read, they are understood or refused by name.

Wheels and lock files of a release, SOURCE_DATE_EPOCH, and the machine's apt sources.
"""

from __future__ import annotations

import io
import pathlib
import zipfile

import hypothesis
import pytest
from hypothesis import strategies as st

import debian_bazel_apt
from release import bill_of_materials, command, wheel_files
from tests.properties.bounds import bounded, counted

_NAME = "kvswap-0.1.0-py3-none-any.whl"
_INFORMATION = "kvswap-0.1.0.dist-info"
_METADATA = "Metadata-Version: 2.4\nName: kvswap\nVersion: 0.1.0\n"
_TAGS = "Wheel-Version: 1.0\nTag: py3-none-any\n"
_LOCK = f"# a comment\npybind11==3.1.0 \\\n    --hash=sha256:{'ab' * 32}\n"
_SOURCES = (
    "deb [signed-by=/a.gpg,/b.gpg arch=amd64] https://a.invalid/debian bookworm main # x\n",
    "Types: deb\nURIs: https://a.invalid/debian\nSuites: bookworm\nComponents: main\n"
    "Signed-By:\n -----BEGIN\n .\n",
)


@st.composite
def _damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """Content of which bytes are replaced, taken out, put in or cut off."""
    content = bytearray(whole)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(content)))
        length = draw(st.integers(0, 4))
        content[at : at + length] = draw(st.binary(max_size=4))
    return bytes(content[: draw(st.integers(0, len(content)) | st.just(len(content)))])


def _archive(members: dict[str, bytes], compression: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            # Not the time at which it is written.
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return file.getvalue()


@st.composite
def _wheels(draw: st.DrawFn) -> bytes:
    """Archives with what a wheel has, or nearly."""
    members = {
        f"{_INFORMATION}/METADATA": draw(_damaged(_METADATA.encode())),
        f"{_INFORMATION}/WHEEL": draw(_damaged(_TAGS.encode())),
        "kvswap/__init__.py": b"x" * 40,
    }
    if draw(st.integers(0, 3)) == 0:
        del members[draw(st.sampled_from(sorted(members)))]
    if draw(st.integers(0, 3)) == 0:
        members["other.dist-info/WHEEL"] = b""
    compression = draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    return draw(_damaged(_archive(members, compression)))


def test_random_wheels(tmp_path: pathlib.Path) -> None:
    names = st.just(_NAME) | st.text(
        st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=20
    ).map("{}.whl".format)
    with counted("wheels", "files") as count:

        @bounded(500)
        @hypothesis.given(names, _wheels() | st.binary(max_size=60))
        def each_is_read_or_refused(name: str, content: bytes) -> None:
            count.cases += 1
            path = tmp_path / name
            path.write_bytes(content)
            try:
                wheel = wheel_files.read_wheel(path)
            except wheel_files.WheelError as error:
                assert str(path) in str(error)
            else:
                assert wheel.path == path and wheel.tags

        each_is_read_or_refused()


def test_a_wheel_is_read(tmp_path: pathlib.Path) -> None:
    """A control: what the others are made of is right."""
    members = {
        f"{_INFORMATION}/METADATA": _METADATA.encode(),
        f"{_INFORMATION}/WHEEL": _TAGS.encode(),
    }
    path = tmp_path / _NAME
    path.write_bytes(_archive(members, zipfile.ZIP_DEFLATED))
    assert wheel_files.read_wheel(path).problems == ()


def test_random_lock_files(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.lock"
    with counted("lock files", "files") as count:

        @bounded(300)
        @hypothesis.given(_damaged(_LOCK.encode()))
        def each_is_read_or_refused(content: bytes) -> None:
            count.cases += 1
            path.write_bytes(content)
            try:
                package = bill_of_materials.read_lock(path, "pybind11")
            except bill_of_materials.LockError as error:
                assert str(path) in str(error)
            else:
                assert package.version
                assert all(len(each) == 64 for each in package.hashes)

        each_is_read_or_refused()


def test_random_times() -> None:
    with counted("SOURCE_DATE_EPOCH", "values") as count:

        @bounded(200)
        @hypothesis.given(
            st.text(max_size=12)
            | st.integers(-10, 1 << 70).map(str)
            | st.just("9" * 5000)
        )
        def each_is_a_time_or_refused(text: str) -> None:
            count.cases += 1
            try:
                seconds = command._source_date_epoch({"SOURCE_DATE_EPOCH": text})
            except command.Refused as refused:
                (reason,) = refused.reasons
                assert reason.startswith("SOURCE_DATE_EPOCH=")
                return
            package = bill_of_materials.LockedPackage("a", "1", ())
            assert bill_of_materials.write("1", [], package, package, None, seconds)

        each_is_a_time_or_refused()


@pytest.mark.parametrize("whole", _SOURCES)
def test_random_apt_sources(whole: str) -> None:
    with counted("apt sources", "files") as count:

        @bounded(200)
        @hypothesis.given(_damaged(whole.encode()))
        def each_is_read(content: bytes) -> None:
            count.cases += 1
            text = content.decode("utf-8", "replace")
            entries = [
                *debian_bazel_apt.parse_one_line_format(text),
                *debian_bazel_apt.parse_deb822_format(text),
            ]
            for mirror in debian_bazel_apt.debian_mirrors(entries):
                assert mirror.uri and not mirror.uri.startswith("cdrom:")

        each_is_read()
