"""The release command: what it writes, and each thing that it refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.model.bom import Bom

import set_version
from release import bill_of_materials, command

MANYLINUX = "manylinux_2_28_x86_64"
_PYBIND11_HASH = "ab" * 32
_SOURCES = (
    "MODULE.bazel",
    "README.md",
    "csrc/kvswap.h",
    "docs/bazel.md",
    "toolchains/version.bzl",
)
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source tree that is ready for the release 0.1.0, without git."""
    root = tmp_path / "source"
    for name in (*_SOURCES, "CHANGELOG.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(name, root / name)
    set_version.set_version(root, "0.1.0")
    _write(root / "CHANGELOG.md", "# Changes\n\n## 0.1.0 (2030-01-31)\n\n* one\n")
    _write(
        root / "toolchains/python/pybind11.lock",
        f"# headers\npybind11==3.1.0 \\\n    --hash=sha256:{_PYBIND11_HASH}\n",
    )
    _write(
        root / "toolchains/cuda/locks/nvrtc_12.8.lock",
        f"nvidia-cuda-nvrtc-cu12==12.8.93 \\\n    --hash=sha256:{'12' * 32} \\\n"
        f"    --hash=sha256:{'34' * 32}\n",
    )
    _write(
        root / "toolchains/cc/release/zig.lock",
        f"ziglang==0.17.1 \\\n    --hash=sha256:{'cd' * 32} \\\n"
        f"    --hash=sha256:{'ef' * 32}\n",
    )
    return root


def make_wheel(
    folder: Path,
    *,
    name: str = "kvswap",
    version: str = "0.1.0",
    python: str = "cp311",
    platform: str = MANYLINUX,
    metadata_name: str | None = None,
    metadata_version: str | None = None,
    wheel_tag: str | None = None,
) -> Path:
    """A small wheel, whose inside can say something else than its name."""
    folder.mkdir(parents=True, exist_ok=True)
    tag = f"{python}-{python}-{platform}"
    path = folder / f"{name}-{version}-{tag}.whl"
    information = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in {
            f"{name}/__init__.py": "",
            f"{information}/METADATA": "Metadata-Version: 2.4\n"
            f"Name: {metadata_name or name}\nVersion: {metadata_version or version}\n",
            f"{information}/WHEEL": f"Wheel-Version: 1.0\nTag: {wheel_tag or tag}\n",
        }.items():
            # Without a time of its own, so that it has the same bytes every time.
            archive.writestr(zipfile.ZipInfo(member), text)
    return path


def _run(
    source: Path, output: Path, *arguments: str | Path, environment: Any = None
) -> int:
    return command.main(
        ["--source", str(source), "--output", str(output), *map(str, arguments)],
        environment or {},
    )


def _refused(
    capsys: pytest.CaptureFixture[str], source: Path, *arguments: str | Path
) -> str:
    """What the command says when it refuses, and that it writes nothing."""
    output = source.parent / "refused"
    assert _run(source, output, *arguments) == 1
    assert not output.exists()
    message = capsys.readouterr().err
    assert "refused, nothing was written" in message
    return message


def _bill(output: Path) -> dict[str, Any]:
    text = (output / "kvswap-0.1.0.cdx.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


# ---------------------------------------------------------------------------
# What it writes
# ---------------------------------------------------------------------------


def test_a_release(tmp_path: Path, source: Path) -> None:
    wheels = tmp_path / "wheels"
    first = make_wheel(wheels, python="cp310")
    second = make_wheel(wheels, python="cp311")
    output = tmp_path / "dist"
    assert _run(source, output, wheels) == 0
    assert {path.name for path in output.iterdir()} == {
        first.name,
        second.name,
        "SHA256SUMS",
        "kvswap-0.1.0.cdx.json",
    }
    for wheel in (first, second):
        assert (output / wheel.name).read_bytes() == wheel.read_bytes()


def test_checksums_are_those_of_sha256sum(tmp_path: Path, source: Path) -> None:
    wheel = make_wheel(tmp_path)
    output = tmp_path / "dist"
    assert _run(source, output, wheel) == 0
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    run = subprocess.run(check, cwd=output, capture_output=True, encoding="utf-8")
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        f"{wheel.name}: OK",
        "kvswap-0.1.0.cdx.json: OK",
    ]
    (output / wheel.name).write_bytes(b"other")
    assert subprocess.run(check, cwd=output, capture_output=True).returncode == 1


def test_the_bill_of_materials(tmp_path: Path, source: Path) -> None:
    wheel = make_wheel(tmp_path)
    output = tmp_path / "dist"
    assert _run(source, output, wheel) == 0
    bill = _bill(output)
    assert bill["bomFormat"] == "CycloneDX"
    product = bill["metadata"]["component"]
    assert product["name"] == "kvswap"
    assert product["version"] == "0.1.0"
    assert product["purl"] == "pkg:pypi/kvswap@0.1.0"
    assert product["licenses"] == [{"license": {"id": "Apache-2.0"}}]

    components = {component["name"]: component for component in bill["components"]}
    assert components.keys() == {
        wheel.name,
        "pybind11",
        "nvidia-cuda-nvrtc-cu12",
        "ziglang",
    }
    line = (output / "SHA256SUMS").read_text().splitlines()[0]
    digest = {"alg": "SHA-256", "content": line.split()[0]}
    assert line == f"{line[:64]}  {wheel.name}"
    assert components[wheel.name]["hashes"] == [digest]
    assert components["pybind11"]["version"] == "3.1.0"
    assert components["pybind11"]["hashes"][0]["content"] == _PYBIND11_HASH
    nvrtc = components["nvidia-cuda-nvrtc-cu12"]
    assert nvrtc["version"] == "12.8.93"
    assert "NVIDIA" in nvrtc["licenses"][0]["license"]["name"]
    compiler = components["ziglang"]
    assert compiler["version"] == "0.17.1"
    # Two files may have been used: it is not known which.
    assert "hashes" not in compiler
    assert {part["name"] for part in compiler["components"]} == {
        "libc++",
        "libc++abi",
    }
    dependencies = {item["ref"]: item for item in bill["dependencies"]}
    assert dependencies["pkg:pypi/kvswap@0.1.0"]["dependsOn"] == [
        "pkg:pypi/nvidia-cuda-nvrtc-cu12@12.8.93",
        "pkg:pypi/pybind11@3.1.0",
        "pkg:pypi/ziglang@0.17.1",
    ]
    # The library that made it reads it.
    # The class gains this method by a decorator.
    again: Bom = vars(Bom)["from_json"].__get__(None, Bom)(data=bill)
    assert len(again.components) == 4


def test_the_lock_of_the_device_compiler_is_the_defaults() -> None:
    lock = bill_of_materials.NVRTC_LOCK
    assert lock.name == f"nvrtc_{os.environ['DEFAULT_NVRTC']}.lock"
    package = bill_of_materials.read_lock(lock, bill_of_materials.NVRTC)
    assert package.version.startswith(os.environ["DEFAULT_NVRTC"])


def test_twice_the_same_bytes(tmp_path: Path, source: Path) -> None:
    wheels = [make_wheel(tmp_path, python=python) for python in ("cp310", "cp311")]
    one, two = tmp_path / "one", tmp_path / "two"
    # In a process of its own each: nothing depends on Python's seed of hashes.
    for output, order, seed in ((one, wheels, "1"), (two, wheels[::-1], "2")):
        arguments = ["--source", str(source), "--output", str(output)]
        subprocess.run(
            [sys.executable, command.__file__, *arguments, *map(str, order)],
            check=True,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": os.pathsep.join(sys.path),
                "PYTHONHASHSEED": seed,
            },
        )
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in two.iterdir())
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_other_wheels_have_another_serial_number(tmp_path: Path, source: Path) -> None:
    numbers = set()
    for number, python in enumerate(("cp310", "cp311")):
        output = tmp_path / f"dist{number}"
        assert _run(source, output, make_wheel(tmp_path, python=python)) == 0
        numbers.add(_bill(output)["serialNumber"])
    assert len(numbers) == 2


