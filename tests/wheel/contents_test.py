"""What is in the wheels, and what they say of themselves."""

from __future__ import annotations

import base64
import configparser
import csv
import hashlib
import io
import re
import sys
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement

from tests.wheel.wheel_files import (
    Wheel,
    built_wheels,
    has_device_kernels,
    has_torch_operators,
    is_release,
)

WHEELS = built_wheels()
EVERY_WHEEL = pytest.mark.parametrize("wheel", WHEELS.values(), ids=WHEELS)

_CPU = "x86_64|aarch64"


def test_both_distributions_are_here() -> None:
    assert set(WHEELS) == {"kvswap", "kvswap_sim"}


def test_tags() -> None:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    kvswap, sim = WHEELS["kvswap"], WHEELS["kvswap_sim"]
    assert (kvswap.python_tag, kvswap.abi_tag) == (python, python)
    assert (sim.python_tag, sim.abi_tag) == ("py3", "none")
    assert kvswap.platform_tag == sim.platform_tag
    assert re.fullmatch(rf"(linux|manylinux_2_28)_({_CPU})", kvswap.platform_tag)


def test_files_of_kvswap() -> None:
    wheel = WHEELS["kvswap"]
    package = {
        path.removeprefix("kvswap/")
        for path in wheel.content
        if path.startswith("kvswap/")
    }
    cpu = wheel.platform_tag.removeprefix("linux_").removeprefix("manylinux_2_28_")
    module = f"_core.cpython-{wheel.python_tag[2:]}-{cpu}-linux-gnu.so"
    assert {
        "__init__.py",
        "__main__.py",
        "_core.pyi",
        "bench.py",
        "benchmark/native_loop.c",
        "benchmark/no_batch_driver.c",
        "benchmark/rounds.py",
        "cmake/kvswapConfig.cmake",
        "cmake/kvswapConfigVersion.cmake",
        "command_line.py",
        "compat/__init__.py",
        "compat/vllm.py",
        "demo.py",
        "demonstration/scheduler.py",
        "doctor/command.py",
        "errors.py",
        "include/kvswap.h",
        "libkvswap.so",
        "pkgconfig/kvswap.pc",
        "py.typed",
        "terminal.py",
        "testing/__init__.py",
        "testing/cuda_driver.py",
        "torch_ops.py",
        module,
    } <= package
    assert ("libkvswap_torch.so" in package) == has_torch_operators()
    # Nothing of the build, of tests or of the simulated driver.
    unexpected = [
        path
        for path in wheel.content
        if not re.fullmatch(
            r"kvswap/((benchmark|compat|demonstration|doctor|testing)/)?\w+\.(py|pyi|typed)|kvswap/py\.typed"
            r"|kvswap/benchmark/\w+\.c"
            r"|kvswap/(libkvswap|libkvswap_torch|_core\.cpython-[\w-]+)\.so"
            r"|kvswap/(include|cmake|pkgconfig)/\w+\.(h|cmake|pc)"
            r"|kvswap-[\d.]+\.dist-info/(METADATA|WHEEL|RECORD|entry_points\.txt|licenses/.+)",
            path,
        )
    ]
    assert unexpected == []


def test_device_kernels() -> None:
    library = WHEELS["kvswap"].content["kvswap/libkvswap.so"]
    names = re.findall(rb"(\w+), (\d+) bytes of parameters, NVRTC ([\d.]+)\0", library)
    assert bool(names) == has_device_kernels()
    if not names:
        return
    assert {b"sm_75", b"sm_80", b"sm_90", b"compute_90"} <= {name[0] for name in names}
    assert {name[1] for name in names} == {b"4096", b"32764"}
    if is_release():
        # What drivers since CUDA 12.0 load, and Blackwell.
        assert {name[2] for name in names} == {b"12.8"}
        assert {b"sm_100", b"sm_120"} <= {name[0] for name in names}


def test_files_of_the_simulated_driver() -> None:
    package = {
        path for path in WHEELS["kvswap_sim"].content if path.startswith("kvswap_sim/")
    }
    libraries = {path for path in package if path.endswith(".so")}
    assert libraries == {
        "kvswap_sim/libcuda_sim.so",
        "kvswap_sim/libcuda_sim_before_13_0.so",
        "kvswap_sim/libcuda_sim_before_12_8.so",
        "kvswap_sim/libcuda_sim_before_12_0.so",
        "kvswap_sim/libkvswap_sim_kernels.so",
    }
    assert {"kvswap_sim/__init__.py", "kvswap_sim/py.typed"} <= package


