"""What the fault matrix calls: each public operation, its steps one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import kvswap
from tests.faults.world import World

ENGINES = ("auto", "batch", "loop", "kernel", "bridge")

# So small that a call makes several batches.
_MAX_BATCH = 4


@dataclass
class Outcome:
    """What came of an operation.

    Attributes:
        results: of the calls that submitted copies.
        error: of the step that failed.
        step: its name.
        is_copying: whether that step was the one that submits copies.
        note: of an operation without copies: the engines that cannot run, and why.
    """

    results: list[kvswap.SwapResult] = field(default_factory=list)
    error: kvswap.SwapError | None = None
    step: str = ""
    is_copying: bool = True
    note: dict[str, str] | None = None

    @property
    def submitted(self) -> tuple[int, int]:
        """Copies and bytes that the calls say were submitted."""
        counts = [(r.submitted, r.submitted_bytes) for r in self.results]
        if self.error is not None and self.is_copying:
            counts.append((self.error.submitted, self.error.submitted_bytes))
        return sum(c[0] for c in counts), sum(c[1] for c in counts)


@contextmanager
def _step(outcome: Outcome, name: str, is_copying: bool) -> Iterator[None]:
    try:
        yield
    except kvswap.SwapError as error:
        if outcome.error is None:
            outcome.error, outcome.step, outcome.is_copying = error, name, is_copying


def swap(world: World, engine: str) -> Outcome:
    """Descriptors, in both directions at once."""
    outcome = Outcome()
    with _step(outcome, "swap_blocks_batch", True):
        outcome.results.append(
            kvswap.swap_blocks_batch(
                *world.descriptors(),
                stream=world.stream,
                engine=engine,
                max_batch=_MAX_BATCH,
            )
        )
    return outcome


def plan(world: World, engine: str) -> Outcome:
    """Only says what would be done."""
    outcome = Outcome(is_copying=False)
    with _step(outcome, "plan", False):
        outcome.note = kvswap.plan(
            *world.descriptors(),
            stream=world.stream,
            engine=engine,
            max_batch=_MAX_BATCH,
        ).unavailable
    return outcome


def kernel_info(world: World, engine: str) -> Outcome:
    """Loads the kernels, and tells of them."""
    outcome = Outcome(is_copying=False)
    with _step(outcome, "kernel_info", False):
        info = kvswap.kernel_info()
        outcome.note = {} if info.available else {"kernel": info.reason or info.message}
    return outcome


def pools(world: World, engine: str) -> Outcome:
    """Blocks of two layers between pools, and every function of their ticket."""
    outcome = Outcome()
    # One region for each descriptor, one block in each: what is copied is the same.
    halves: list[tuple[kvswap.BlockPool, kvswap.BlockPool]] = []
    sources, destinations, sizes = world.descriptors()
    to_gpu = [
        world.host.address <= int(source) < world.host.address + world.host.size
        for source in sources
    ]
    for direction in (True, False):
        chosen = [i for i, size in enumerate(sizes) if size and to_gpu[i] is direction]
        half = len(chosen) // 2
        source, destination = (
            kvswap.BlockPool.from_regions(
                [
                    (int(side[i]), int(sizes[i]), int(sizes[i]), int(n >= half))
                    for n, i in enumerate(chosen)
                ],
                1,
            )
            for side in (sources, destinations)
        )
        halves.append((source, destination))
    tickets: list[kvswap.Ticket] = []
    for number, (source, destination) in enumerate(halves):
        with _step(outcome, f"copy_blocks {number}", True):
            ticket = kvswap.copy_blocks(
                source,
                destination,
                [(0, 0)],
                stream=world.stream,
                engine=engine,
                max_batch=_MAX_BATCH,
                layers=True,
                ticket=not world.is_capturing,
            )
            outcome.results.append(ticket.result)
            tickets.append(ticket)
        if outcome.error is not None:
            break
    if world.is_capturing:
        return outcome
    for ticket in tickets:
        with _step(outcome, "done", False):
            ticket.layer(0).done()
        with _step(outcome, "wait_stream", False):
            ticket.wait_stream(world.stream)
        with _step(outcome, "wait", False):
            ticket.layer(0).wait()
        with _step(outcome, "wait for all", False):
            ticket.wait()
    return outcome


def pinned_pool(world: World, engine: str) -> Outcome:
    """Registers memory in three chunks, and takes that back."""
    outcome = Outcome(is_copying=False)
    like = kvswap.BlockPool.from_regions(
        [(world.device.address, 4096, 4096)], 4, device=0
    )
    with _step(outcome, "pinned_pool", False):
        pool = kvswap.pinned_pool(like, 12, max_chunk_bytes=4 * 4096)
        del pool
    return outcome


@dataclass(frozen=True)
class Operation:
    """An operation, and in which ways it is called.

    Attributes:
        call: it.
        copies: whether it copies all of the world's descriptors.
        has_engines: whether the engine, the stream and the thread matter to it.
    """

    call: Callable[[World, str], Outcome]
    copies: bool
    has_engines: bool = True


OPERATIONS = {
    "swap": Operation(swap, copies=True),
    "pools": Operation(pools, copies=True),
    "plan": Operation(plan, copies=False),
    "kernel_info": Operation(kernel_info, copies=False, has_engines=False),
    "pinned_pool": Operation(pinned_pool, copies=False, has_engines=False),
}
