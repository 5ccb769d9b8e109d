"""Programs with more rights than their user do not take libraries from that user."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

_PROGRAM, _PRELOADED, _SIMULATOR = (
    Path(os.environ[name]).resolve() for name in ("PROGRAM", "PRELOADED", "SIMULATOR")
)


@dataclass(frozen=True)
class Report:
    """What the program made of the environment.

    Attributes:
        secure: whether the kernel gave it more rights than its user has.
        heeded: the variables that had an effect.
    """

    secure: bool
    heeded: frozenset[str]


def _run(program: Path, folder: Path, environment: Mapping[str, str] = {}) -> Report:
    trace = folder / "trace.json"
    run = subprocess.run(
        [program, _SIMULATOR],
        env={
            "KVSWAP_ENGINE": "no-such-engine",
            "KVSWAP_LIBCUDA": str(folder / "libcuda.so.1"),
            "KVSWAP_SIM_DRIVER_VERSION": "13.5",
            "KVSWAP_SIM_TRACE": str(trace),
            **environment,
        },
        capture_output=True,
        check=True,
        text=True,
    )
    output = run.stdout
    assert re.search(r"^tried .*libcuda\.so\.1", output, re.MULTILINE), output
    effects = {
        "KVSWAP_ENGINE": "no-such-engine" in output,
        "KVSWAP_LIBCUDA": "(from KVSWAP_LIBCUDA)" in output,
        "KVSWAP_SIM_DRIVER_VERSION": "simulated 13050" in output,
        "KVSWAP_SIM_TRACE": trace.exists(),
    }
    return Report(
        secure="secure 1" in output,
        heeded=frozenset(name for name, heeded in effects.items() if heeded),
    )


def test_control_heeds_every_variable(tmp_path: Path) -> None:
    assert _run(_PROGRAM, tmp_path) == Report(
        secure=False,
        heeded=frozenset(
            {
                "KVSWAP_ENGINE",
                "KVSWAP_LIBCUDA",
                "KVSWAP_SIM_DRIVER_VERSION",
                "KVSWAP_SIM_TRACE",
            }
        ),
    )


def test_ignored_where_the_c_library_says_so(tmp_path: Path) -> None:
    """The C library's answer in a privileged program, put in its place."""
    report = _run(_PROGRAM, tmp_path, {"LD_PRELOAD": str(_PRELOADED)})
    assert report.heeded == frozenset()


def test_ignored_in_a_set_group_id_program(tmp_path: Path) -> None:
    program = tmp_path / "privileged"
    shutil.copy(_PROGRAM, program)
    try:
        os.chown(program, -1, _other_group())
        os.chmod(program, 0o2755)
    except OSError as error:
        pytest.skip(f"this user may not make a set-group-ID program: {error}")
    report = _run(program, tmp_path)
    if not report.secure:
        assert stat.S_IMODE(program.stat().st_mode) == 0o2755
        pytest.skip("the kernel gives programs in this folder no other group")
    assert report.heeded == frozenset()


def _other_group() -> int:
    """A group that this process does not run as, but may give files to."""
    others = [group for group in os.getgroups() if group != os.getgid()]
    if others:
        return others[0]
    if os.geteuid() == 0:
        return os.getgid() + 1
    pytest.skip("this user is in one group only")
