"""Each known trouble, made to appear; and none of them on a machine that is well."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

import kvswap_sim
from kvswap.doctor.advice import TROUBLES
from kvswap.doctor.report import EXIT_STATUSES
from kvswap.doctor.schema import Report
from kvswap.terminal import Status
from tests.commands.fake_system import (
    GPU_FILES,
    PCI_ATTRIBUTES,
    PCI_FOLDER,
    TWO_SOCKETS,
    look,
    names,
    real,
)

NOWHERE = {"KVSWAP_LIBCUDA": "/no/driver/here/libcuda.so.1"}
WSL = {"/proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2"}
CONTAINER = {"/.dockerenv": ""}
GIB = 1 << 30

Change = Callable[[Report], None]


def forget_variables(report: Report) -> None:
    """As if no variable had been set: tests cannot have the loader find nothing."""
    report["environment"] = []


def torch(**found: Any) -> Change:
    """torch as it is said to be, beside a real driver."""

    def change(report: Report) -> None:
        real(report)
        cast("dict[str, Any]", report["torch"]).update(
            {
                "installed": True,
                "version": "2.11.0",
                "cuda": "12.8",
                "cuda_available": True,
                "gpu_count": 1,
                "operators": True,
            }
            | found
        )

    return change


def without_gpu(mig_gpus: int) -> Change:
    """A driver that sees no GPU, though some have MIG enabled."""

    def change(report: Report) -> None:
        report["driver"]["mig_gpus"] = mig_gpus

    return change


def as_mig(report: Report) -> None:
    """The GPU as a part of one."""
    report["gpus"][0]["mig"] = True


def without_kernels(report: Report) -> None:
    """Kernels that do not load, for no reason that has a name."""
    kernel = report["gpus"][0]["kernel"]
    assert kernel is not None
    kernel.update({"available": False, "reason": None, "message": "error 999"})


def init_fails(code: int) -> dict[str, Any]:
    """A simulated driver that does not start."""
    return {"simulated": {"faults": [f"cuInit#*={code}"]}}


CASES: dict[str, dict[str, Any]] = {
    "no_driver": {"environment": NOWHERE, "change": forget_variables},
    "wsl_without_driver": {
        "environment": NOWHERE,
        "change": forget_variables,
        "files": WSL,
    },
    "wsl_shadowed_driver": {"files": WSL, "change": real},
    "wsl": {"files": WSL},
    "named_library": {"environment": NOWHERE},
    "named_other_library": {
        "files": {"/usr/lib/x86_64-linux-gnu/libcuda.so.1": "another"},
        "change": real,
    },
    "stub_library": init_fails(34),
    "several_libraries": {
        "files": {
            "/usr/lib/x86_64-linux-gnu/libcuda.so.1": "one",
            "/usr/local/nvidia/lib64/libcuda.so.1": "two",
        },
        "change": real,
    },
    "required_entry_missing": {"simulated": {"without": ["cuMemcpyAsync"]}},
    "optional_entry_missing": {"simulated": {"without": ["cuMemcpyBatchAsync"]}},
    "driver_before_12_0": {"simulated": {"driver_version": "11.8"}},
    "driver_before_12_8": {"simulated": {"driver_version": "12.4"}},
    "simulated_driver": {},
    "no_permission": {
        "files": {"/dev/nvidia0": "", "/dev/nvidiactl": ""},
        "denied": {"/dev/nvidia0": "Permission denied"},
        "change": real,
    },
    "container_without_devices": {"files": CONTAINER, "change": real},
    "no_visible_gpu": {
        "simulated": {"devices": 0},
        "environment": {"CUDA_VISIBLE_DEVICES": ""},
    },
    "mig_without_instance": {"simulated": {"devices": 0}, "change": without_gpu(1)},
    "no_gpu": {"simulated": {"devices": 0}},
    "gpu_asked_for": {"gpu": 5},
    "system_not_ready": init_fails(802),
    "driver_mismatch": init_fails(803),
    "forward_compatibility": init_fails(804),
    "initialization_failed": init_fails(999),
    "no_kernel_image": {"simulated": {"compute_capability": "7.0"}},
    "kernel_unavailable": {"change": without_kernels},
    "narrow_link": {"files": {**GPU_FILES, f"{PCI_FOLDER}/current_link_width": "8"}},
    "far_numa_node": {"files": TWO_SOCKETS, "cpus": [0, 1]},
    "mig_slice": {"change": as_mig},
    "host_pointers": {"simulated": {"device_attributes": {**PCI_ATTRIBUTES, 91: 0}}},
    "wrong_value": {"environment": {"KVSWAP_MAX_BATCH": "many"}},
    "forced_engine": {"environment": {"KVSWAP_ENGINE": "loop"}},
    "unknown_variable": {"environment": {"KVSWAP_ENGIN": "loop"}},
    "launch_blocking": {"environment": {"CUDA_LAUNCH_BLOCKING": "1"}},
    "locked_memory_limit": {"locked_memory": 64 * 1024},
    "cgroup_full": {
        "files": {
            "/sys/fs/cgroup/memory.max": str(8 * GIB),
            "/sys/fs/cgroup/memory.current": str(7 * GIB),
        }
    },
    "cgroup_limit": {
        "files": {
            "/sys/fs/cgroup/memory.max": str(8 * GIB),
            "/sys/fs/cgroup/memory.current": str(GIB),
            "/proc/meminfo": "MemTotal:       33554432 kB",
        }
    },
    "torch_without_cuda": {"change": torch(cuda=None, cuda_available=False)},
    "torch_newer_than_driver": {
        "simulated": {"driver_version": "12.8"},
        "change": torch(cuda="13.0", cuda_available=False),
    },
    "torch_sees_no_gpu": {"change": torch(cuda_available=False)},
    "torch_operators": {"change": torch(operators=False)},
    "section_failed": {"simulated": {"faults": ["cuMemAlloc#*=2"]}},
}

SEVERITIES = {trouble.name: trouble.severity for trouble in TROUBLES}

# They need a library of another name; their tests are below.
OF_THEIR_OWN = {"driver_does_not_answer", "driver_not_usable"}


def test_every_trouble_has_a_case() -> None:
    assert set(CASES) | OF_THEIR_OWN == set(SEVERITIES)
    assert len(SEVERITIES) == len(TROUBLES)


def test_none_on_a_machine_that_is_well(tmp_path: Path) -> None:
    report = look(tmp_path, change=torch())
    assert report["findings"] == []
    assert (report["verdict"], report["exit_status"]) == ("ok", 0)


@pytest.mark.parametrize("name", CASES)
def test_trouble(name: str, tmp_path: Path) -> None:
    report = look(tmp_path, **CASES[name])
    assert name in names(report), report
    (finding,) = [each for each in report["findings"] if each["name"] == name]
    assert finding["severity"] == SEVERITIES[name].value
    assert finding["found"] and finding["advice"] and finding["symptom"]
    # What is as grave stands in the verdict, and notes do not.
    severities = {Status(each["severity"]) for each in report["findings"]}
    worst = next(
        (each for each in (Status.PROBLEM, Status.WARNING) if each in severities),
        Status.OK,
    )
    assert report["verdict"] == worst.value
    assert report["exit_status"] == EXIT_STATUSES[worst]


@pytest.mark.parametrize(
    "name", [name for name in CASES if SEVERITIES[name] is Status.PROBLEM]
)
def test_one_problem_is_not_told_as_several(name: str, tmp_path: Path) -> None:
    report = look(tmp_path, **CASES[name])
    problems = {
        each["name"] for each in report["findings"] if each["severity"] == "problem"
    }
    assert problems == {name}


def test_driver_that_hangs(tmp_path: Path) -> None:
    # The loader waits for somebody to write.
    os.mkfifo(tmp_path / "libcuda.so.1")
    variables = {"KVSWAP_LIBCUDA": str(tmp_path / "libcuda.so.1")}
    report = look(tmp_path / "root", environment=variables, limit_seconds=10.0)
    problems = [each for each in report["findings"] if each["severity"] == "problem"]
    assert [each["name"] for each in problems] == ["driver_does_not_answer"]
    assert "no answer within 10 seconds" in problems[0]["found"]
    assert report["exit_status"] == 4


def test_stub_by_its_folder(tmp_path: Path) -> None:
    stub = tmp_path / "cuda/lib64/stubs/libcuda.so"
    stub.parent.mkdir(parents=True)
    shutil.copy(kvswap_sim.library_path("13.0"), stub)
    report = look(tmp_path / "root", environment={"KVSWAP_LIBCUDA": str(stub)})
    assert "stub_library" in names(report)


def test_library_that_is_no_driver(tmp_path: Path) -> None:
    kernels = Path(kvswap_sim.library_path("13.0")).with_name(
        "libkvswap_sim_kernels.so"
    )
    shutil.copy(kernels, tmp_path / "libcuda.so.1")
    variables = {"KVSWAP_LIBCUDA": "", "LD_LIBRARY_PATH": str(tmp_path)}
    report = look(tmp_path / "root", environment=variables)
    assert "driver_not_usable" in names(report)
    assert report["driver"]["path"] == str(tmp_path / "libcuda.so.1")
    assert report["exit_status"] == 4


def test_gravest_first(tmp_path: Path) -> None:
    report = look(
        tmp_path, environment={"KVSWAP_ENGIN": "x", **NOWHERE}, locked_memory=65536
    )
    order = [Status.PROBLEM.value, Status.WARNING.value, Status.NOTE.value]
    severities = [finding["severity"] for finding in report["findings"]]
    assert severities == sorted(severities, key=order.index)
    assert report["findings"][0]["severity"] == "problem"
    suggestions = [
        each["found"] for each in report["findings"] if "ENGIN" in each["found"]
    ]
    assert suggestions == ["KVSWAP_ENGIN (did you mean KVSWAP_ENGINE?)"]


def test_an_engine_that_is_misspelt(tmp_path: Path) -> None:
    report = look(tmp_path, environment={"KVSWAP_ENGINE": "kernal", **NOWHERE})
    (found,) = [
        each["found"] for each in report["findings"] if each["name"] == "wrong_value"
    ]
    assert found == 'KVSWAP_ENGINE is "kernal" (did you mean kernel?)'


def test_a_named_library_is_told_as_the_library_tells_it(tmp_path: Path) -> None:
    """The driver's line, and what to do about it, both begin with the variable."""
    report = look(tmp_path, environment=NOWHERE)
    assert report["driver"]["message"].startswith(
        f'the environment variable KVSWAP_LIBCUDA is "{NOWHERE["KVSWAP_LIBCUDA"]}", which '
        "cannot be loaded as the CUDA driver"
    )
    assert [each["name"] for each in report["findings"]][0] == "named_library"