def test_there_is_no_time_but_the_one_given(tmp_path: Path, source: Path) -> None:
    wheel = make_wheel(tmp_path)
    assert _run(source, tmp_path / "without", wheel) == 0
    assert "timestamp" not in _bill(tmp_path / "without")["metadata"]
    given = {"SOURCE_DATE_EPOCH": "1893456000"}
    assert _run(source, tmp_path / "with", wheel, environment=given) == 0
    timestamp = _bill(tmp_path / "with")["metadata"]["timestamp"]
    assert timestamp == "2030-01-01T00:00:00+00:00"


def test_paths_under_bazel_run(tmp_path: Path, source: Path) -> None:
    """Paths of a user are relative to the folder in which Bazel was called."""
    make_wheel(tmp_path / "wheels")
    environment = {
        "BUILD_WORKING_DIRECTORY": str(tmp_path),
        "BUILD_WORKSPACE_DIRECTORY": str(source),
    }
    assert command.main(["wheels", "--output", "dist"], environment) == 0
    assert (tmp_path / "dist" / "SHA256SUMS").is_file()


# ---------------------------------------------------------------------------
# What it refuses
# ---------------------------------------------------------------------------

Capture = pytest.CaptureFixture[str]


def test_wheels_for_this_machine_alone(
    tmp_path: Path, source: Path, capsys: Capture
) -> None:
    wheel = make_wheel(tmp_path, platform="linux_x86_64")
    message = _refused(capsys, source, wheel)
    assert f"{wheel}: tag linux_x86_64 promises nothing" in message
    assert _run(source, tmp_path / "dist", wheel, "--draft") == 0


