"""Whatever files of the system hold, what is read of them is understood or passed over.

Of proc and sysfs, in a folder that stands for "/": the doctor's, NUMA placement's and the
benchmark's; and the variables that the doctor and the terminal go by.
"""

from __future__ import annotations

import io
import pathlib
from collections.abc import Mapping

import hypothesis
from hypothesis import strategies as st

from kvswap import numa, terminal
from kvswap.benchmark import environment as benchmark_environment
from kvswap.benchmark import gpu as benchmark_gpu
from kvswap.doctor import driver, environment, gpus, limits, versions
from kvswap.doctor.system import System
from tests.properties.bounds import bounded, counted

_PCI_ADDRESS = "0000:4f:00.0"
_PCI = f"/sys/bus/pci/devices/{_PCI_ADDRESS}"
_NODES = "/sys/devices/system/node"
_CGROUP = "/sys/fs/cgroup"

# Files that are read, each with what it may hold on some machine.
_FILES: Mapping[str, tuple[str, ...]] = {
    "/etc/os-release": ('PRETTY_NAME="A System 1"', "PRETTY_NAME"),
    "/proc/cpuinfo": ("processor\t: 0\nmodel name\t: A CPU\n", "model name"),
    "/proc/driver/nvidia/version": (
        "NVRM version: NVIDIA  580.95.05  R",
        "NVRM version:",
    ),
    "/proc/meminfo": ("MemTotal:  16 kB", "MemTotal:", "MemTotal: kB 1"),
    "/proc/self/cgroup": ("0::/a/b", "7:cpu,memory:/a", "0::", ":", "0"),
    "/proc/self/status": ("Mems_allowed_list:\t0-1", "Mems_allowed_list:"),
    "/proc/sys/kernel/osrelease": ("5.15.0-microsoft-standard-WSL2",),
    "/sys/module/nvidia/version": ("580.95.05",),
    f"{_CGROUP}/memory.max": ("max", "4096"),
    f"{_CGROUP}/memory.current": ("4096",),
    f"{_CGROUP}/a/memory.max": ("max", "4096"),
    f"{_CGROUP}/memory/a/memory.limit_in_bytes": ("9223372036854771712",),
    f"{_NODES}/node0/cpulist": ("0-3", "", "0-99999999999", "3-0", "-", "0-"),
    f"{_NODES}/node\u00b2/cpulist": ("0",),
    f"{_PCI}/class": ("0x030200",),
    f"{_PCI}/current_link_speed": ("32.0 GT/s PCIe", "Unknown"),
    f"{_PCI}/current_link_width": ("16", "255"),
    f"{_PCI}/max_link_speed": ("32.0 GT/s PCIe",),
    f"{_PCI}/max_link_width": ("16",),
    f"{_PCI}/numa_node": ("0", "-1"),
    f"{_PCI}/vendor": ("0x10de",),
}
_DESCRIBED = {
    "ordinal": 0,
    "name": "a GPU",
    "compute_capability": "9.0",
    "memory_bytes": None,
    "pci_address": _PCI_ADDRESS,
    "mig": False,
    "host_pointers": True,
}

# Numbers as no kernel writes them: other digits, too many of them, signs.
_NUMBERS = st.sampled_from(
    ["\u00b2", "\u0663", "9" * 5000, "-1", "+1", " 1", "1_0", "0x1"]
)
_TEXTS = st.text(max_size=12) | _NUMBERS
_OF_TERMINALS = st.sampled_from(["COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "TERM"])


@st.composite
def _content(draw: st.DrawFn, examples: tuple[str, ...]) -> bytes:
    """An example, another thing, or both."""
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return draw(st.binary(max_size=24))
    text = draw(st.sampled_from(examples))
    if kind == 1:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(_TEXTS) + text[at:]
    elif kind == 2:
        text = draw(_TEXTS)
    return text.encode()


@st.composite
def _machines(draw: st.DrawFn) -> dict[str, bytes]:
    names = draw(st.sets(st.sampled_from(sorted(_FILES))))
    return {name: draw(_content(_FILES[name])) for name in sorted(names)}


def _is_count(value: int | None) -> bool:
    return value is None or value >= 0


def _look(root: pathlib.Path) -> None:
    """Reads all of a machine, and holds what comes of it to what it is to be."""
    system = System(root, {})
    machine = limits.machine(system)
    assert _is_count(machine["memory_bytes"]) and _is_count(machine["cgroup_limit"])
    assert _is_count(machine["cgroup_used"])
    assert set(machine["cpu_nodes"]) <= set(machine["numa_nodes"])
    assert set(machine["memory_nodes"]) <= set(machine["numa_nodes"])
    assert machine["nvidia_pci_devices"] in (0, 1)
    version = driver.kernel_module(system)
    assert version is None or version
    (gpu,) = gpus.gpus(system, [_DESCRIBED], {}, {})
    assert _is_count(gpu["numa_node"])
    if gpu["link"] is not None:
        assert gpu["link"]["width"] is None or 0 < gpu["link"]["width"] <= 32
    devices = root / "sys/bus/pci/devices"
    assert _is_count(numa.node_of_pci_device(_PCI_ADDRESS, devices))
    assert versions._system_name(system) is not None
    assert benchmark_environment._processor(str(root / "proc/cpuinfo")) is not None
    build = benchmark_gpu._driver_build(str(root / "proc/driver/nvidia/version"))
    assert build == "" or "." in build


def test_random_machines(tmp_path: pathlib.Path) -> None:
    with counted("files of the system", "machines with random files") as count:

        @bounded(400)
        @hypothesis.given(_machines())
        def each_is_described(machine: dict[str, bytes]) -> None:
            root = tmp_path / str(count.cases)
            count.cases += 1
            for name, content in machine.items():
                file = root / name.lstrip("/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            _look(root)

        each_is_described()


def test_lists_of_numbers() -> None:
    with counted("lists of CPUs", "texts") as count:

        @bounded(400)
        @hypothesis.given(
            st.text(st.sampled_from("0123456789-, \n\u00b2x"), max_size=12)
        )
        def each_is_a_set_of_some(text: str) -> None:
            count.cases += 1
            found = limits.numbers_of_list(text)
            assert all(0 <= each < 1 << 16 for each in found)

        each_is_a_set_of_some()


def test_random_variables() -> None:
    names = st.sampled_from(sorted(environment.OWN)) | st.text(max_size=8).map(
        "KVSWAP_{}".format
    )
    with counted("variables that the doctor tells of", "environments") as count:

        @bounded(300)
        @hypothesis.given(
            st.dictionaries(names, _TEXTS, max_size=4),
            st.dictionaries(_OF_TERMINALS, _TEXTS),
        )
        def each_is_told_of(own: dict[str, str], of_terminal: dict[str, str]) -> None:
            count.cases += 1
            told = environment.variables(System("/", own))
            expected = {
                name
                for name, value in own.items()
                if value and name not in environment._OF_BUILDS
            }
            assert {each["name"] for each in told} == expected
            for each in told:
                # A name that is none of kvswap's may be misspelt: its value is a secret.
                assert each["known"] or each["value"] is None
            assert terminal.open_terminal(io.StringIO(), of_terminal).width > 0
            terminal.rich_console(io.StringIO(), of_terminal)

        each_is_told_of()
