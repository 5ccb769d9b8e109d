"""C programs against the library and the header of the installed wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wheel.environments import Environment
from tests.wheel.wheel_files import built_wheels

WHEELS = built_wheels()
PROJECT = Path("tests/wheel/native_project").absolute()
EXAMPLE = Path("examples/cpp_program").absolute()


def _compiler() -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "the tests need the machine's C compiler"
    return compiler


def _tool(name: str) -> str:
    """A program of the development Python."""
    tool = Path(sysconfig.get_path("scripts")) / name
    assert tool.exists(), tool
    return str(tool)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """An environment with the wheel alone."""
    environment = Environment(tmp_path_factory.mktemp("native") / "environment")
    environment.copy_distribution("absl-py")
    environment.install(WHEELS["kvswap"].path)
    yield environment


def _where(environment: Environment, function: str) -> str:
    return environment.run("-c", f"import kvswap; print(kvswap.{function}())").strip()


def _run(*command: str | Path, variables: dict[str, str] | None = None) -> str:
    outcome = subprocess.run(
        command,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return outcome.stdout


def _check_program(program: Path) -> None:
    version = WHEELS["kvswap"].version
    # The driver is named, and is not there: the program has to run without one.
    output = _run(program, variables={"KVSWAP_LIBCUDA": "/nowhere/libcuda.so.1"})
    assert output.splitlines() == [
        f"header {version}, library {version}",
        "no driver: no_driver",
    ]


def test_folders(environment: Environment) -> None:
    assert (Path(_where(environment, "get_include")) / "kvswap.h").is_file()
    assert (Path(_where(environment, "get_library_dir")) / "libkvswap.so").is_file()
    cmake = Path(_where(environment, "get_cmake_dir"))
    assert (cmake / "kvswapConfig.cmake").is_file()
    assert (Path(_where(environment, "get_pkgconfig_dir")) / "kvswap.pc").is_file()


def test_cmake(environment: Environment, tmp_path: Path) -> None:
    build = tmp_path / "build"
    _run(
        _tool("cmake"),
        "-G",
        "Ninja",
        "-S",
        PROJECT,
        "-B",
        build,
        f"-Dkvswap_DIR={_where(environment, 'get_cmake_dir')}",
        f"-DCMAKE_MAKE_PROGRAM={_tool('ninja')}",
        f"-DCMAKE_C_COMPILER={_compiler()}",
        f"-DWANTED_VERSION={WHEELS['kvswap'].version}",
    )
    _run(_tool("cmake"), "--build", build)
    _check_program(build / "native")


def test_cmake_refuses_another_major_version(
    environment: Environment, tmp_path: Path
) -> None:
    outcome = subprocess.run(
        [
            _tool("cmake"),
            "-G",
            "Ninja",
            "-S",
            PROJECT,
            "-B",
            tmp_path,
            f"-Dkvswap_DIR={_where(environment, 'get_cmake_dir')}",
            f"-DCMAKE_MAKE_PROGRAM={_tool('ninja')}",
            f"-DCMAKE_C_COMPILER={_compiler()}",
            "-DWANTED_VERSION=77.0",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode != 0
    assert f"version: {WHEELS['kvswap'].version}" in outcome.stderr


def test_pkg_config(environment: Environment, tmp_path: Path) -> None:
    variables = {"PKG_CONFIG_PATH": _where(environment, "get_pkgconfig_dir")}
    pkg_config = [sys.executable, "-m", "pkgconf"]
    version = _run(*pkg_config, "--modversion", "kvswap", variables=variables)
    assert version.strip() == WHEELS["kvswap"].version
    flags = _run(*pkg_config, "--cflags", "--libs", "kvswap", variables=variables)
    program = tmp_path / "native"
    _run(_compiler(), PROJECT / "native.c", *flags.split(), "-o", program)
    _check_program(program)


def test_example_by_cmake(environment: Environment, tmp_path: Path) -> None:
    """As examples/README.md has it."""
    _run(
        _tool("cmake"),
        "-G",
        "Ninja",
        "-S",
        EXAMPLE,
        "-B",
        tmp_path,
        f"-Dkvswap_DIR={_where(environment, 'get_cmake_dir')}",
        f"-DCMAKE_MAKE_PROGRAM={_tool('ninja')}",
    )
    _run(_tool("cmake"), "--build", tmp_path)
    environment.install(WHEELS["kvswap_sim"].path)
    library = environment.run(
        "-c", "import kvswap_sim; print(kvswap_sim.library_path())"
    ).strip()
    output = _run(tmp_path / "swap_pools", variables={"KVSWAP_LIBCUDA": library})
    assert "every byte is right" in output.splitlines()
