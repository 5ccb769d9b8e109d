"""Known troubles: a row each, with how it shows, how it is detected, and what to do.

A row's ``detect`` gets the report without findings, and returns what was found as a
sentence, or None. To add a trouble: a row here, and its case in
``tests/commands/advice_test.py``, which fails for a row without one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kvswap.doctor import detect
from kvswap.doctor.schema import Finding, Report
from kvswap.terminal import Status


@dataclass(frozen=True)
class Trouble:
    """A row.

    Attributes:
        name: stable, as bug reports and programs name it.
        severity: PROBLEM: swaps cannot work; WARNING: they work, but something costs
            speed or may surprise; NOTE: good to know.
        symptom: what the user sees of it.
        detect: what was found, or None.
        advice: what to do.
    """

    name: str
    severity: Status
    symptom: str
    detect: Callable[[Report], str | None]
    advice: str


TROUBLES = (
    # The driver's library -----------------------------------------------------
    Trouble(
        "no_driver",
        Status.PROBLEM,
        "kvswap finds no CUDA driver",
        detect.no_driver,
        "Install the NVIDIA driver (for CUDA 12.8 or newer: 570 or newer). In a "
        "container, start it with GPUs: docker run --gpus all. If libcuda.so.1 lies "
        "elsewhere, name it: KVSWAP_LIBCUDA=/path/to/libcuda.so.1. Without a GPU, try "
        "kvswap on its simulated driver: kvswap demo (it needs kvswap[sim]).",
    ),
    Trouble(
        "wsl_without_driver",
        Status.PROBLEM,
        "no CUDA driver in WSL",
        detect.wsl_without_driver,
        "In WSL the driver comes from Windows: install NVIDIA's driver there, then "
        "wsl --update and wsl --shutdown. Its library has to appear as "
        "/usr/lib/wsl/lib/libcuda.so.1; inside a container mount that folder, or name "
        "the file in KVSWAP_LIBCUDA. Install no Linux driver inside WSL.",
    ),
    Trouble(
        "wsl_shadowed_driver",
        Status.WARNING,
        "a driver library inside WSL hides that of Windows",
        detect.wsl_shadowed_driver,
        "Remove the Linux driver's packages (libnvidia-compute-*) from WSL, or set "
        "KVSWAP_LIBCUDA=/usr/lib/wsl/lib/libcuda.so.1.",
    ),
    Trouble(
        "wsl",
        Status.NOTE,
        "this is WSL",
        detect.wsl,
        "Windows limits pinned memory to about half of the memory, and registered host "
        "memory may have another address on the GPU, which keeps the copy kernels off "
        "it: prefer memory that is allocated pinned.",
    ),
    Trouble(
        "named_library",
        Status.PROBLEM,
        "KVSWAP_LIBCUDA names no usable driver",
        detect.named_library,
        "Unset KVSWAP_LIBCUDA, or set it to the driver's own libcuda.so.1. While it is "
        "set nothing else is tried.",
    ),
    Trouble(
        "named_other_library",
        Status.NOTE,
        "KVSWAP_LIBCUDA names another library than the system's",
        detect.named_other_library,
        "torch loads the system's library. With two driver libraries in a process "
        "memory of one is unknown to the other: unset KVSWAP_LIBCUDA, unless this "
        "is meant.",
    ),
    Trouble(
        "stub_library",
        Status.PROBLEM,
        "a toolkit's stub stands in for the driver",
        detect.stub_library,
        "The files in a toolkit's folder stubs are for linking only. Take that folder "
        "out of LD_LIBRARY_PATH and KVSWAP_LIBCUDA.",
    ),
    Trouble(
        "several_libraries",
        Status.WARNING,
        "several driver libraries are on this machine",
        detect.several_libraries,
        "One hides the other, and only the one that fits the kernel module works (error "
        "803 otherwise). Remove the one that is left from an old driver or was copied "
        "into an image, or name the right one in KVSWAP_LIBCUDA.",
    ),
    Trouble(
        "driver_not_usable",
        Status.PROBLEM,
        "the driver cannot be used",
        detect.driver_not_usable,
        "kvswap needs a driver for CUDA 11.4 or newer: 470 or newer. Update it.",
    ),
    Trouble(
        "required_entry_missing",
        Status.PROBLEM,
        "the driver lacks functions that every copy needs",
        detect.required_entry_missing,
        "A driver for CUDA 11.4 or newer has them all. If the version says so, another "
        "library answers in its place: compare the path with the driver's.",
    ),
    Trouble(
        "optional_entry_missing",
        Status.WARNING,
        "the driver lacks functions that its version should have",
        detect.optional_entry_missing,
        "Swaps work without them, slower. Something between kvswap and the driver may "
        "hide them, as a profiler or an interposing library: see LD_PRELOAD. Else "
        "install the driver again.",
    ),
    Trouble(
        "driver_before_12_0",
        Status.WARNING,
        "the driver is older than CUDA 12.0: no copy kernels",
        detect.driver_before_12_0,
        "Small blocks go one by one through the copy engines, many times slower. "
        "Update the driver to 525 or newer, better to 570 or newer.",
    ),
    Trouble(
        "driver_before_12_8",
        Status.WARNING,
        "the driver is older than CUDA 12.8: no batch call",
        detect.driver_before_12_8,
        "Large blocks are submitted one by one, which costs CPU time. Update the driver "
        "to 570 or newer. Nothing has to be rebuilt.",
    ),
    Trouble(
        "simulated_driver",
        Status.WARNING,
        "this is the simulated driver, not a GPU",
        detect.simulated_driver,
        "Bytes are real, times are not. To use the machine's driver, unset "
        "KVSWAP_LIBCUDA and the KVSWAP_SIM_ variables.",
    ),
    # Its start ----------------------------------------------------------------
    Trouble(
        "driver_does_not_answer",
        Status.PROBLEM,
        "the driver hangs or ends the process",
        detect.driver_does_not_answer,
        "See dmesg for Xid errors, and whether nvidia-smi answers. A hanging driver "
        "needs a reset of the GPU or a reboot.",
    ),
    Trouble(
        "no_permission",
        Status.PROBLEM,
        "this user may not open the GPU",
        detect.no_permission,
        "Join the group of the device files (ls -l /dev/nvidia*; often video or render: "
        "sudo usermod -aG video $USER, then log in again), or have udev make them "
        "writable for all, which is NVIDIA's default.",
    ),
    Trouble(
        "container_without_devices",
        Status.PROBLEM,
        "a container without the GPU's devices",
        detect.container_without_devices,
        "Start the container with them: docker run --gpus all (with the NVIDIA "
        "Container Toolkit), or podman run --device nvidia.com/gpu=all; in Kubernetes "
        "ask for nvidia.com/gpu. NVIDIA_DRIVER_CAPABILITIES needs compute.",
    ),
    Trouble(
        "no_visible_gpu",
        Status.PROBLEM,
        "CUDA_VISIBLE_DEVICES hides every GPU",
        detect.no_visible_gpu,
        "Unset CUDA_VISIBLE_DEVICES, or list the GPUs that are wanted: 0,1.",
    ),
    Trouble(
        "mig_without_instance",
        Status.PROBLEM,
        "MIG is enabled, and there is no instance",
        detect.mig_without_instance,
        "Create instances (nvidia-smi mig -cgi ... -C), or disable MIG (nvidia-smi -mig "
        "0). CUDA_VISIBLE_DEVICES takes an instance as MIG-..., from nvidia-smi -L.",
    ),
    Trouble(
        "no_gpu",
        Status.PROBLEM,
        "the driver sees no GPU",
        detect.no_gpu,
        "See what nvidia-smi -L lists. If it lists GPUs, CUDA_VISIBLE_DEVICES names "
        "others. If it lists none, see lspci and dmesg: the GPU may have dropped from "
        "the bus, or the kernel module is not loaded (sudo modprobe nvidia).",
    ),
    Trouble(
        "gpu_asked_for",
        Status.PROBLEM,
        "there is no GPU of the number that --gpu asks for",
        detect.gpu_asked_for,
        "Numbers begin with 0, and count what CUDA_VISIBLE_DEVICES leaves.",
    ),
    Trouble(
        "system_not_ready",
        Status.PROBLEM,
        "the driver starts with error 802",
        detect.system_not_ready,
        "GPUs joined by NVSwitch need the fabric manager, of exactly the driver's "
        "version: systemctl status nvidia-fabricmanager.",
    ),
    Trouble(
        "driver_mismatch",
        Status.PROBLEM,
        "the driver's library and its kernel module do not fit (error 803)",
        detect.driver_mismatch,
        "After an update of the driver: reboot. In a container: the image brings a "
        "libcuda of its own (cuda-compat, /usr/local/cuda/compat) that is too old or "
        "too new: take it out of LD_LIBRARY_PATH.",
    ),
    Trouble(
        "forward_compatibility",
        Status.PROBLEM,
        "forward compatibility is not supported on this GPU (error 804)",
        detect.forward_compatibility,
        "The cuda-compat package works on data-centre GPUs only. Take "
        "/usr/local/cuda/compat out of LD_LIBRARY_PATH, or remove the package; kvswap "
        "needs no toolkit, and runs on the driver as it is.",
    ),
    Trouble(
        "initialization_failed",
        Status.PROBLEM,
        "the driver does not start",
        detect.initialization_failed,
        "Look the error up by its name. 999: the nvidia-uvm module is often not loaded "
        "(sudo nvidia-modprobe -u). 46: another process uses the GPU alone. See dmesg.",
    ),
    # The GPUs -----------------------------------------------------------------
    Trouble(
        "no_kernel_image",
        Status.WARNING,
        "no copy kernel runs on the GPU",
        detect.no_kernel_image,
        "Small blocks go through the copy engines, slower. Use a newer kvswap for a "
        "newer GPU; a checkout compiles kernels for more GPUs: docs/adding_a_toolkit.md.",
    ),
    Trouble(
        "kernel_unavailable",
        Status.WARNING,
        "the copy kernels do not load",
        detect.kernel_unavailable,
        "Small blocks go through the copy engines, slower. The message says what the "
        "driver answered; with this report it makes a bug report.",
    ),
    Trouble(
        "narrow_link",
        Status.WARNING,
        "a GPU's PCIe link has fewer lanes than it could",
        detect.narrow_link,
        "Speed is lost in proportion. Look at the slot, at the riser, and at what shares "
        "its lanes. A lower generation alone is normal while a GPU idles.",
    ),
    Trouble(
        "far_numa_node",
        Status.WARNING,
        "host memory lies on another NUMA node than the GPU",
        detect.far_numa_node,
        "Copies cross the link between the sockets. Run the process beside the GPU: "
        "numactl --cpunodebind=N --membind=N, or give the container CPUs and memory of "
        "that node. kvswap.pinned_pool prefers the GPU's node where it may.",
    ),
    Trouble(
        "mig_slice",
        Status.NOTE,
        "the GPU is divided (MIG)",
        detect.mig_slice,
        "Instances share the link: what others copy is missing here.",
    ),
    Trouble(
        "host_pointers",
        Status.NOTE,
        "registered host memory has another address on the GPU",
        detect.host_pointers,
        "The copy kernels leave such memory to the copy engines. Memory that is "
        "allocated pinned, as by torch's pin_memory, is not concerned.",
    ),
    # Settings -----------------------------------------------------------------
    Trouble(
        "wrong_value",
        Status.PROBLEM,
        "an environment variable of kvswap has a value that every call refuses",
        detect.wrong_value,
        "KVSWAP_ENGINE is one of auto, batch, loop, kernel and bridge; KVSWAP_MAX_BATCH "
        "a whole number above zero. Or unset them.",
    ),
    Trouble(
        "forced_engine",
        Status.WARNING,
        "KVSWAP_ENGINE forces one engine for everything",
        detect.forced_engine,
        "auto picks by size, direction and stream. loop is the slowest nearly "
        "everywhere. Unset KVSWAP_ENGINE when the experiment is over.",
    ),
    Trouble(
        "unknown_variable",
        Status.WARNING,
        "a KVSWAP_ variable that kvswap does not know",
        detect.unknown_variable,
        "It has no effect. docs/versions.md lists the variables.",
    ),
    Trouble(
        "launch_blocking",
        Status.WARNING,
        "CUDA_LAUNCH_BLOCKING makes every launch wait",
        detect.launch_blocking,
        "Unset it once debugging is over.",
    ),
    # Limits -------------------------------------------------------------------
    Trouble(
        "locked_memory_limit",
        Status.NOTE,
        "ulimit -l is low",
        detect.locked_memory_limit,
        "NVIDIA's driver on Linux does not count pinned memory against it, but RDMA "
        "and some other drivers do. Where pinning or registering fails for "
        "lack of memory, raise it: ulimit -l unlimited, LimitMEMLOCK=infinity in "
        "systemd, docker run --ulimit memlock=-1.",
    ),
    Trouble(
        "cgroup_full",
        Status.WARNING,
        "little memory is left in this control group",
        detect.cgroup_full,
        "A pool of pinned memory counts at once and as a whole, and the process is "
        "killed when the limit is reached. Raise it (docker run --memory, the "
        "limits of a pod), or make the host pool smaller.",
    ),
    Trouble(
        "cgroup_limit",
        Status.NOTE,
        "memory is limited by a control group",
        detect.cgroup_limit,
        "Pinned memory counts against it. Size the host pool by this limit, not by the "
        "machine's memory.",
    ),
    # torch --------------------------------------------------------------------
    Trouble(
        "torch_without_cuda",
        Status.WARNING,
        "torch has no CUDA, and there is a GPU",
        detect.torch_without_cuda,
        "Install a build with CUDA: pytorch.org/get-started names the index that pip "
        "needs. kvswap works without, but torch can hold nothing on the GPU.",
    ),
    Trouble(
        "torch_newer_than_driver",
        Status.WARNING,
        "torch is built for a newer CUDA than the driver",
        detect.torch_newer_than_driver,
        "torch will not use the GPU. Update the driver, or install torch for the "
        "driver's CUDA. kvswap itself fits every driver.",
    ),
    Trouble(
        "torch_sees_no_gpu",
        Status.WARNING,
        "torch has CUDA and sees no GPU",
        detect.torch_sees_no_gpu,
        "python -c 'import torch; torch.cuda.init()' tells why.",
    ),
    Trouble(
        "torch_operators",
        Status.WARNING,
        "kvswap's operators for torch do not load",
        detect.torch_operators,
        "torch.ops.kvswap needs torch 2.10 or newer, and a kvswap that was built with "
        "them, as released wheels are. kvswap.swap_blocks_batch works with any torch.",
    ),
    # The doctor itself --------------------------------------------------------
    Trouble(
        "section_failed",
        Status.WARNING,
        "a part of this report could not be made",
        detect.section_failed,
        "The message says why. With this report it makes a bug report.",
    ),
)

_ORDER = (Status.PROBLEM, Status.WARNING, Status.NOTE)


def findings(report: Report) -> list[Finding]:
    """The troubles that the report shows, gravest first."""
    found = [
        (trouble, text)
        for trouble in TROUBLES
        if (text := trouble.detect(report)) is not None
    ]
    found.sort(key=lambda pair: _ORDER.index(pair[0].severity))
    return [
        Finding(
            name=trouble.name,
            severity=trouble.severity.value,
            symptom=trouble.symptom,
            found=text,
            advice=trouble.advice,
        )
        for trouble, text in found
    ]