@EVERY_WHEEL
def test_record(wheel: Wheel) -> None:
    record = f"{wheel.information}/RECORD"
    rows = list(csv.reader(io.StringIO(wheel.content[record].decode())))
    assert [path for path, _, _ in rows] == list(wheel.content)
    for path, digest, size in rows:
        if path == record:
            assert (digest, size) == ("", "")
            continue
        content = wheel.content[path]
        expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
        assert digest == f"sha256={expected.rstrip(b'=').decode()}", path
        assert int(size) == len(content), path


@EVERY_WHEEL
def test_nothing_that_would_differ_between_builds(wheel: Wheel) -> None:
    assert {entry.date_time for entry in wheel.entries} == {(1980, 1, 1, 0, 0, 0)}
    for entry in wheel.entries:
        mode = entry.external_attr >> 16
        expected = 0o100755 if entry.filename.endswith(".so") else 0o100644
        assert mode == expected, entry.filename
    names = [entry.filename for entry in wheel.entries]
    assert len(names) == len(set(names))
    for name, content in wheel.content.items():
        assert b"/execroot/" not in content, name
        # In symbol tables, which releases do not have.
        assert not is_release() or b"bazel-out/" not in content, name


@EVERY_WHEEL
def test_metadata(wheel: Wheel) -> None:
    # Raises for what the packaging specifications do not allow.
    metadata = Metadata.from_email(wheel.content[f"{wheel.information}/METADATA"])
    assert metadata.name.replace("-", "_") == wheel.distribution
    assert str(metadata.version) == wheel.version
    assert metadata.summary and "\n" not in metadata.summary
    assert metadata.description_content_type
    assert metadata.description_content_type.startswith("text/markdown")
    assert str(metadata.requires_python) == ">=3.10"
    assert metadata.license_expression
    assert "Apache-2.0" in metadata.license_expression
    assert metadata.classifiers
    assert not [c for c in metadata.classifiers if c.startswith("License ::")]
    assert metadata.keywords
    for path in metadata.license_files or []:
        assert wheel.content[f"{wheel.information}/licenses/{path}"].strip()
    assert "LICENSE" in (metadata.license_files or [])


def test_description_is_the_readme() -> None:
    description = WHEELS["kvswap"].metadata.get_payload()
    assert isinstance(description, str)
    assert description.startswith("# kvswap\n")
    # Links into the repository lead nowhere from a page of a package index.
    assert re.findall(r"\]\((?!https?://|#)", description) == []


def test_licence_of_what_is_compiled_in() -> None:
    wheel = WHEELS["kvswap"]
    files = wheel.metadata.get_all("License-File", [])
    assert "pybind11/LICENSE" in files
    expression = str(wheel.metadata["License-Expression"])
    assert "BSD-3-Clause" in expression
    assert ("libcxx/LICENSE.TXT" in files) == ("LLVM-exception" in expression)


def test_console_script() -> None:
    wheel = WHEELS["kvswap"]
    text = wheel.content[f"{wheel.information}/entry_points.txt"].decode()
    points = configparser.ConfigParser()
    points.read_string(text)
    assert {name: dict(points[name]) for name in points.sections()} == {
        "console_scripts": {"kvswap": "kvswap.command_line:main"}
    }
    other = WHEELS["kvswap_sim"]
    assert f"{other.information}/entry_points.txt" not in other.content


def test_requirements() -> None:
    metadata = WHEELS["kvswap"].metadata
    requirements = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    unconditional = {r.name for r in requirements if r.marker is None}
    assert unconditional == {"absl-py"}
    extras = metadata.get_all("Provides-Extra", [])
    brought = {
        extra: {
            r.name
            for r in requirements
            if r.marker and r.marker.evaluate({"extra": extra})
        }
        for extra in extras
    }
    assert brought == {
        "terminal": {"rich"},
        "plot": {"matplotlib"},
        "nvtx": {"nvtx"},
        "sim": {"kvswap-sim"},
        "torch": {"torch"},
        "all": {"rich", "matplotlib", "nvtx", "kvswap-sim"},
    }
    page = Path("docs/python.md").read_text(encoding="utf-8")
    table = page.partition("| extra | brings |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(brought)
    sim = {str(r.specifier) for r in requirements if r.name == "kvswap-sim"}
    assert sim == {f"=={WHEELS['kvswap_sim'].version}"}
    assert WHEELS["kvswap_sim"].metadata.get_all("Requires-Dist", []) == []
