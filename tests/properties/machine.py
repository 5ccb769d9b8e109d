"""Body of machine_property_test: long random programs, in a process with one driver.

Memory comes and goes, is registered and taken back, copied on streams that keep each
other's order, captured and launched again and again; a model of the bytes follows.
"""

from __future__ import annotations

import ctypes
import mmap
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

import kvswap
from kvswap.testing.cuda_driver import CudaDriver, Graph, GraphExecutable
from kvswap_sim import Simulator
from tests.engine.calls import swap
from tests.properties.bounds import bounded

_BLOCK = 48
_ENGINES = ("auto", "batch", "loop", "kernel", "bridge")
# The bridge alone makes an order of its own, by events.
_HANDED_ON_BY = (*_ENGINES, "bridge")
# All of them wait for each other.
_STREAMS = ("null", "legacy", "blocking")


@dataclass(eq=False)
class Memory:
    """Memory and what it must hold."""

    address: int
    owner: Any
    is_device: bool
    model: bytearray
    registration: Any = None

    def blocks(self) -> int:
        """How many whole blocks it has."""
        return len(self.model) // _BLOCK


@dataclass(frozen=True)
class BlockCopy:
    """One block to another."""

    source: Memory
    from_: int
    destination: Memory
    to: int

    def apply(self) -> None:
        """What it does, in the model."""
        start = self.from_ * _BLOCK
        content = self.source.model[start : start + _BLOCK]
        self.destination.model[self.to * _BLOCK : (self.to + 1) * _BLOCK] = content


@dataclass(eq=False)
class Captured:
    """A graph and what a launch of it does."""

    executable: GraphExecutable
    copies: list[BlockCopy]


