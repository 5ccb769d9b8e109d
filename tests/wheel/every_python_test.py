"""The wheels of a release, each on the Python that it is for."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.faults.sub_interpreters import check_refused
from tests.wheel.environments import Environment
from tests.wheel.wheel_files import Wheel, built_wheels

INTERPRETERS: dict[str, str] = json.loads(os.environ["INTERPRETERS"])
WHEELS = {
    wheel.python_tag: wheel
    for wheel in (Wheel(Path(path)) for path in os.environ["ALL_WHEELS"].split())
    if wheel.distribution == "kvswap"
}
SIM_WHEEL = built_wheels()["kvswap_sim"]


def test_a_wheel_for_every_python() -> None:
    assert INTERPRETERS
    tags = {"cp" + version.replace(".", "") for version in INTERPRETERS}
    assert set(WHEELS) == tags


def test_the_same_library_in_each() -> None:
    """Nothing but the extension module depends on Python."""
    libraries = {wheel.content["kvswap/libkvswap.so"] for wheel in WHEELS.values()}
    assert len(libraries) == 1


@pytest.mark.parametrize("version", INTERPRETERS)
def test_install_and_run(version: str, tmp_path: Path) -> None:
    interpreter = INTERPRETERS[version]
    environment = Environment(tmp_path / "environment", interpreter)
    environment.copy_distribution("absl-py")
    wheel = WHEELS["cp" + version.replace(".", "")]
    environment.install(SIM_WHEEL.path, wheel.path)
    assert "No broken requirements found" in environment.pip("check")
    output = environment.run(
        "-m", "kvswap", "demo", "--simulate", "--blocks=40", "--block_bytes=1001"
    )
    assert f"lists of Python {version}." in output
    assert re.search(r"Every byte of \d+ blocks came back as it was", output)
    threads = """
import array, os, threading, kvswap_sim
os.environ.update(kvswap_sim.environment("13.0"))
import kvswap
empty = array.array("q")
def swap():
    while True:
        kvswap.swap_blocks_batch(empty, empty, empty, stream=0)
for _ in range(4):
    threading.Thread(target=swap, daemon=True).start()
print("end", flush=True)
"""
    for _ in range(5):
        assert environment.run("-c", threads).splitlines() == ["end"]


@pytest.mark.parametrize("version", INTERPRETERS)
def test_sub_interpreters_are_refused(version: str, tmp_path: Path) -> None:
    """Of every kind that the Python can make; from 3.12 on some have a GIL of their own."""
    environment = Environment(tmp_path / "environment", INTERPRETERS[version])
    environment.copy_distribution("absl-py")
    wheel = WHEELS["cp" + version.replace(".", "")]
    environment.install(SIM_WHEEL.path, wheel.path)
    program = subprocess.run(
        [environment.python, "-I", os.path.abspath(os.environ["SUB_INTERPRETERS"])],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    seen = check_refused(program)
    kinds = 2 if tuple(map(int, version.split("."))) >= (3, 12) else 1
    assert len(seen) == kinds


def test_wheels_of_other_pythons_are_refused(tmp_path: Path) -> None:
    (version, interpreter), *others = INTERPRETERS.items()
    if not others:
        pytest.skip("one Python alone is here")
    environment = Environment(tmp_path / "environment", interpreter)
    environment.copy_distribution("absl-py")
    other = WHEELS["cp" + others[0][0].replace(".", "")]
    output = environment.pip("install", "--no-index", other.path, check=False)
    assert "is not a supported wheel on this platform" in output


@pytest.mark.parametrize("version", INTERPRETERS)
def test_interpreters_are_what_they_are_said_to_be(version: str) -> None:
    found = subprocess.run(
        [INTERPRETERS[version], "-V"], capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith(f"Python {version}.")
