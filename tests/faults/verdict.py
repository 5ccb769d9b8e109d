"""What may come of a call in which the driver failed, and what may not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import kvswap
from kvswap_sim import Call
from tests.faults.operations import OPERATIONS, Outcome
from tests.faults.world import Bytes, World

# Functions that submit copies.
COPY_ENTRIES = frozenset({"cuMemcpyAsync", "cuMemcpyBatchAsync", "cuLaunchKernel"})

# What stays behind where the driver refuses to take it back: the driver's doing.
_TAKES_BACK = {
    "cuCtxPopCurrent": "context_stack",
    "cuDevicePrimaryCtxRelease": "primary_retained",
    "cuEventDestroy": "events",
    "cuModuleUnload": "modules",
    "cuMemHostUnregister": "registrations",
}

# What a context keeps once it has been bridged.
_OF_BRIDGE = {"streams": 1, "events": 2}

# Functions whose failure a call need not tell of, and why.
_NEED_NOT_TELL = {
    "cuModuleLoadData": "without the larger image, launches hold fewer copies",
    "cuModuleGetFunction": "the same",
    "cuFuncSetAttribute": "the same",
    "cuModuleUnload": "of an image whose refusal is what the result tells",
    "cuEventDestroy": "of a ticket that is gone, or of a bridge that is told of",
    "cuThreadExchangeStreamCaptureMode": "of the way back, after a call that succeeded",
    "cuEventQuery": "of what is kept for earlier copies: it is kept on",
    "cuGetErrorName": "another failure is what the result tells; its name is missing",
    "cuMemHostUnregister": "of a pool that is gone; it is logged",
    "cuCtxGetCurrent": "of a pool or ticket that is gone; it is logged",
    "cuCtxGetDevice": "the same",
    "cuCtxPopCurrent": "the same, and after a question about a ticket",
}

# Entries whose failure turns the kernels of a context off for good.
_OF_KERNELS = frozenset(
    {"cuModuleLoadData", "cuModuleGetFunction", "cuFuncSetAttribute"}
)


@dataclass(frozen=True)
class Fault:
    """One failure of the driver.

    Attributes:
        entry: the driver function.
        code: the CUresult.
        call: which of its calls in the operation, from 1.
        index: what a batch call reports as the copy at fault.
        after: it fails after it has done its work.
    """

    entry: str
    code: int
    call: int
    index: int | None = None
    after: bool = False

    def __str__(self) -> str:
        text = f"{self.entry} call {self.call} answers {self.code}"
        if self.index is not None:
            text += f", index {self.index}"
        return text + (", after its work" if self.after else "")


@dataclass
class Seen:
    """What a case showed."""

    outcome: Outcome
    calls: list[Call]
    problems: list[str]  # of contexts, captures and mistakes that the driver noted
    bytes: Bytes
    again: Outcome  # of the healthy call afterwards
    bytes_again: Bytes
    live: dict[str, int]


@dataclass
class Baseline:
    """What the same case shows where nothing fails."""

    unavailable: dict[str, str]
    live: dict[str, int]
    # How often each driver function is called.
    counts: dict[str, int] = field(default_factory=dict)


def unavailable(outcome: Outcome) -> dict[str, str]:
    """The engines that did not run though wanted, over all of an operation."""
    reasons: dict[str, str] = dict(outcome.note or {})
    for result in outcome.results:
        reasons.update(result.unavailable)
    return reasons


def _failed_calls(calls: list[Call]) -> list[Call]:
    return [call for call in calls if call.note == "failed on demand"]


def _check_error(
    world: World,
    error: kvswap.SwapError,
    outcome: Outcome,
    faults: list[Fault],
    failed: list[Call],
) -> list[str]:
    problems = []
    codes = {fault.code for fault in faults}
    if error.cuda_error not in codes:
        problems.append(f"tells of error {error.cuda_error}, not of {sorted(codes)}")
    if error.status not in ("driver", "capture", "unsupported"):
        problems.append(f"has status {error.status}")
    told = next((f for f in faults if f.code == error.cuda_error), faults[0])
    call = next((c for c in failed if c.name == told.entry), None)
    blamed: int | None = None
    if call is None:
        problems.append("raised though nothing had failed")
    elif call.name == "cuMemcpyAsync":
        blamed = call.arguments["destination"]
    elif call.name == "cuMemcpyBatchAsync" and told.index is not None:
        destinations = call.arguments["destinations"]
        if told.index < len(destinations):
            blamed = destinations[told.index]
    if error.destination != blamed:
        problems.append(f"blames the copy to {error.destination}, not to {blamed}")
    if (error.index is None) is not (blamed is None):
        problems.append(f"has index {error.index} for the copy to {blamed}")
    if blamed is not None and outcome.step == "swap_blocks_batch":
        if error.index != world.position_of(blamed):
            problems.append(f"index {error.index} for {world.position_of(blamed)}")
    if str(error.cuda_error) not in str(error):
        problems.append(f"the message lacks the error: {error}")
    return problems


def judge(
    operation: str, world: World, baseline: Baseline, faults: list[Fault], seen: Seen
) -> tuple[str, list[str]]:
    """The kind of outcome, and everything that is wrong with it."""
    problems = list(seen.problems)
    outcome, error = seen.outcome, seen.outcome.error
    entries = {fault.entry for fault in faults}
    failed = _failed_calls(seen.calls)
    if {call.name for call in failed} != entries:
        problems.append("the fault was not met")

    copies = OPERATIONS[operation].copies
    submitted, submitted_bytes = outcome.submitted
    may_have_more = any(f.after and f.entry in COPY_ENTRIES for f in faults)
    # Where neither the legacy stream nor the host can wait, the message says so.
    is_unordered = error is not None and "synchronise with the context" in str(error)
    if is_unordered and len(faults) < 2:
        problems.append("copies are left that nothing waits for")
    if copies and not may_have_more and not is_unordered:
        if submitted != len(seen.bytes.written):
            problems.append(
                f"{submitted} submitted, and {len(seen.bytes.written)} written"
            )
        if submitted_bytes != seen.bytes.bytes:
            problems.append(
                f"{submitted_bytes} bytes submitted, and {seen.bytes.bytes} written"
            )
    if submitted > len(seen.bytes.written) and not is_unordered:
        problems.append(f"of {submitted} submitted, {len(seen.bytes.written)} written")
    if not seen.bytes.is_clean:
        problems.append("bytes outside of the copies were written")

    reasons = unavailable(outcome)
    if error is not None:
        kind = "raised after some were submitted" if submitted else "raised"
        problems += _check_error(world, error, outcome, faults, failed)
    else:
        if copies and submitted != world.copy_count:
            problems.append(f"succeeded with {submitted} of {world.copy_count} copies")
        if reasons != baseline.unavailable:
            kind = "done by another engine, which the result tells"
        elif entries <= _NEED_NOT_TELL.keys():
            kind = "done all the same"
        else:
            kind = "done"
            problems.append("a failure was swallowed, and nothing tells of it")

    again = seen.again
    if again.error is not None:
        problems.append(f"the next call failed: {again.error}")
    elif copies and (
        len(seen.bytes_again.written) != world.copy_count
        or again.submitted[0] != world.copy_count
    ):
        problems.append("the next call's bytes are wrong")
    if not seen.bytes_again.is_clean:
        problems.append("the next call wrote other bytes")
    more = {
        engine: reason
        for engine, reason in unavailable(again).items()
        if baseline.unavailable.get(engine) != reason
    }
    if more and not (
        entries & _OF_KERNELS and set(more.values()) <= {"no_kernel_image"}
    ):
        problems.append(f"the next call goes without {more}")

    allowed = Counter(_TAKES_BACK[entry] for entry in entries & _TAKES_BACK.keys())
    if "cuStreamCreate" in {call.name for call in seen.calls} - baseline.counts.keys():
        allowed += Counter(_OF_BRIDGE)  # opened as another engine fell back to it
    for what, count in seen.live.items():
        if count > baseline.live[what] + allowed[what]:
            problems.append(f"leaked: {count} {what}, not {baseline.live[what]}")
    return kind, problems
