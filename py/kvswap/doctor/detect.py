"""How known troubles are detected: each function says what it found, or None."""

from __future__ import annotations

from kvswap.close_names import closest
from kvswap.doctor.schema import Report

_ENGINES = ("auto", "batch", "loop", "kernel", "bridge")

# CUresult
_STUB_LIBRARY = 34
_NO_DEVICE = 100
_SYSTEM_NOT_READY = 802
_SYSTEM_DRIVER_MISMATCH = 803
_COMPAT_NOT_SUPPORTED = 804
_OF_OTHER_ROWS = (
    _STUB_LIBRARY,
    _NO_DEVICE,
    _SYSTEM_NOT_READY,
    _SYSTEM_DRIVER_MISMATCH,
    _COMPAT_NOT_SUPPORTED,
)

_GIB = 1 << 30

# Stages of the probe without which nothing of the driver is known.
_FIRST_STAGES = ("start", "driver", "initialization")


def _value(report: Report, name: str) -> str | None:
    """Of an environment variable."""
    for variable in report["environment"]:
        if variable["name"] == name:
            return variable["value"]
    return None


def _is_real(report: Report) -> bool:
    return not report["driver"]["simulated"]


def _died(report: Report) -> bool:
    return any(stage in report["failures"] for stage in _FIRST_STAGES)


def _sees_no_gpu(report: Report) -> bool:
    driver = report["driver"]
    return driver["init_error"] == _NO_DEVICE or driver["gpu_count"] == 0


def _init_error(report: Report, code: int) -> str | None:
    driver = report["driver"]
    if driver["init_error"] != code:
        return None
    module = driver["kernel_module"]
    return (
        f"cuInit of {driver['path']} answers {code} ({driver['init_error_name']})"
        f"{f'; the kernel module is {module}' if module else ''}"
    )


# The driver's library ---------------------------------------------------------


def _has_none(report: Report) -> bool:
    named = _value(report, "KVSWAP_LIBCUDA")
    return not (report["driver"]["path"] or named or _died(report))


def _tried(report: Report) -> str:
    names = [line.partition(": ")[0] for line in report["driver"]["tried"]]
    return f"none of {', '.join(names)} can be loaded"


def no_driver(report: Report) -> str | None:
    if not _has_none(report) or report["machine"]["wsl"]:
        return None
    if container_without_devices(report):
        return None  # what gives a container the devices brings the library too
    gpus = report["machine"]["nvidia_pci_devices"]
    return f"{_tried(report)}; on the PCI bus: " + (
        f"{gpus} GPU(s) of NVIDIA" if gpus else "no GPU of NVIDIA"
    )


def wsl_without_driver(report: Report) -> str | None:
    if not _has_none(report) or not report["machine"]["wsl"]:
        return None
    return _tried(report)


def wsl_shadowed_driver(report: Report) -> str | None:
    path = report["driver"]["path"]
    if not (report["machine"]["wsl"] and path and _is_real(report)) or "/wsl/" in path:
        return None
    return f"{path} is loaded, and is not below /usr/lib/wsl"


def wsl(report: Report) -> str | None:
    return report["versions"]["kernel"] if report["machine"]["wsl"] else None


def named_library(report: Report) -> str | None:
    named = _value(report, "KVSWAP_LIBCUDA")
    driver = report["driver"]
    if not named or driver["usable"] or _died(report) or stub_library(report):
        return None
    if driver["path"] and any(not entry["present"] for entry in report["entries"]):
        return None  # a driver, which lacks functions
    return driver["message"] if driver["path"] else "; ".join(driver["tried"])


def named_other_library(report: Report) -> str | None:
    named = _value(report, "KVSWAP_LIBCUDA")
    driver = report["driver"]
    if not (named and driver["usable"] and _is_real(report)):
        return None
    others = [
        library["path"]
        for library in driver["libraries"]
        if library["kind"] in ("driver", "wsl")
    ]
    if not others or driver["path"] in others:
        return None
    return f"it names {driver['path']}; the system has {', '.join(others)}"


