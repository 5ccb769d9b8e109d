"""The tool that runs NVRTC: what it writes, and what it says when it cannot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolchains.cuda import nvrtc_compile

# Of external repositories: from the folder of all of them.
LIBRARIES = [Path("..", path) for path in os.environ["NVRTC"].split()]
(BUILTINS,) = [path for path in LIBRARIES if "builtins" in path.name]
(LIBRARY,) = [path for path in LIBRARIES if path != BUILTINS]
VERSION = os.environ["DEFAULT_NVRTC"]
NAME = "sm_90, of a test"


def run(
    tmp_path: Path,
    source: str,
    *,
    architecture: str = "sm_90",
    library: Path = LIBRARY,
    version: str = VERSION,
) -> int:
    """What the tool ends with; its output is tmp_path/image."""
    (tmp_path / "source.cu").write_text(source, encoding="utf-8")
    (tmp_path / "a_header.h").write_text("#define VALUE OPTION\n", encoding="utf-8")
    return nvrtc_compile.main(
        [
            f"--image={NAME}",
            f"--library={library}",
            f"--builtins={BUILTINS}",
            f"--version={version}",
            f"--architecture={architecture}",
            "--option=-DOPTION=7",
            f"--source={tmp_path / 'source.cu'}",
            "--source_name=a/source.cu",
            f"--header=a/header.h={tmp_path / 'a_header.h'}",
            f"--output={tmp_path / 'image'}",
        ]
    )


GOOD = """\
#include "a/header.h"
extern "C" __global__ void kernel(int* p) { *p = VALUE; }
"""


def test_a_cubin(tmp_path: Path) -> None:
    assert run(tmp_path, GOOD) == 0
    assert (tmp_path / "image").read_bytes().startswith(b"\x7fELF")


def test_ptx_with_header_and_option(tmp_path: Path) -> None:
    assert run(tmp_path, GOOD, architecture="compute_90") == 0
    assert b".entry kernel" in (tmp_path / "image").read_bytes()
    assert b", 7;" in (tmp_path / "image").read_bytes()


def test_twice_the_same(tmp_path: Path) -> None:
    images = []
    for folder in ("one", "another"):
        (tmp_path / folder).mkdir()
        assert run(tmp_path / folder, GOOD) == 0
        images.append((tmp_path / folder / "image").read_bytes())
    assert images[0] == images[1]


def test_an_error_in_the_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, 'extern "C" __global__ void kernel() { nothing(); }') == 1
    said = capsys.readouterr().err
    assert said.startswith(f"kvswap: {NAME}: nvrtcCompileProgram: NVRTC_ERROR_COMPIL")
    assert 'a/source.cu(1): error: identifier "nothing" is undefined' in said
    assert not (tmp_path / "image").exists()


def test_a_warning_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, GOOD + "#warning look here\n") == 0
    said = capsys.readouterr().err
    assert said.startswith(f"{NAME}: ") and "look here" in said


def test_an_architecture_that_it_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, GOOD, architecture="sm_20") == 1
    assert "--gpu-architecture" in capsys.readouterr().err


def test_another_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, GOOD, version="11.0") == 1
    said = capsys.readouterr().err
    assert f"{LIBRARY} is NVRTC {VERSION}, not 11.0: correct `version`" in said


def test_a_library_that_does_not_load(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = tmp_path / "libnvrtc.so.12"
    library.write_bytes(b"of another machine")
    assert run(tmp_path, GOOD, library=library) == 1
    said = capsys.readouterr().err
    assert "NVRTC does not load here: " in said and str(library) in said
    assert "the machine that Bazel's actions run on" in said