def test_container_may_be_kept_from_its_devices(tmp_path: Path) -> None:
    report = look(
        tmp_path,
        files={**CONTAINER, "/dev/nvidia0": ""},
        denied={"/dev/nvidia0": "Operation not permitted"},
        change=real,
    )
    assert "container_without_devices" in names(report)


@pytest.mark.parametrize("code", [100, 999])
def test_devices_that_are_kept_back_explain_the_rest(code: int, tmp_path: Path) -> None:
    files = {**GPU_FILES, **CONTAINER}
    faults = {"faults": [f"cuInit#*={code}"]}
    report = look(tmp_path, files=files, simulated=faults, change=real)
    assert names(report) == {"container_without_devices"}
    denied = {"/dev/nvidia0": "Permission denied"}
    files = {**GPU_FILES, "/dev/nvidia0": ""}
    report = look(
        tmp_path / "other", files=files, denied=denied, simulated=faults, change=real
    )
    assert names(report) == {"no_permission"}


def test_container_without_library_and_devices(tmp_path: Path) -> None:
    report = look(
        tmp_path,
        files={**GPU_FILES, **CONTAINER},
        environment=NOWHERE,
        change=forget_variables,
    )
    assert names(report) == {"container_without_devices"}


def test_gpu_of_its_own_node_is_fine(tmp_path: Path) -> None:
    report = look(tmp_path, files=TWO_SOCKETS, cpus=[2, 5])
    assert report["gpus"][0]["numa_node"] == 1
    assert "far_numa_node" not in names(report)
