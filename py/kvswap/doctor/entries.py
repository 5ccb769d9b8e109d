"""The driver's functions, and what it costs to lack one."""

from __future__ import annotations

from typing import Any

from kvswap.doctor.schema import Entry

BATCH = "no batch call: large blocks are submitted one by one"
KERNELS = "no copy kernels: small blocks go through the copy engines, slower"
BRIDGE = "no bridge: large blocks on the legacy stream are submitted one by one"
TICKETS = "no tickets of block pools"
REGISTRATION = "no pinned pools: host memory cannot be registered"

_CAPTURE_MODE = "cuThreadExchangeStreamCaptureMode"
_EVENTS = (
    "cuEventCreate",
    "cuEventRecord",
    "cuEventDestroy",
    "cuStreamWaitEvent",
)

USES = (
    (BATCH, ("cuMemcpyBatchAsync",)),
    (
        KERNELS,
        (
            "cuCtxGetId",
            "cuModuleLoadData",
            "cuModuleUnload",
            "cuModuleGetFunction",
            "cuFuncSetAttribute",
            "cuLaunchKernel",
            _CAPTURE_MODE,
        ),
    ),
    (
        BRIDGE,
        (
            "cuStreamCreate",
            "cuStreamSynchronize",
            "cuCtxGetId",
            _CAPTURE_MODE,
            *_EVENTS,
        ),
    ),
    (TICKETS, ("cuEventQuery", "cuEventSynchronize", _CAPTURE_MODE, *_EVENTS)),
    (REGISTRATION, ("cuMemHostRegister", "cuMemHostUnregister", _CAPTURE_MODE)),
)
"""What is lost, and the functions that it needs."""


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
    return "; ".join(cost for cost, functions in USES if name in functions)