def test_wheels_of_another_version(
    tmp_path: Path, source: Path, capsys: Capture
) -> None:
    wheels = [make_wheel(tmp_path), make_wheel(tmp_path, version="0.2.0")]
    for draft in ([], ["--draft"]):
        message = _refused(capsys, source, *wheels, *draft)
        assert f"{wheels[1]}: is of version 0.2.0" in message
        assert str(wheels[0]) not in message


def test_wheels_of_another_distribution(
    tmp_path: Path, source: Path, capsys: Capture
) -> None:
    wheels = [make_wheel(tmp_path), make_wheel(tmp_path, name="other")]
    message = _refused(capsys, source, *wheels)
    assert f"{wheels[1]}: is of other, not of kvswap or kvswap-sim" in message
    assert str(wheels[0]) not in message


def test_the_simulated_driver_is_released_with_kvswap(
    tmp_path: Path, source: Path, capsys: Capture
) -> None:
    simulated = make_wheel(tmp_path / "wheels", name="kvswap_sim", python="py3")
    message = _refused(capsys, source, simulated)
    assert f"{simulated.parent}: no wheel is of kvswap" in message
    kvswap = make_wheel(tmp_path / "wheels")
    assert _run(source, tmp_path / "dist", tmp_path / "wheels") == 0
    names = {path.name for path in (tmp_path / "dist").glob("*.whl")}
    assert names == {simulated.name, kvswap.name}


def test_two_wheels_of_one_name(tmp_path: Path, source: Path, capsys: Capture) -> None:
    first, second = make_wheel(tmp_path / "one"), make_wheel(tmp_path / "two")
    message = _refused(capsys, source, first, second)
    assert f"{second}: has the name of {first}" in message


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        ({"metadata_name": "other"}, "its METADATA is of 'other'"),
        ({"metadata_version": "0.2.0"}, "its METADATA says version '0.2.0'"),
        ({"metadata_version": "?"}, "its METADATA says version '?'"),
        (
            {"wheel_tag": "cp311-cp311-linux_x86_64"},
            "its WHEEL has the tags cp311-cp311-linux_x86_64",
        ),
    ],
)
def test_wheels_whose_inside_says_otherwise(
    tmp_path: Path,
    source: Path,
    capsys: Capture,
    inside: dict[str, str],
    reason: str,
) -> None:
    wheel = make_wheel(tmp_path, **inside)
    assert f"{wheel}: {reason}" in _refused(capsys, source, wheel)


def test_files_that_are_no_wheels(
    tmp_path: Path, source: Path, capsys: Capture
) -> None:
    text = tmp_path / f"kvswap-0.1.0-cp311-cp311-{MANYLINUX}.whl"
    text.write_text("text")
    assert f"{text}: cannot be read as a wheel" in _refused(capsys, source, text)
    with zipfile.ZipFile(text, "w"):
        pass
    message = _refused(capsys, source, text)
    assert f"{text}: has 0 files *.dist-info/METADATA" in message
    named = text.rename(tmp_path / "kvswap.whl")
    assert f"{named}: its name is not a wheel's" in _refused(capsys, source, named)
    missing = tmp_path / f"kvswap-0.1.0-cp312-cp312-{MANYLINUX}.whl"
    assert f"{missing}: No such file" in _refused(capsys, source, missing)


