"""What is read of the machine: files of sysfs and proc, NVML, and what is kept private."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from kvswap.doctor import driver, gpus, limits, management_library, privacy
from kvswap.doctor.system import System
from tests.commands.fake_system import (
    GPU_FILES,
    PCI_ADDRESS,
    PCI_FOLDER,
    TWO_SOCKETS,
    FakeSystem,
)

DESCRIBED = {
    "ordinal": 0,
    "name": "a GPU",
    "compute_capability": "9.0",
    "memory_bytes": None,
    "pci_address": PCI_ADDRESS,
    "mig": False,
    "host_pointers": True,
}

MANAGED = {
    PCI_ADDRESS: {
        "generation": 4,
        "width": 8,
        "max_generation": 5,
        "max_width": 16,
        "mig_enabled": True,
    }
}


def system(root: Path, files: dict[str, str], **machine: Any) -> FakeSystem:
    """A machine with these files, and no variables."""
    return FakeSystem(root, {}, files=files, **machine)


# PCI --------------------------------------------------------------------------


def test_link_by_sysfs(tmp_path: Path) -> None:
    files = {
        **GPU_FILES,
        f"{PCI_FOLDER}/current_link_speed": "2.5 GT/s PCIe",
        f"{PCI_FOLDER}/numa_node": "-1",
    }
    (gpu,) = gpus.gpus(system(tmp_path, files), [DESCRIBED], {}, MANAGED)
    assert gpu["link"] == {
        "generation": 1,
        "width": 16,
        "max_generation": 5,
        "max_width": 16,
        "source": "sysfs",
    }
    assert gpu["numa_node"] is None


def test_link_by_the_management_library(tmp_path: Path) -> None:
    (gpu,) = gpus.gpus(system(tmp_path, {}), [DESCRIBED], {}, MANAGED)
    assert gpu["link"] is not None
    assert (gpu["link"]["generation"], gpu["link"]["source"]) == (4, "nvml")
    assert gpu["mig"] is True


def test_link_that_nobody_tells(tmp_path: Path) -> None:
    (gpu,) = gpus.gpus(system(tmp_path, {}), [DESCRIBED], {}, {})
    assert gpu["link"] is None


class FakeManagementLibrary:
    """One GPU, as NVML describes it through pointers."""

    def __init__(self, init_code: int = 0) -> None:
        self.init_code = init_code
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            self.calls.append(name)
            if name == "nvmlInit_v2":
                return self.init_code
            if name == "nvmlDeviceGetMaxPcieLinkWidth":
                return 3  # not supported
            if name == "nvmlDeviceGetPciInfo_v3":
                info = arguments[1]._obj
                info.domain, info.bus, info.device = 0, 0x4F, 0
            elif name == "nvmlDeviceGetMigMode":
                arguments[1]._obj.value = 1
            elif name == "nvmlDeviceGetCount_v2":
                arguments[0]._obj.value = 1
            elif isinstance(arguments[-1]._obj, ctypes.c_uint) if arguments else False:
                arguments[-1]._obj.value = 4 if "Generation" in name else 16
            return 0

        return call


def test_management_library() -> None:
    library = FakeManagementLibrary()
    assert management_library.describe(library) == {
        PCI_ADDRESS: {
            "generation": 4,
            "width": 16,
            "max_generation": 4,
            "max_width": None,
            "mig_enabled": True,
        }
    }
    assert library.calls[-1] == "nvmlShutdown"


def test_management_library_that_does_not_start() -> None:
    assert management_library.describe(FakeManagementLibrary(init_code=9)) == {}


# Limits -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("", set()), ("0", {0}), ("0-2,7", {0, 1, 2, 7}), ("4-5\n", {4, 5})],
)
def test_lists_of_numbers(text: str, numbers: set[int]) -> None:
    assert limits.numbers_of_list(text) == numbers


def test_numa_nodes(tmp_path: Path) -> None:
    files = {**TWO_SOCKETS, "/proc/self/status": "Name:\tx\nMems_allowed_list:\t0"}
    found = limits.machine(system(tmp_path, files, cpus=[5]))
    assert found["numa_nodes"] == [0, 1]
    assert (found["cpu_nodes"], found["memory_nodes"]) == ([1], [0])


def test_tightest_control_group(tmp_path: Path) -> None:
    files = {
        "/proc/self/cgroup": "0::/pod/container",
        "/sys/fs/cgroup/pod/memory.max": "4096",
        "/sys/fs/cgroup/pod/memory.current": "1024",
        "/sys/fs/cgroup/pod/container/memory.max": "8192",
    }
    found = limits.machine(system(tmp_path, files))
    assert (found["cgroup_limit"], found["cgroup_used"]) == (4096, 1024)


def test_control_group_of_version_1(tmp_path: Path) -> None:
    folder = "/sys/fs/cgroup/memory"
    files = {
        "/proc/self/cgroup": "7:cpu,memory:/box",
        f"{folder}/memory.limit_in_bytes": "9223372036854771712",
        f"{folder}/box/memory.limit_in_bytes": "4096",
    }
    found = limits.machine(system(tmp_path, files))
    assert (found["cgroup_limit"], found["cgroup_used"]) == (4096, None)


def test_bare_machine(tmp_path: Path) -> None:
    found = limits.machine(system(tmp_path, {}))
    assert found["memory_bytes"] is None and found["cgroup_limit"] is None
    assert not (found["wsl"] or found["container"] or found["nvidia_pci_devices"])


def test_gpus_on_the_bus_are_counted(tmp_path: Path) -> None:
    audio = "/sys/bus/pci/devices/0000:4f:00.1"
    files = {
        **GPU_FILES,
        f"{audio}/vendor": "0x10de",
        f"{audio}/class": "0x040300",
    }
    assert limits.machine(system(tmp_path, files))["nvidia_pci_devices"] == 1


# The driver's files -------------------------------------------------------------


def test_a_library_with_two_names_is_one(tmp_path: Path) -> None:
    machine = system(tmp_path, {"/usr/lib64/libcuda.so.580": ""})
    machine.path("/usr/lib64/libcuda.so.1").symlink_to("libcuda.so.580")
    machine.path("/usr/lib64/libcuda.so").symlink_to("libcuda.so.1")
    assert driver.libraries(machine) == [
        {"path": "/usr/lib64/libcuda.so.1", "kind": "driver"}
    ]


def test_libraries_of_32_bits_are_left_out(tmp_path: Path) -> None:
    machine = system(
        tmp_path,
        {
            "/usr/lib/libcuda.so.1": "\x7fELF\x01",
            "/usr/lib64/libcuda.so.1": "\x7fELF\x02",
        },
    )
    found = [each["path"] for each in driver.libraries(machine)]
    assert found == ["/usr/lib64/libcuda.so.1"]


def test_search_path_comes_first(tmp_path: Path) -> None:
    machine = system(
        tmp_path,
        {
            "/usr/lib64/libcuda.so.1": "",
            "/usr/local/cuda-12.8/compat/libcuda.so.1": "",
        },
    )
    machine.environment["LD_LIBRARY_PATH"] = "relative::/usr/local/cuda-12.8/compat/"
    assert [each["kind"] for each in driver.libraries(machine)] == ["compat", "driver"]


def test_kernel_module(tmp_path: Path) -> None:
    text = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release"
    found = driver.kernel_module(
        system(tmp_path, {"/proc/driver/nvidia/version": text})
    )
    assert found == "580.95.05"


def test_device_files(tmp_path: Path) -> None:
    files = {
        f"/dev/{name}": "" for name in ("nvidia0", "nvidia-caps", "nvidiactl", "tty")
    }
    machine = system(tmp_path, files, denied={"/dev/nvidia0": "Permission denied"})
    assert driver.device_files(machine) == [
        {"path": "/dev/nvidia0", "problem": "Permission denied"},
        {"path": "/dev/nvidiactl", "problem": None},
    ]


# Privacy ------------------------------------------------------------------------


def test_private_things(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "node17.example.org")
    monkeypatch.setattr("getpass.getuser", lambda: "gwendolyn")
    clean = privacy.cleaner(System("/", {"HOME": "/home/gwendolyn/"}))
    uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef"
    assert clean(
        {
            "list": ["/home/gwendolyn/x:/home/gwendolyn", 7, None],
            "text": f"/data/gwendolyn/y on node17, node17.example.org: {uuid}",
            "other": "/home/gwendolyns/z node170",
        }
    ) == {
        "list": ["~/x:~", 7, None],
        "text": "/data/<user>/y on <host>, <host>: GPU-...",
        "other": "/home/gwendolyns/z node170",
    }


def test_names_that_are_words_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "gpu")
    monkeypatch.setattr("getpass.getuser", lambda: "root")
    clean = privacy.cleaner(System("/", {"HOME": "/srv/home"}))
    assert clean("gpu root /srv/home/x driver") == "gpu root ~/x driver"
