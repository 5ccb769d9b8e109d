"""The environment variables that set up the simulated driver in a child."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping

from kvswap_sim._library import library_path


@dataclasses.dataclass(frozen=True)
class Fault:
    """A failure on demand.

    Attributes:
        entry: the driver function, as ``cuGetProcAddress`` takes it or as it is
            exported.
        code: the ``CUresult`` that it returns.
        call: which of its calls fails, the first is 1.
        index: what ``cuMemcpyBatchAsync`` reports as the copy at fault.
        after: fail after the work was done instead of in its place.
        above: instead of one call, let each ``cuMemcpyBatchAsync`` with more
            copies than this fail.
        every: let every call fail instead of one.
    """

    entry: str
    code: int
    call: int = 1
    index: int | None = None
    after: bool = False
    above: int | None = None
    every: bool = False

    def __str__(self) -> str:
        if self.above is not None:
            return f"{self.entry}>{self.above}={self.code}"
        call = "*" if self.every else self.call
        text = f"{self.entry}#{call}={self.code}"
        if self.index is not None:
            text += f",index={self.index}"
        if self.after:
            text += ",after"
        return text


def environment(
    driver_version: str = "13.0",
    *,
    devices: int = 1,
    compute_capability: str | None = None,
    device_attributes: Mapping[int, int] | None = None,
    kernels: Iterable[str | os.PathLike[str]] = (),
    seed: int | None = None,
    without: Iterable[str] = (),
    lookups: Mapping[str, str] | None = None,
    faults: Iterable[Fault | str] = (),
    trace: str | os.PathLike[str] | None = None,
) -> dict[str, str]:
    """All variables for a child process that is to use a simulated driver.

    Args:
        driver_version: of the driver, 11.4 to 13.5.
        devices: how many GPUs it has; with 0, ``cuInit`` fails.
        compute_capability: of the GPUs, such as "8.0"; None keeps the preset, 9.0.
        device_attributes: answers of ``cuDeviceGetAttribute``, by attribute, for all
            GPUs: ``{91: 0}`` for host pointers that devices cannot use.
        kernels: files of kernel plug-ins (``cuda_sim_kernel.h``); none: kvswap's own
            kernels, from the file beside the driver's library.
        seed: of the order in which work runs; None keeps the preset, 1.
        without: functions that ``cuGetProcAddress`` does not find.
        lookups: wrong answers of ``cuGetProcAddress``, by function: "code",
            "null" or "status" (see ``Simulator.lookup``).
        faults: failures on demand.
        trace: a file that the record of calls is appended to.
    """
    return {
        "KVSWAP_LIBCUDA": library_path(driver_version),
        "KVSWAP_SIM_DRIVER_VERSION": driver_version,
        "KVSWAP_SIM_DEVICES": str(devices),
        # Variables that are not asked for are set empty, so that a child does
        # not inherit the parent's.
        "KVSWAP_SIM_COMPUTE_CAPABILITY": compute_capability or "",
        "KVSWAP_SIM_DEVICE_ATTRIBUTES": ",".join(
            f"{attribute}={value}"
            for attribute, value in (device_attributes or {}).items()
        ),
        "KVSWAP_SIM_KERNELS": ":".join(os.fspath(file) for file in kernels),
        "KVSWAP_SIM_SEED": "" if seed is None else str(seed),
        "KVSWAP_SIM_WITHOUT": ",".join(without),
        "KVSWAP_SIM_LOOKUP": ",".join(
            f"{name}={lie}" for name, lie in (lookups or {}).items()
        ),
        "KVSWAP_SIM_FAULTS": ";".join(str(fault) for fault in faults),
        "KVSWAP_SIM_TRACE": "" if trace is None else os.fspath(trace),
    }