def stub_library(report: Report) -> str | None:
    driver = report["driver"]
    if "/stubs/" not in driver["path"] and driver["init_error"] != _STUB_LIBRARY:
        return None
    return f"{driver['path']} is loaded"


def several_libraries(report: Report) -> str | None:
    driver = report["driver"]
    paths = [
        library["path"]
        for library in driver["libraries"]
        if library["kind"] in ("driver", "wsl")
    ]
    if len(paths) < 2 or not _is_real(report):
        return None
    return f"{', '.join(paths)}; loaded is {driver['path'] or 'none'}"


def driver_not_usable(report: Report) -> str | None:
    driver = report["driver"]
    if driver["usable"] or not driver["path"] or _value(report, "KVSWAP_LIBCUDA"):
        return None
    if required_entry_missing(report) or stub_library(report):
        return None
    return driver["message"]


def required_entry_missing(report: Report) -> str | None:
    missing = [
        f"{entry['name']} ({entry['message']})"
        for entry in report["entries"]
        if entry["required"] and not entry["present"]
    ]
    if not missing or stub_library(report):
        return None
    return f"{report['driver']['path']} lacks {', '.join(missing)}"


def optional_entry_missing(report: Report) -> str | None:
    number = report["driver"]["version_number"]
    missing = [
        f"{entry['name']} ({entry['cost']})"
        for entry in report["entries"]
        if not (entry["required"] or entry["present"]) and entry["version"] <= number
    ]
    return ", ".join(missing) or None


def _is_before(report: Report, version: int) -> bool:
    return report["driver"]["usable"] and report["driver"]["version_number"] < version


def driver_before_12_0(report: Report) -> str | None:
    if not _is_before(report, 12000):
        return None
    return f"it is for CUDA {report['driver']['version']}"


def driver_before_12_8(report: Report) -> str | None:
    if not _is_before(report, 12080):
        return None
    return f"it is for CUDA {report['driver']['version']}"


def simulated_driver(report: Report) -> str | None:
    if _is_real(report):
        return None
    return f"KVSWAP_LIBCUDA names {report['driver']['path']}"


# Its start --------------------------------------------------------------------


def driver_does_not_answer(report: Report) -> str | None:
    failures = [
        f"{stage}: {report['failures'][stage]}"
        for stage in _FIRST_STAGES
        if stage in report["failures"]
    ]
    return "; ".join(failures) or None


def no_permission(report: Report) -> str | None:
    closed = [
        file["path"]
        for file in report["driver"]["device_files"]
        if file["problem"] == "Permission denied"
    ]
    if not closed or not _is_real(report):
        return None
    return f"permission denied: {', '.join(closed)}"


def container_without_devices(report: Report) -> str | None:
    machine, driver = report["machine"], report["driver"]
    if not machine["container"] or not _is_real(report):
        return None
    files = driver["device_files"]
    if any(file["problem"] != "Operation not permitted" for file in files):
        return None
    if not (machine["nvidia_pci_devices"] or driver["path"]):
        return None  # no GPU outside of it either, as far as can be told
    if files:
        return "the container may not open " + ", ".join(f["path"] for f in files)
    return "there is no /dev/nvidia* here"


def _is_kept_out(report: Report) -> bool:
    """Whether the devices cannot be opened: the driver's own answer says less."""
    return bool(no_permission(report) or container_without_devices(report))


def no_visible_gpu(report: Report) -> str | None:
    value = _value(report, "CUDA_VISIBLE_DEVICES")
    if value is None or value.strip() not in ("", "-1") or not _sees_no_gpu(report):
        return None
    return f'it is "{value}"'


def mig_without_instance(report: Report) -> str | None:
    if not report["driver"]["mig_gpus"] or not _sees_no_gpu(report):
        return None
    return f"MIG is enabled on {report['driver']['mig_gpus']} GPU(s)"