class Machine(RuleBasedStateMachine):
    """The rules; every one of them leaves driver and model in the same state."""

    memories = Bundle("memories")
    graphs = Bundle("graphs")
    swaps = 0

    def __init__(self) -> None:
        super().__init__()
        self.simulator = Simulator()
        self.simulator.reset()
        self.driver = CudaDriver(self.simulator.path)
        self.context = self.driver.retain_primary()
        self.driver.call("cuCtxPushCurrent_v2", ctypes.c_void_p(self.context.handle))
        self.stream = self.driver.stream()
        self.captured: list[BlockCopy] | None = None
        self.live: list[Memory] = []
        self.contents = 0
        self.kept: list[Captured] = []

    def _handle(self, stream: str) -> int:
        return {"null": 0, "legacy": 1, "blocking": self.stream.handle}[stream]

    def _refill(self, memory: Memory) -> None:
        """Bytes that no memory has held: copies between equal ones show nothing."""
        self.contents += 1
        memory.model[:] = random.Random(self.contents).randbytes(len(memory.model))
        self._write(memory)

    def _write(self, memory: Memory) -> None:
        if memory.is_device:
            self.simulator.poke(memory.address, bytes(memory.model))
        else:
            ctypes.memmove(memory.address, bytes(memory.model), len(memory.model))

    @initialize(target=memories)
    def begin(self) -> Any:
        kinds = ("device", "pinned", "managed", "host", "device")
        return multiple(*(self.allocate(kind, 700) for kind in kinds))

    @precondition(lambda self: self.captured is None and len(self.live) < 8)
    @rule(
        target=memories,
        kind=st.sampled_from(["device", "pinned", "managed", "host"]),
        size=st.integers(1, 700),
    )
    def allocate(self, kind: str, size: int) -> Memory:
        owner: Any
        if kind == "host":
            owner = mmap.mmap(-1, size)
            address = ctypes.addressof(ctypes.c_char.from_buffer(owner))
        else:
            makers: dict[str, Callable[[int], Any]] = {
                "device": self.driver.device_memory,
                "pinned": self.driver.pinned_memory,
                "managed": self.driver.managed_memory,
            }
            owner = makers[kind](size)
            address = owner.address
        is_device = kind in ("device", "managed")
        memory = Memory(address, owner, is_device, bytearray(size))
        self._refill(memory)
        self.live.append(memory)
        return memory

    @precondition(lambda self: self.captured is None)
    @rule(memory=memories)
    def refill(self, memory: Memory) -> None:
        self.synchronize()
        self._refill(memory)

    @precondition(lambda self: self.captured is None)
    @rule(memory=consumes(memories))
    def free(self, memory: Memory) -> Any:
        if any(
            memory in (c.source, c.destination) for g in self.kept for c in g.copies
        ):
            return
        self.synchronize()
        self._unregister(memory)
        if not isinstance(memory.owner, mmap.mmap):
            memory.owner.close()
        self.live.remove(memory)

    @precondition(lambda self: self.captured is None)
    @rule(memory=memories)
    def register(self, memory: Memory) -> None:
        if isinstance(memory.owner, mmap.mmap) and memory.registration is None:
            memory.registration = self.driver.register(
                memory.address, len(memory.model)
            )

    @precondition(lambda self: self.captured is None)
    @rule(memory=memories)
    def unregister(self, memory: Memory) -> None:
        if any(
            memory in (c.source, c.destination) for g in self.kept for c in g.copies
        ):
            return
        self.synchronize()
        self._unregister(memory)

    def _unregister(self, memory: Memory) -> None:
        if memory.registration is not None:
            memory.registration.close()
            memory.registration = None

    @rule(
        source=memories,
        destination=memories,
        numbers=st.lists(
            st.tuples(st.integers(0, 13), st.integers(0, 13)), min_size=1, max_size=6
        ),
        stream=st.sampled_from(_STREAMS),
        engine=st.sampled_from(_ENGINES),
        max_batch=st.sampled_from([None, 1, 2]),
    )
    def swap(
        self,
        source: Memory,
        destination: Memory,
        numbers: list[tuple[int, int]],
        stream: str,
        engine: str,
        max_batch: int | None,
    ) -> None:
        if not source.blocks() or not destination.blocks():
            return
        if self.captured is not None:
            stream = "blocking"
            if not _is_pinned(source) or not _is_pinned(destination):
                return
        copies: list[BlockCopy] = []
        written: set[int] = set()
        read: set[int] = set()
        for from_, to in numbers:
            from_, to = from_ % source.blocks(), to % destination.blocks()
            is_same = source is destination
            if to in written or (is_same and (to in read or from_ in written)):
                continue
            if is_same and from_ == to:
                continue
            written.add(to)
            read.add(from_)
            copies.append(BlockCopy(source, from_, destination, to))
        if not copies:
            return
        result = swap(
            [copy.source.address + copy.from_ * _BLOCK for copy in copies],
            [copy.destination.address + copy.to * _BLOCK for copy in copies],
            [_BLOCK] * len(copies),
            stream=self._handle(stream),
            engine=engine,
            max_batch=max_batch,
        )
        assert result.submitted == len(copies)
        type(self).swaps += 1
        if self.captured is not None:
            self.captured += copies
            return
        for copy in copies:
            copy.apply()

    @precondition(lambda self: self.captured is None)
    @rule(
        first=memories,
        second=memories,
        third=memories,
        numbers=st.tuples(*[st.integers(0, 13)] * 3),
        streams=st.tuples(*[st.sampled_from(_STREAMS)] * 2),
        engines=st.tuples(*[st.sampled_from(_HANDED_ON_BY)] * 2),
        forth=st.booleans(),
    )
    def hand_on(
        self,
        first: Memory,
        second: Memory,
        third: Memory,
        numbers: tuple[int, int, int],
        streams: tuple[str, str],
        engines: tuple[str, str],
        forth: bool,
    ) -> None:
        """What a call writes the next one reads, or the other way round."""
        if first is second or second is third or not forth and first is third:
            return
        memories = (first, second, third)
        if not all(memory.blocks() for memory in memories):
            return
        self.simulator.hold()
        start, between, end = (
            number % memory.blocks()
            for number, memory in zip(numbers, memories, strict=True)
        )
        copies = [
            BlockCopy(first, start, second, between),
            BlockCopy(second, between, third, end),
        ]
        if not forth:
            copies.reverse()
        for copy, stream, engine in zip(copies, streams, engines, strict=True):
            swap(
                [copy.source.address + copy.from_ * _BLOCK],
                [copy.destination.address + copy.to * _BLOCK],
                [_BLOCK],
                stream=self._handle(stream),
                engine=engine,
            )
            copy.apply()
            type(self).swaps += 1

    @rule(memory=memories, over=st.integers(1, 9), stream=st.sampled_from(_STREAMS))
    def overrun(self, memory: Memory, over: int, stream: str) -> None:
        """Refused, whatever goes on beside it."""
        if not memory.is_device or len(self.live) < 2:
            return
        if self.captured is not None:
            stream = "blocking"
        other = next(each for each in self.live if each is not memory)
        size = len(memory.model) + over
        try:
            swap([memory.address], [other.address], [size], stream=self._handle(stream))
        except kvswap.SwapError as error:
            assert (error.status, error.index) == ("memory", 0)
        else:
            raise AssertionError("a copy past the end was taken")

    @precondition(lambda self: self.captured is None and len(self.kept) < 3)
    @rule()
    def begin_capture(self) -> None:
        self.stream.begin_capture()
        self.captured = []

    @precondition(lambda self: self.captured is not None)
    @rule(target=graphs)
    def end_capture(self) -> Any:
        copies, self.captured = self.captured, None
        graph: Graph = self.stream.end_capture()
        with graph:
            if not copies:
                return multiple()
            kept = Captured(graph.instantiate(), copies)
        self.kept.append(kept)
        return kept

    @precondition(lambda self: self.captured is None)
    @rule(graph=graphs, times=st.integers(1, 3))
    def launch(self, graph: Captured, times: int) -> None:
        for _ in range(times):
            graph.executable.launch(self.stream)
            for copy in graph.copies:
                copy.apply()

    @precondition(lambda self: self.captured is None)
    @rule(graph=consumes(graphs))
    def drop_graph(self, graph: Captured) -> None:
        self.synchronize()
        graph.executable.close()
        self.kept.remove(graph)

    @rule(seed=st.integers(1, 1 << 20), hold=st.booleans())
    def reorder(self, seed: int, hold: bool) -> None:
        self.simulator.seed = seed
        self.simulator.hold(hold)

    @precondition(lambda self: self.captured is None)
    @rule()
    def synchronize(self) -> None:
        self.driver.synchronize()
        for memory in self.live:
            if memory.is_device:
                now = self.simulator.peek(memory.address, len(memory.model))
            else:
                now = ctypes.string_at(memory.address, len(memory.model))
            assert now == memory.model

    @invariant()
    def nothing_is_wrong(self) -> None:
        assert self.simulator.violations() == []
        assert self.driver.current_context() == self.context.handle

    def teardown(self) -> None:
        if self.captured is not None:
            self.end_capture()
        self.synchronize()


def _is_pinned(memory: Memory) -> bool:
    """Whether a graph may use it: pageable memory is staged when it is captured."""
    return not isinstance(memory.owner, mmap.mmap) or memory.registration is not None


def try_programs(examples: int) -> int:
    """Random programs; how many calls of kvswap they made."""
    run_state_machine_as_test(Machine, settings=bounded(examples, steps=40))
    return Machine.swaps
