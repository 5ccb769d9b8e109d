"""The fault matrix: every driver call that an operation makes fails, in turn.

Nothing is listed here: an operation runs once on a healthy driver, the record of its calls
says which functions it called and how often, and then each fails at its first, middle and
last call with every code. What a failing run calls that the healthy one did not (what
cleans up, what falls back) fails too, in a second round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import kvswap
from kvswap import in_flight
from kvswap.testing.cuda_driver import CAPTURE_GLOBAL
from kvswap_sim import Simulator
from tests.faults.operations import OPERATIONS, Outcome
from tests.faults.verdict import COPY_ENTRIES, Baseline, Fault, Seen, judge, unavailable
from tests.faults.world import THREADS, World

# Codes that a driver may answer with: invalid value, out of memory, not supported, not
# permitted; capture unsupported, invalidated, implicit; context destroyed, launch failure,
# and one without a name.
CODES = (1, 2, 801, 800, 900, 901, 906, 709, 719, 998)

# More of what a batch call may tell of the copy at fault: the first, a later one, and
# what is no position in the call.
_BATCH_INDICES = (0, 2, 10**6, 2**64 - 1)

# Functions that submit work: a driver may report an earlier error and do it all the same.
_WORK = COPY_ENTRIES | {"cuEventRecord", "cuStreamWaitEvent"}


@dataclass(frozen=True)
class Case:
    """Which operation, and in which surroundings."""

    operation: str
    engine: str
    stream: str
    thread: str

    def __str__(self) -> str:
        return f"{self.operation} {self.engine} {self.stream} {self.thread}"


def cases(engine: str, stream: str) -> list[Case]:
    """All that is called with an engine on a kind of stream."""
    found = []
    for name, operation in OPERATIONS.items():
        if operation.has_engines:
            threads = THREADS if name == "swap" else THREADS[:1]
            found += [Case(name, engine, stream, thread) for thread in threads]
    return found


def other_cases() -> list[Case]:
    """What has no engine and no stream."""
    return [
        Case(name, "auto", "non_blocking", "current")
        for name, operation in OPERATIONS.items()
        if not operation.has_engines
    ]


@dataclass
class Summary:
    """What was tried, and what came of it."""

    faults: set[tuple[str, int]] = field(default_factory=set)
    entries: set[str] = field(default_factory=set)
    cases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def add(self, other: Summary) -> None:
        """Takes in what another one has."""
        self.faults |= other.faults
        self.entries |= other.entries
        self.cases += other.cases
        self.kinds += other.kinds
        self.problems += other.problems

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())
        return (
            f"{len(self.faults)} faults of {len(self.entries)} driver functions in "
            f"{self.cases} cases: {kinds}; {len(self.problems)} problems"
        )


def _observe(
    simulator: Simulator, case: Case, faults: list[Fault]
) -> tuple[World, Seen]:
    """The operation with these failures, then once more on a healthy driver."""
    world = World(simulator, case.stream, case.thread)
    call = OPERATIONS[case.operation].call
    with world.calling_thread():
        alive = simulator.live()
        stack = world.driver.current_context(), alive["context_stack"]
        world.begin_captures()
        simulator.clear_trace()
        for fault in faults:
            simulator.fail(
                fault.entry,
                fault.code,
                fault.call,
                index=fault.index,
                after=fault.after,
            )
        outcome = call(world, case.engine)
        simulator.clear_faults()
        calls = simulator.trace()
        problems = []
        alive_after = simulator.live()
        if not any(f.entry == "cuCtxPopCurrent" and not f.after for f in faults):
            now = world.driver.current_context(), alive_after["context_stack"]
            if now != stack:
                problems.append(f"the thread's contexts were {stack} and are {now}")
        else:
            # What the driver would not pop.
            while simulator.live()["context_stack"] > stack[1]:
                world.driver.call("cuCtxPopCurrent_v2", None)
        if alive_after["primary_retained"] != alive["primary_retained"] and not any(
            f.entry == "cuDevicePrimaryCtxRelease" for f in faults
        ):
            problems.append("a primary context was retained and not released")
        mode = world.exchange_capture_mode()
        if mode != CAPTURE_GLOBAL and not any(
            f.entry == "cuThreadExchangeStreamCaptureMode" for f in faults
        ):
            problems.append(f"the thread's capture mode was left at {mode}")
        problems += world.end_captures()
        world.synchronize()
        written = world.look()
        _let_go(outcome)
        live = world.live()
        world.clear()
        world.begin_captures()
        again = call(world, case.engine)
        problems += [f"then {text}" for text in world.end_captures()]
        world.synchronize()
        with world.context.current():
            world.driver.synchronize()
        _let_go(again)
        seen = Seen(
            outcome, calls, problems, written, again, world.look(), world.live()
        )
        problems += simulator.violations()
        if not faults and seen.live != live:
            problems.append(f"a healthy call leaked: {live}, then {seen.live}")
    return world, seen


def _let_go(*outcomes: Outcome) -> None:
    """What only a traceback or kvswap itself keeps, until copies are done."""
    for outcome in outcomes:
        if outcome.error is not None:
            outcome.error.__traceback__ = None
    while in_flight.count():
        before = in_flight.count()
        in_flight.release_done()
        if in_flight.count() == before:
            break


def baseline_of(simulator: Simulator, case: Case) -> Baseline:
    """The case without a failure.

    Raises:
        AssertionError: it has a problem even so.
    """
    kvswap.driver_info()  # looks the driver's functions up, once a process
    world, seen = _observe(simulator, case, [])
    baseline = Baseline(unavailable(seen.outcome), seen.live)
    baseline.counts = dict(Counter(call.name for call in seen.calls))
    copies = OPERATIONS[case.operation].copies
    for outcome, written in (
        (seen.outcome, seen.bytes),
        (seen.again, seen.bytes_again),
    ):
        assert outcome.error is None, f"{case}: {outcome.error}"
        assert written.is_clean, case
        if copies:
            assert len(written.written) == world.copy_count, case
    assert seen.problems == [], f"{case}: {seen.problems}"
    return baseline


def _positions(count: int) -> list[int]:
    return sorted({1, (count + 1) // 2, count})


def _faults(entry: str, count: int, number: int, code_count: int) -> Iterator[Fault]:
    for call in _positions(count):
        # Other codes in each case: where not all are tried, all are over the cases.
        start = number + call + len(entry)
        for step in range(code_count):
            yield Fault(entry, CODES[(start + step) % len(CODES)], call)
    if entry == "cuMemcpyBatchAsync":
        for index in _BATCH_INDICES:
            yield Fault(entry, 1, count, index)
    if entry in _WORK:
        yield Fault(entry, 719, count, after=True)


def run_case(simulator: Simulator, case: Case, number: int, code_count: int) -> Summary:
    """Every fault of a case.

    Args:
        simulator: the driver of this process.
        case: the operation and its surroundings.
        number: of the case, which chooses the codes where not all are tried.
        code_count: how many codes each call answers with, one after another.
    """
    summary = Summary()
    baseline = baseline_of(simulator, case)

    def attempt(faults: list[Fault]) -> set[str]:
        world, seen = _observe(simulator, case, faults)
        kind, problems = judge(case.operation, world, baseline, faults, seen)
        summary.cases += 1
        summary.kinds[kind] += 1
        for fault in faults:
            summary.faults.add((fault.entry, fault.code))
            summary.entries.add(fault.entry)
        text = f"{case}: {' and '.join(map(str, faults))}"
        summary.problems += [f"{text}: {problem}" for problem in problems]
        return {call.name for call in seen.calls} - baseline.counts.keys()

    second_round: dict[tuple[str, str], Fault] = {}
    for entry, count in baseline.counts.items():
        for fault in _faults(entry, count, number, code_count):
            for name in attempt([fault]):
                second_round.setdefault((entry, name), fault)
    for (_, name), fault in second_round.items():
        attempt([fault, Fault(name, 2 if fault.code != 2 else 1, 1)])
    return summary