def no_gpu(report: Report) -> str | None:
    if not _sees_no_gpu(report):
        return None
    if no_visible_gpu(report) or mig_without_instance(report) or _is_kept_out(report):
        return None
    visible = _value(report, "CUDA_VISIBLE_DEVICES")
    text = _init_error(report, _NO_DEVICE) or "it counts 0 GPUs"
    return f"{text}; CUDA_VISIBLE_DEVICES is {visible}" if visible else text


def gpu_asked_for(report: Report) -> str | None:
    asked, count = report["gpu_asked_for"], report["driver"]["gpu_count"]
    if asked is None or not count or asked < count:
        return None
    return f"--gpu {asked}, and the driver has {count}"


def system_not_ready(report: Report) -> str | None:
    return _init_error(report, _SYSTEM_NOT_READY)


def driver_mismatch(report: Report) -> str | None:
    return _init_error(report, _SYSTEM_DRIVER_MISMATCH)


def forward_compatibility(report: Report) -> str | None:
    return _init_error(report, _COMPAT_NOT_SUPPORTED)


def initialization_failed(report: Report) -> str | None:
    code = report["driver"]["init_error"]
    if not code or code in _OF_OTHER_ROWS or _is_kept_out(report):
        return None
    return _init_error(report, code)


# The GPUs ---------------------------------------------------------------------


def _kernels_without(report: Report, reasons: tuple[str, ...], among: bool) -> str:
    return "; ".join(
        f"GPU {gpu['ordinal']} (compute capability {gpu['compute_capability']}): "
        f"{gpu['kernel']['message'] or gpu['kernel']['reason']}"
        for gpu in report["gpus"]
        if gpu["kernel"] is not None
        and not gpu["kernel"]["available"]
        and (gpu["kernel"]["reason"] in reasons) == among
    )


def no_kernel_image(report: Report) -> str | None:
    return _kernels_without(report, ("no_kernel_image",), among=True) or None


def kernel_unavailable(report: Report) -> str | None:
    # Missing functions are told by rows of their own.
    reasons = ("no_kernel_image", "no_kernel_entry")
    return _kernels_without(report, reasons, among=False) or None


def narrow_link(report: Report) -> str | None:
    narrow = []
    for gpu in report["gpus"]:
        link = gpu["link"]
        if link is None or link["width"] is None or link["max_width"] is None:
            continue
        if link["width"] < link["max_width"]:
            narrow.append(
                f"GPU {gpu['ordinal']}: {link['width']} of {link['max_width']} lanes"
            )
    return "; ".join(narrow) or None


def far_numa_node(report: Report) -> str | None:
    machine = report["machine"]
    found = []
    for gpu in report["gpus"]:
        node = gpu["numa_node"]
        if node is None:
            continue
        for what, nodes in (
            ("runs on CPUs", machine["cpu_nodes"]),
            ("takes memory", machine["memory_nodes"]),
        ):
            if nodes and node not in nodes:
                found.append(
                    f"GPU {gpu['ordinal']} is on node {node}, this process {what} of "
                    f"node {', '.join(map(str, nodes))} only"
                )
    return "; ".join(found) or None


def mig_slice(report: Report) -> str | None:
    slices = [f"GPU {gpu['ordinal']}" for gpu in report["gpus"] if gpu["mig"]]
    return f"{', '.join(slices)}: part of a GPU" if slices else None


def host_pointers(report: Report) -> str | None:
    others = [
        f"GPU {gpu['ordinal']}"
        for gpu in report["gpus"]
        if gpu["host_pointers"] is False
    ]
    return ", ".join(others) or None


# Settings ---------------------------------------------------------------------


