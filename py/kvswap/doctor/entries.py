"""The driver's functions, and what it costs to lack one."""

from __future__ import annotations

from typing import Any

from kvswap.doctor.schema import Entry

_EVENTS = "no bridge on the legacy stream, and no tickets of block pools"
_KERNELS = "no copy kernels: small blocks go to the copy engines, which are slower"
_REGISTER = "kvswap.pinned_pool cannot pin memory"

_COSTS = {
    "cuMemcpyBatchAsync": "no batch call: each large block is a call of its own",
    "cuEventCreate": _EVENTS,
    "cuEventRecord": _EVENTS,
    "cuEventQuery": _EVENTS,
    "cuEventSynchronize": _EVENTS,
    "cuEventDestroy": _EVENTS,
    "cuStreamWaitEvent": _EVENTS,
    "cuStreamCreate": "no bridge: large blocks on the legacy stream go one by one",
    "cuThreadExchangeStreamCaptureMode": "tickets are not asked while graphs are captured",
    "cuMemHostRegister": _REGISTER,
    "cuMemHostUnregister": _REGISTER,
    "cuCtxGetId": _KERNELS,
    "cuModuleLoadData": _KERNELS,
    "cuModuleUnload": _KERNELS,
    "cuModuleGetFunction": _KERNELS,
    "cuFuncSetAttribute": "no bulk kernel: the plain one runs instead",
    "cuLaunchKernel": _KERNELS,
}


def entries(info: dict[str, Any] | None) -> list[Entry]:
    """From the entries of ``kvswap.driver_info()``."""
    return [
        Entry(
            name=entry["name"],
            version=entry["version"],
            required=entry["required"],
            present=entry["present"],
            cuda_error=entry["cuda_error"],
            query_status=entry["query_status"],
            message=entry["message"],
            cost=_cost(entry["name"], entry["required"]),
        )
        for entry in (info or {}).get("entries", ())
    ]


def _cost(name: str, required: bool) -> str:
    if required:
        return "no copy can be made"
    return _COSTS.get(name, "something falls back to another way")
