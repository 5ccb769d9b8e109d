"""What kvswap says where something about a repository is wrong."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.consumers.nested_bazel import NestedBazel

CONSUMER = "bad_input"

# Runs what it is given as Python 3.9 would see it.
OLD_PYTHON = """\
#!{python}
import sys
sys.version_info = (3, 9, 2, "final", 0)
exec(sys.argv[sys.argv.index("-c") + 1])
"""

USER = "//:user"
PYTHON = "--@kvswap//toolchains/python:"
CUDA = "--@kvswap//toolchains/cuda:"
NAME_A_PYTHON = (
    "Install Python 3.10 or newer with pip, or name one: --repo_env=KVSWAP_PYTHON=PATH"
)


def message(bazel: NestedBazel, *arguments: str) -> str:
    """What kvswap says about a build that has to fail, in one line."""
    outcome = bazel.run("build", "--nobuild", *arguments)
    assert outcome.status != 0, "it was to fail"
    # In a traceback, which also quotes the line of the source.
    said = [
        line[line.index("kvswap: ") :]
        for line in outcome.stderr.splitlines()
        if "kvswap: " in line and not line.lstrip().startswith("fail(")
    ]
    assert said, "no message of kvswap's"
    return said[0]


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("/nowhere/python3", "there is no /nowhere/python3, which KVSWAP_PYTHON names"),
        ("python3-of-nobody", "no python3-of-nobody on the PATH"),
        ("bin/python3", "KVSWAP_PYTHON=bin/python3: an absolute path or a name"),
        ("/bin/false", "/bin/false is no Python that runs"),
        ("/bin/echo", "/bin/echo is no Python that runs"),
    ],
)
def test_a_python_that_is_none(bazel: NestedBazel, python: str, said: str) -> None:
    text = message(bazel, USER, f"--repo_env=KVSWAP_PYTHON={python}")
    assert said in text and NAME_A_PYTHON in text


def test_a_python_that_is_too_old(bazel: NestedBazel, tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text(OLD_PYTHON.format(python=sys.executable), encoding="utf-8")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    text = message(bazel, USER, f"--repo_env=KVSWAP_PYTHON={python}")
    assert f"{python} is Python 3.9.2, which is too old" in text
    assert NAME_A_PYTHON in text


def test_a_python_without_pip(bazel: NestedBazel, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")],
        check=True,
    )
    python = tmp_path / "venv" / "bin" / "python3"
    text = message(bazel, USER, f"--repo_env=KVSWAP_PYTHON={python}")
    assert f"{python} has no pip. Install it" in text
    assert "--repo_env=KVSWAP_PYTHON=PATH" in text


def test_no_index(bazel: NestedBazel, tmp_path: Path) -> None:
    text = message(
        bazel,
        USER,
        "--repo_env=PIP_NO_INDEX=1",
        f"--repo_env=PIP_FIND_LINKS={tmp_path}",
        "--repo_env=PIP_CONFIG_FILE=/dev/null",
    )
    assert "pip cannot get what pybind11.lock names" in text
    assert "python3 -m pip config list" in text and "PIP_FIND_LINKS" in text


def test_a_wheel_that_is_another(bazel: NestedBazel) -> None:
    text = message(bazel, "@wrong_hash//:all")
    assert "a file whose SHA-256 is not in wrong_hash.lock" in text
    assert "update the lock file" in text


def test_a_lock_file_without_hashes(bazel: NestedBazel) -> None:
    assert "no_hash.lock lacks a --hash" in message(bazel, "@no_hash//:all")


@pytest.mark.parametrize(
    ("flag", "header"),
    [("headers", "Python.h"), ("pybind11", "pybind11/pybind11.h")],
)
@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("no_library", "is no cc_library"),
        ("no_headers", "has no {header} among its headers"),
        (
            "headers_without_includes",
            "holds {header} in include, which is not on its include path: add `includes`",
        ),
    ],
)
def test_a_label_flag_that_points_elsewhere(
    bazel: NestedBazel, flag: str, header: str, target: str, problem: str
) -> None:
    text = message(bazel, USER, f"{PYTHON}{flag}=//:{target}")
    assert f"{PYTHON}{flag} points to //:{target}, " in text
    assert f", which {problem.format(header=header)}." in text
    assert f"It needs a cc_library with <{header}> on its include path" in text


def test_a_toolkit_that_nobody_knows(bazel: NestedBazel) -> None:
    text = message(bazel, "@kvswap//csrc:kvswap", f"{CUDA}toolkit=11.1")
    assert 'no CUDA toolkit "11.1"' in text
    assert "is one of none, 12.4, 12.8" in text
    assert "docs/adding_a_toolkit.md" in text


@pytest.mark.parametrize(
    ("toolkit", "said"),
    [
        (None, f"{CUDA}custom_toolkit=//your:toolkit"),
        ("no_headers", "//:no_headers, which is no cuda_toolkit. Define one"),
        ("no_library", "//:no_library, which is no cuda_toolkit. Define one"),
        ("toolkit_without_headers", "which has no cuda.h among its headers"),
        ("toolkit_without_includes", "holds cuda.h in include, which is not on its"),
        ("toolkit_without_minor_version", 'version "12" is not of the form "12.4"'),
    ],
)
def test_a_custom_toolkit_that_is_none(
    bazel: NestedBazel, toolkit: str | None, said: str
) -> None:
    chosen = [f"{CUDA}custom_toolkit=//:{toolkit}"] if toolkit else []
    text = message(bazel, "@kvswap//csrc:kvswap", f"{CUDA}toolkit=custom", *chosen)
    assert said in text
    assert toolkit is None or f"//:{toolkit}" in text


@pytest.mark.parametrize(
    ("nvrtc", "said"),
    [
        ("no_nvrtc", "is //:no_library, which is no cuda_nvrtc. Define one"),
        ("nvrtc_without_builtins", "have no file named libnvrtc-builtins.so*"),
        ("nvrtc_twice", "have more than one file named libnvrtc.so*"),
        ("nvrtc_too_old", "is of CUDA 12.0, which cannot compile kvswap's kernels"),
        ("nvrtc_without_minor_version", 'version "12" is not of the form "12.4"'),
    ],
)
def test_a_custom_toolkit_whose_nvrtc_is_none(
    bazel: NestedBazel, nvrtc: str, said: str
) -> None:
    text = message(
        bazel,
        "@kvswap//csrc:kvswap",
        f"{CUDA}toolkit=custom",
        f"{CUDA}custom_toolkit=//:toolkit_with_{nvrtc}",
        f"{CUDA}device_kernels=true",
    )
    assert said in text
    assert f"//:toolkit_with_{nvrtc}" in text or f"//:{nvrtc}" in text


def test_what_is_right_builds(bazel: NestedBazel) -> None:
    """The control: without a mistake the same targets are analysed."""
    bazel.succeed("build", "--nobuild", USER, "@kvswap//csrc:kvswap")