def wrong_value(report: Report) -> str | None:
    wrong = []
    engine = _value(report, "KVSWAP_ENGINE")
    if engine and engine not in _ENGINES:
        near = closest(engine, _ENGINES)
        wrong.append(
            f'KVSWAP_ENGINE is "{engine}"'
            + (f" (did you mean {near}?)" if near else "")
        )
    batch = _value(report, "KVSWAP_MAX_BATCH")
    if batch and not (batch.isascii() and batch.isdigit() and int(batch)):
        wrong.append(f'KVSWAP_MAX_BATCH is "{batch}"')
    return ", ".join(wrong) or None


def forced_engine(report: Report) -> str | None:
    engine = _value(report, "KVSWAP_ENGINE")
    if engine is None or engine == "auto" or engine not in _ENGINES:
        return None
    return f"it is {engine}"


def unknown_variable(report: Report) -> str | None:
    unknown = [
        variable["name"]
        + (f" (did you mean {near}?)" if (near := variable["suggestion"]) else "")
        for variable in report["environment"]
        if not variable["known"]
    ]
    return ", ".join(unknown) or None


def launch_blocking(report: Report) -> str | None:
    value = _value(report, "CUDA_LAUNCH_BLOCKING")
    return f"it is {value}" if value and value != "0" else None


# Limits -----------------------------------------------------------------------


def locked_memory_limit(report: Report) -> str | None:
    limit = report["machine"]["locked_memory_limit"]
    if limit is None or limit >= _GIB or not report["driver"]["usable"]:
        return None
    return f"it is {limit // 1024:,} KiB"


def cgroup_full(report: Report) -> str | None:
    limit, used = report["machine"]["cgroup_limit"], report["machine"]["cgroup_used"]
    if limit is None or used is None or limit - used >= 2 * _GIB:
        return None
    return f"{used / _GIB:.1f} of {limit / _GIB:.1f} GiB are used"


def cgroup_limit(report: Report) -> str | None:
    limit, memory = report["machine"]["cgroup_limit"], report["machine"]["memory_bytes"]
    if limit is None or (memory is not None and limit >= memory):
        return None
    of = f" of the machine's {memory / _GIB:.1f}" if memory else ""
    return f"{limit / _GIB:.1f} GiB{of}"


# torch ------------------------------------------------------------------------


def _gpus_beside_torch(report: Report) -> int:
    """GPUs that torch could see: it uses the real driver only."""
    return (report["driver"]["gpu_count"] or 0) if _is_real(report) else 0


def torch_without_cuda(report: Report) -> str | None:
    torch = report["torch"]
    if torch["version"] is None or torch["cuda"] is not None:
        return None
    return f"torch {torch['version']}" if _gpus_beside_torch(report) else None


def torch_newer_than_driver(report: Report) -> str | None:
    torch, driver = report["torch"], report["driver"]
    if torch["cuda"] is None or not driver["version_number"] or not _is_real(report):
        return None
    # Minor versions of CUDA are compatible with one another.
    if int(torch["cuda"].partition(".")[0]) <= driver["version_number"] // 1000:
        return None
    return f"torch for CUDA {torch['cuda']}, the driver for {driver['version']}"


def torch_sees_no_gpu(report: Report) -> str | None:
    torch = report["torch"]
    if torch["cuda"] is None or torch["cuda_available"] is not False:
        return None
    if not _gpus_beside_torch(report) or torch_newer_than_driver(report):
        return None
    return f"torch {torch['version']} for CUDA {torch['cuda']}"


def torch_operators(report: Report) -> str | None:
    torch = report["torch"]
    if torch["operators"] is not False:
        return None
    return torch["operators_message"] or f"with torch {torch['version']}"


# The doctor itself ------------------------------------------------------------


def section_failed(report: Report) -> str | None:
    failures = [
        f"{section}: {message}"
        for section, message in report["failures"].items()
        # What every call refuses, the doctor's own is refused too.
        if section not in _FIRST_STAGES
        and not (section == "engines" and wrong_value(report))
    ]
    return "; ".join(failures) or None
