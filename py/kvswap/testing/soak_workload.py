"""A random offload workload, and a model of what every block must hold."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy

import kvswap
from kvswap import in_flight
from kvswap.testing.soak_devices import SoakDevice

_ENGINES = ("auto", "auto", "batch", "loop", "kernel", "bridge")
_LAYERS = 3
# Most calls on a stream between two looks at its blocks.
_MOST_IN_FLIGHT = 4
_SPECIAL_STREAMS = (0, 1, 2)


@dataclass
class Counts:
    """What a soak test did, and what was wrong."""

    calls: int = 0
    copies: int = 0
    bytes: int = 0
    copies_by_engine: Counter[str] = field(default_factory=Counter)
    blocks_checked: int = 0
    graphs: int = 0
    launches: int = 0
    registrations: int = 0
    faults: int = 0
    errors: int = 0  # raised by a call in which the driver failed
    wrong_blocks: int = 0
    problems: list[str] = field(default_factory=list)


class _Cache:
    """Blocks of a pool, and what each holds by the model."""

    def __init__(self, pool: kvswap.BlockPool, addresses: list[int], size: int) -> None:
        self.pool = pool
        self.addresses = addresses
        self.size = size
        self.checksums = [0] * len(addresses)


class Lane:
    """One stream with caches of its own: what it does depends on no other lane."""

    def __init__(
        self,
        device: SoakDevice,
        stream: Any,
        draw: random.Random,
        counts: Counts,
        blocks: int,
    ) -> None:
        self._device = device
        self._stream = stream
        self._draw = draw
        self._counts = counts
        layer_bytes = draw.choice((48, 520, 2048, 4096 + 16, 1 << 16))
        self._block_bytes = _LAYERS * layer_bytes
        gpu_base = device.device_memory(blocks * self._block_bytes)
        host_base, self._view = device.pinned_memory(2 * blocks * self._block_bytes)
        self._host_base = host_base
        self._gpu = self._cache(gpu_base, blocks, layer_bytes, 0)
        self._host = self._cache(host_base, 2 * blocks, layer_bytes, None)
        self._touched: set[tuple[bool, int]] = set()
        self._in_flight: list[kvswap.Ticket] = []
        for number in range(blocks):
            self._fill(number)

    def _cache(
        self, base: int, count: int, layer_bytes: int, device: int | None
    ) -> _Cache:
        regions = [
            (base + layer * layer_bytes, self._block_bytes, layer_bytes, layer)
            for layer in range(_LAYERS)
        ]
        addresses = [base + number * self._block_bytes for number in range(count)]
        pool = kvswap.BlockPool.from_regions(regions, count, device=device)
        cache = _Cache(pool, addresses, self._block_bytes)
        cache.checksums = [zlib.crc32(bytes(self._block_bytes))] * count
        if device is not None:
            self._device.write(base, bytes(count * self._block_bytes))
        else:
            self._view[:] = bytes(len(self._view))
        return cache

    def _fill(self, number: int) -> None:
        """New content for a block of the GPU, as a step of an engine writes it."""
        content = self._draw.randbytes(self._block_bytes)
        self._device.write(self._gpu.addresses[number], content)
        self._gpu.checksums[number] = zlib.crc32(content)

    # A call ------------------------------------------------------------------

    def _pairs(self, outward: bool) -> list[tuple[int, int]]:
        source, destination = self._sides(outward)
        most = min(len(source.addresses), len(destination.addresses))
        count = self._draw.randint(1, most // 2)
        return list(
            zip(
                self._draw.sample(range(len(source.addresses)), count),
                self._draw.sample(range(len(destination.addresses)), count),
                strict=True,
            )
        )

    def _sides(self, outward: bool) -> tuple[_Cache, _Cache]:
        return (self._gpu, self._host) if outward else (self._host, self._gpu)

    def _submit(
        self, outward: bool, pairs: list[tuple[int, int]], engine: str, ticket: bool
    ) -> kvswap.SwapResult:
        source, destination = self._sides(outward)
        priority = self._draw.choice(("throughput", "throughput", "compute"))
        if self._draw.random() < 0.5:
            made = kvswap.copy_blocks(
                source.pool,
                destination.pool,
                pairs,
                stream=self._stream,
                engine=engine,
                priority=priority,
                layers=self._draw.random() < 0.5,
                max_batch=self._draw.choice((None, 3, 64)),
                ticket=ticket,
            )
            if ticket:
                self._in_flight.append(made)
            return made.result
        # Pieces of odd sizes that together are the blocks.
        columns: list[list[int]] = [[], [], []]
        for from_block, to_block in pairs:
            start = 0
            while start < self._block_bytes:
                size = min(
                    self._draw.choice((self._block_bytes, 4096, 1000, 0, 77777)),
                    self._block_bytes - start,
                )
                columns[0].append(source.addresses[from_block] + start)
                columns[1].append(destination.addresses[to_block] + start)
                columns[2].append(size)
                start += size
        return kvswap.swap_blocks_batch(
            *(numpy.array(column, dtype=numpy.int64) for column in columns),
            stream=self._stream,
            engine=engine,
            priority=priority,
            max_batch=self._draw.choice((None, 5, 64)),
        )

    def _note(
        self, outward: bool, pairs: list[tuple[int, int]], result: kvswap.SwapResult
    ) -> None:
        source, destination = self._sides(outward)
        for from_block, to_block in pairs:
            destination.checksums[to_block] = source.checksums[from_block]
            self._touched.add((outward, to_block))
        self._counts.calls += 1
        self._counts.copies += result.submitted
        self._counts.bytes += result.submitted_bytes
        self._counts.copies_by_engine.update(
            {name: n for name, n in result.copies.items() if n}
        )
        if result.submitted_bytes != len(pairs) * self._block_bytes:
            self._counts.problems.append(f"not all was submitted: {result}")

    def swap(self, may_fail: bool) -> None:
        """A call; where the driver failed in it, it is made again on a healthy one."""
        outward = self._draw.random() < 0.5
        pairs = self._pairs(outward)
        engine = self._draw.choice(_ENGINES)
        if may_fail:
            self._device.let_fail(self._draw)
            self._counts.faults += 1
        try:
            result = self._submit(outward, pairs, engine, ticket=True)
        except kvswap.SwapError as error:
            self._device.clear_faults()
            if not may_fail or error.status not in ("driver", "capture"):
                self._counts.problems.append(f"unexpected: {error}")
            self._counts.errors += 1
            # What it had submitted is over before the same blocks are copied again.
            self._device.synchronize()
            result = self._submit(outward, pairs, engine, ticket=True)
        self._device.clear_faults()
        self._note(outward, pairs, result)
        if self._draw.random() < 1 / _MOST_IN_FLIGHT:
            self.check()

    def capture(self) -> None:
        """A graph of a call, launched twice with other content in between."""
        if self._stream in _SPECIAL_STREAMS:
            return
        self.check()
        outward = self._draw.random() < 0.5
        pairs = self._pairs(outward)
        engine = self._draw.choice(_ENGINES)
        results: list[kvswap.SwapResult] = []
        launch = self._device.capture(
            self._stream,
            lambda: results.append(self._submit(outward, pairs, engine, ticket=False)),
        )
        self._counts.graphs += 1
        for _ in range(2):
            if outward:
                self._fill(pairs[0][0])
            launch()
            self._counts.launches += 1
            self._note(outward, pairs, results[0])
            self.check()
        launch.close()  # type: ignore[attr-defined]

    def register(self) -> None:
        """A pinned pool of its own: registered, written and read, given back."""
        self.check()
        pool = kvswap.pinned_pool(self._gpu.pool, 4, max_chunk_bytes=1 << 20)
        pairs = [(number, number) for number in range(4)]
        for source, destination in ((self._gpu.pool, pool), (pool, self._gpu.pool)):
            kvswap.copy_blocks(source, destination, pairs, stream=self._stream).wait()
        self._touched.update((False, number) for number in range(4))
        self._counts.registrations += 1
        del pool
        self.check()

    # What came of it ---------------------------------------------------------

    def check(self) -> None:
        """Waits in one of the ways there are, and compares every block written."""
        way = self._draw.randrange(3)
        if self._in_flight and way == 0:
            self._in_flight[-1].wait()
        elif self._in_flight and way == 1:
            while not all(ticket.done() for ticket in self._in_flight):
                pass
        self._device.synchronize()
        self._in_flight.clear()
        for outward, number in sorted(self._touched):
            cache = self._sides(outward)[1]
            if outward:
                start = cache.addresses[number] - self._host_base
                content = bytes(self._view[start : start + self._block_bytes])
            else:
                content = self._device.read(cache.addresses[number], cache.size)
            self._counts.blocks_checked += 1
            if zlib.crc32(content) != cache.checksums[number]:
                self._counts.wrong_blocks += 1
                side = "host" if outward else "GPU"
                self._counts.problems.append(f"block {number} of the {side} is wrong")
        self._touched.clear()
        if self._draw.random() < 0.3:
            self._fill(self._draw.randrange(len(self._gpu.addresses)))


class Workload:
    """Lanes on several streams."""

    def __init__(
        self, device: SoakDevice, seed: int, streams: int, graphs: float, faults: float
    ) -> None:
        self.counts = Counts()
        self._device = device
        self._draw = random.Random(seed)
        self._graphs = graphs
        self._faults = faults
        handles = [
            device.stream()
            if number < 2 or number % 2 == 0
            else _SPECIAL_STREAMS[number % 3]
            for number in range(streams)
        ]
        self._lanes = [
            Lane(device, handle, self._draw, self.counts, blocks=24)
            for handle in handles
        ]

    def step(self) -> None:
        """One random thing on one of the streams."""
        lane = self._draw.choice(self._lanes)
        number = self._draw.random()
        if number < self._graphs:
            lane.capture()
        elif number < self._graphs + 0.01:
            lane.register()
        else:
            may_fail = self._device.can_fail and self._draw.random() < self._faults
            lane.swap(may_fail)

    def settle(self) -> None:
        """Everything is done and looked at, and what tickets kept is let go of."""
        for lane in self._lanes:
            lane.check()
        self._device.synchronize()
        while in_flight.count():
            in_flight.release_done()
