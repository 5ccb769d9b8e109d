"""What kvswap's calls return: plans, the driver, counters, kinds of memory.

All are immutable, compare by value and can be pickled. Names of engines,
reasons, kinds and states are those of the library (``csrc/kvswap.h``).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Memory:
    """One side of a copy, as the driver describes it.

    Attributes:
        kind: "device", "pinned" (page-locked or registered host memory),
            "managed", "pageable" (host memory that CUDA does not know), "none"
            (neither the GPU's nor accessible host memory) or "unknown" (not
            asked, or the driver would not say).
        device: ordinal of the device it belongs to, or None.
        range_start: address at which the allocation, registration or mapping
            begins; 0 where it is not known, as of pageable memory.
        range_size: bytes in it; 0 where it is not known.
    """

    kind: str
    device: int | None
    range_start: int
    range_size: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a call with the same arguments would do now, and why.

    Attributes:
        engine: the engine that would run; of several, the one with most copies.
        stream_kind: "legacy", "per_thread" or "created".
        capturing: whether the stream captures, so that the copies would become
            nodes of a graph.
        device: ordinal of the device whose context would be used, or None.
        copies: descriptors to submit.
        dropped: descriptors of size zero, which copy nothing.
        bytes: of all copies.
        driver_calls: copy calls into the driver and launches of copy kernels.
        max_batch: descriptors in one batch call at most.
        unavailable: for each engine that was asked for or preferred and would
            not run, or not for all copies: the reason, as "legacy_stream".
        explanations: the same reasons as sentences.
        engine_copies: descriptors that each engine would submit.
        coalesced: descriptors that copy engines would get together with a
            neighbour, since they are contiguous with it on both sides inside one
            allocation.
    """

    engine: str
    stream_kind: str
    capturing: bool
    device: int | None
    copies: int
    dropped: int
    bytes: int
    driver_calls: int
    max_batch: int
    unavailable: dict[str, str]
    explanations: dict[str, str]
    engine_copies: dict[str, int]
    coalesced: int


@dataclass(frozen=True, slots=True)
class DriverEntry:
    """One function that was looked up in the driver.

    Attributes:
        name: as cuGetProcAddress was asked for it.
        version: the version it was asked for, as 12080 for CUDA 12.8.
        required: whether no copy can be made without it.
        present: whether it was found.
        cuda_error: the CUresult that cuGetProcAddress returned.
        query_status: its CUdriverProcAddressQueryResult, or None where the
            driver's version of cuGetProcAddress tells none.
        message: why it is missing; empty where it is present.
    """

    name: str
    version: int
    required: bool
    present: bool
    cuda_error: int
    query_status: int | None
    message: str


@dataclass(frozen=True, slots=True)
class DriverInfo:
    """The CUDA driver, as this process found it.

    Attributes:
        usable: whether it has every required function.
        driver_version: as 12080 for CUDA 12.8; 0 without a driver.
        batch_available: whether it has cuMemcpyBatchAsync (since 12.8).
        toolkit_version: CUDA_VERSION of the headers that this build was checked
            against, 0 if it was built without. Binaries do not differ in it.
        path: the library that was loaded; empty where none was.
        message: why the driver is not usable; empty where it is.
        tried: a line for each library that was tried: its name, the outcome.
        entries: the functions that were looked up.
    """

    usable: bool
    driver_version: int
    batch_available: bool
    toolkit_version: int
    path: str
    message: str
    tried: tuple[str, ...]
    entries: tuple[DriverEntry, ...]


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """The engine "kernel" in a context.

    Attributes:
        available: whether it can run.
        reason: why it cannot, as "no_kernel_image"; None where it can, and where it is
            not known, as without a context.
        device: ordinal of the context's device; None where no context is current.
        compute_capability: of that device, as 90 for 9.0; 0 where it is not known.
        bulk: whether the bulk kernel is available too.
        parameter_bytes: of a launch at most.
        image: the image of the kernels that was loaded; empty where none was.
        message: why it is not available; empty where it is.
    """

    available: bool
    reason: str | None
    device: int | None
    compute_capability: int
    bulk: bool
    parameter_bytes: int
    image: str
    message: str


@dataclass(frozen=True, slots=True)
class Statistics:
    """What this process has submitted since its start, over all threads.

    ``str()`` is for people. The difference of two is what happened in between; fields are
    independent of one another while calls run.

    Attributes:
        calls: of swap_blocks_batch, and between block pools, that reached the
            library.
        errors: calls among them that failed.
        dropped: descriptors of size zero.
        copies: copies submitted, for each engine.
        bytes: bytes of them, for each engine.
        fallbacks: calls in which an engine that was asked for or preferred did
            not run, or not for all copies, for each reason.
        fallback_copies: copies that another engine submitted in such calls, for
            each reason.
        driver_calls: copy calls into the driver and launches of copy kernels that
            the driver accepted.
        coalesced: copies that copy engines got together with a neighbour.
        direction_copies: copies submitted, for each direction, as
            "host_to_device".
        direction_bytes: bytes of them, for each direction.
    """

    calls: int
    errors: int
    dropped: int
    copies: dict[str, int]
    bytes: dict[str, int]
    fallbacks: dict[str, int]
    fallback_copies: dict[str, int]
    driver_calls: int
    coalesced: int
    direction_copies: dict[str, int]
    direction_bytes: dict[str, int]

    def __sub__(self, earlier: Statistics) -> Statistics:
        """What happened between two readings."""

        def difference(name: str) -> Any:
            now, before = getattr(self, name), getattr(earlier, name)
            if isinstance(now, int):
                return now - before
            return {key: count - before.get(key, 0) for key, count in now.items()}

        return Statistics(
            **{field.name: difference(field.name) for field in fields(self)}
        )

    def __str__(self) -> str:
        """A line for each counter, and for mappings those that are not zero."""

        def text(value: int | dict[str, int]) -> str:
            if isinstance(value, int):
                return f"{value:,}"
            parts = [f"{key} {count:,}" for key, count in value.items() if count]
            return ", ".join(parts) or "none"

        return "\n".join(
            f"{field.name.replace('_', ' ')}: {text(getattr(self, field.name))}"
            for field in fields(self)
        )