def test_no_wheels(tmp_path: Path, source: Path, capsys: Capture) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert f"{empty}: there is no wheel" in _refused(capsys, source, empty)
    assert "no wheel is given" in _refused(capsys, source)


def test_an_unfinished_change_log(
    tmp_path: Path, source: Path, capsys: Capture
) -> None:
    _write(source / "CHANGELOG.md", "# Changes\n\n## 0.1.0 (unreleased)\n")
    wheel = make_wheel(tmp_path)
    message = _refused(capsys, source, wheel)
    assert f"{source / 'CHANGELOG.md'}: the section of 0.1.0 is marked" in message
    assert _run(source, tmp_path / "dist", wheel, "--draft") == 0


def test_sources_that_disagree_about_the_version(
    tmp_path: Path, source: Path, capsys: Capture
) -> None:
    module = source / "MODULE.bazel"
    _write(module, module.read_text().replace('"0.1.0"', '"0.0.9"'))
    message = _refused(capsys, source, make_wheel(tmp_path))
    assert f"{module}: says 0.0.9 where 0.1.0 is expected" in message


def test_a_missing_lock_of_the_compiler(
    tmp_path: Path, source: Path, capsys: Capture
) -> None:
    lock = source / "toolchains/cc/release/zig.lock"
    lock.unlink()
    wheel = make_wheel(tmp_path)
    message = _refused(capsys, source, wheel)
    assert f"{lock}: is missing, so the version of ziglang is not known" in message
    assert _run(source, tmp_path / "dist", wheel, "--draft") == 0
    names = {part["name"] for part in _bill(tmp_path / "dist")["components"]}
    assert names == {wheel.name, "pybind11", "nvidia-cuda-nvrtc-cu12"}


def test_a_lock_without_the_package(
    tmp_path: Path, source: Path, capsys: Capture
) -> None:
    lock = source / "toolchains/python/pybind11.lock"
    _write(lock, "other==1.0\n")
    message = _refused(capsys, source, make_wheel(tmp_path))
    assert f"{lock}: has no line `pybind11==VERSION`" in message


def test_an_output_folder_in_use(tmp_path: Path, source: Path, capsys: Capture) -> None:
    output = tmp_path / "dist"
    _write(output / "older.whl", "")
    wheel = make_wheel(tmp_path)
    assert _run(source, output, wheel) == 1
    assert f"{output}: is there and not empty" in capsys.readouterr().err
    assert [path.name for path in output.iterdir()] == ["older.whl"]
    (output / "older.whl").unlink()
    assert _run(source, output, wheel) == 0


def test_a_time_that_is_none(tmp_path: Path, source: Path, capsys: Capture) -> None:
    given = {"SOURCE_DATE_EPOCH": "today"}
    wheel = make_wheel(tmp_path)
    assert _run(source, tmp_path / "dist", wheel, environment=given) == 1
    assert "SOURCE_DATE_EPOCH=today: is not a number" in capsys.readouterr().err


@needs_git
def test_uncommitted_files(tmp_path: Path, source: Path, capsys: Capture) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
        subprocess.run(["git", *identity, *arguments], cwd=source, check=True)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message=all")
    wheel = make_wheel(tmp_path)
    assert _run(source, tmp_path / "clean", wheel) == 0
    _write(source / "stray.txt", "")
    message = _refused(capsys, source, wheel)
    assert f"{source}: what is in it is not committed (stray.txt)" in message
    assert _run(source, tmp_path / "draft", wheel, "--draft") == 0


def test_all_reasons_are_given_at_once(
    tmp_path: Path, source: Path, capsys: Capture
) -> None:
    _write(source / "CHANGELOG.md", "# Changes\n\n## 0.1.0 (unreleased)\n")
    message = _refused(
        capsys,
        source,
        make_wheel(tmp_path, platform="linux_x86_64"),
        make_wheel(tmp_path, version="0.2.0"),
    )
    assert "linux_x86_64" in message
    assert "is of version 0.2.0" in message
    assert "unreleased" in message
