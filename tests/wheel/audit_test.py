"""What the wheels' binaries need of a system, and whether their tag promises less.

auditwheel judges as package indexes and pip do; beside it every ELF file is read here, so
that one that auditwheel did not look at cannot pass unseen.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from auditwheel.wheel_abi import WheelAbIInfo, analyze_wheel_abi
from auditwheel.wheeltools import get_wheel_architecture, get_wheel_libc

from tests.security.hardening import findings
from tests.wheel.wheel_files import (
    Binary,
    Wheel,
    built_wheels,
    has_torch_operators,
    is_release,
)

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

# The binaries that need libkvswap.so, and what of torch they need beside it: torch is
# there, and loaded before, where that one is used.
_USERS = {
    name: of_torch
    for name, of_torch in {
        "_core": set(),
        "libkvswap_torch": {"libtorch_cpu.so"},
    }.items()
    if name != "libkvswap_torch" or has_torch_operators()
}


def _needs_of_torch(binary: Binary) -> set[str] | None:
    """Libraries of torch that it needs; None where it does not need libkvswap.so."""
    name = binary.name.rpartition("/")[2].partition(".")[0]
    return _USERS.get(name)


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
    # Besides: libkvswap.so, four simulated drivers and their kernels.
    assert len(by_name) == 6 + len(_USERS)


def _audit(wheel: Wheel) -> WheelAbIInfo:
    """What `auditwheel show` says, with `--exclude` of what torch brings."""
    name = wheel.path.name
    return analyze_wheel_abi(
        get_wheel_libc(name),
        get_wheel_architecture(name),
        wheel.path,
        frozenset({"libtorch_cpu.so"}),
        disable_isa_ext_check=False,
        allow_graft=False,
    )


@RELEASE_ONLY
@EVERY_WHEEL
def test_auditwheel_agrees_with_the_tag(wheel: Wheel) -> None:
    found = _audit(wheel)
    assert wheel.platform_tag.startswith("manylinux_")
    promised = _glibc(wheel.platform_tag)
    assert _glibc(found.overall_policy.name) <= promised, found
    # It found something to judge.
    assert found.versioned_symbols["libc.so.6"], found


def _glibc(tag: str) -> tuple[int, ...]:
    match = re.match(r"manylinux_(\d+)_(\d+)_", tag)
    assert match, tag
    return tuple(map(int, match.groups()))


@RELEASE_ONLY
@EVERY_BINARY
def test_needs_no_more_than_the_tag_promises(binary: Binary) -> None:
    of_torch = _needs_of_torch(binary)
    own = set() if of_torch is None else {"libkvswap.so"} | of_torch
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
def test_nothing_of_cuda_and_no_more_of_torch(binary: Binary) -> None:
    pattern = r"lib(cuda|cudart|nvrtc|torch|c10)(\b|_).*"
    found = {name for name in binary.needed if re.fullmatch(pattern, name)}
    assert found == (_needs_of_torch(binary) or set())


@EVERY_BINARY
def test_libraries_are_found_beside_the_module(binary: Binary) -> None:
    if _needs_of_torch(binary) is None:
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
    assert (
        findings(
            binary.name.rpartition("/")[2],
            binary.content,
            fortified=False,
        )
        == []
    )


@RELEASE_ONLY
def test_the_release_compiler_fortifies() -> None:
    probe = Path(os.environ["HARDENING_PROBE"])
    assert findings(probe.name, probe.read_bytes(), fortified=True) == []


def test_libraries_have_their_names() -> None:
    if has_torch_operators():
        binary = BINARIES["kvswap/libkvswap_torch.so"]
        assert binary.soname == "libkvswap_torch.so"
    assert BINARIES["kvswap/libkvswap.so"].soname == "libkvswap.so"
