"""docs/ordering.md as a program: a compute stream, an offload stream, a worker thread.

An engine computes steps on one stream, each of which writes KV blocks. A worker thread
stores them to host memory on a stream of its own, and loads them back into other
blocks, which later steps read. The simulated driver runs what nothing orders in any
order, so that a missing wait shows as wrong bytes.
"""

from __future__ import annotations

import queue
import random
import threading
from dataclasses import dataclass, field

import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver, DeviceMemory, Event, Stream

_LAYERS = 3
_BLOCKS = 8
_BLOCK_BYTES = 32


@dataclass
class Job:
    """What the engine asks of the worker, and what it gets back.

    Attributes:
        pairs: blocks to copy.
        is_store: out of the GPU, or into it.
        ready: an event of the compute stream, after the last work that the copies
            depend on: what writes the blocks that are read, and what reads the blocks
            that are written.
        ticket: when the copies are done; set once they have been submitted.
    """

    pairs: list[tuple[int, int]]
    is_store: bool
    ready: Event
    ticket: kvswap.Ticket | None = None
    submitted: threading.Event = field(default_factory=threading.Event)


class Worker(threading.Thread):
    """Submits copies on the offload stream; no thread waits for the GPU."""

    def __init__(
        self, gpu: kvswap.BlockPool, host: kvswap.BlockPool, stream: Stream, waits: bool
    ) -> None:
        super().__init__(daemon=True)
        self.jobs: queue.Queue[Job | None] = queue.Queue()
        self._gpu, self._host = gpu, host
        self._stream = stream
        self._waits = waits

    def run(self) -> None:
        """Serves jobs until there are no more."""
        while (job := self.jobs.get()) is not None:
            try:
                self._serve(job)
            finally:
                # Whoever waits must see that there is no ticket.
                job.submitted.set()

    def _serve(self, job: Job) -> None:
        if self._waits:
            self._stream.wait_event(job.ready)
        if job.is_store:
            # Read in stream order (the default), so after `ready`.
            job.ticket = kvswap.swap_out(
                self._gpu, self._host, job.pairs, stream=self._stream
            )
        else:
            job.ticket = kvswap.swap_in(
                self._host, self._gpu, job.pairs, stream=self._stream, layers=True
            )


class Engine:
    """Steps on the compute stream: each layer of a block is filled with one value."""

    def __init__(self, driver: CudaDriver, *, waits: bool) -> None:
        self.driver = driver
        self.waits = waits
        self.compute = driver.stream(non_blocking=True)
        offload = driver.stream(non_blocking=True)
        self.layers: list[DeviceMemory] = [
            driver.device_memory(_BLOCKS * _BLOCK_BYTES) for _ in range(_LAYERS)
        ]
        gpu = kvswap.BlockPool.from_regions(
            [
                (memory.address, _BLOCK_BYTES, _BLOCK_BYTES, layer)
                for layer, memory in enumerate(self.layers)
            ],
            _BLOCKS,
            device=0,
        )
        self.worker = Worker(gpu, kvswap.pinned_pool(gpu, _BLOCKS), offload, waits)
        self.seen = driver.pinned_memory(_LAYERS * _BLOCK_BYTES)

    def write(self, layer: int, block: int, value: int) -> None:
        """A step's work on one layer of a block."""
        self.driver.fill_async(
            self.layers[layer].address + block * _BLOCK_BYTES,
            value,
            _BLOCK_BYTES,
            self.compute,
        )

    def read(self, layer: int, block: int) -> None:
        """Work that reads one layer of a block."""
        self.driver.copy_async(
            self.seen.address + layer * _BLOCK_BYTES,
            self.layers[layer].address + block * _BLOCK_BYTES,
            _BLOCK_BYTES,
            self.compute,
        )

    def submit(self, pairs: list[tuple[int, int]], *, is_store: bool) -> Job:
        """Hands a job to the worker, ordered after the compute stream's work."""
        ready = self.driver.event()
        ready.record(self.compute)
        job = Job(pairs, is_store, ready)
        self.worker.jobs.put(job)
        return job

    def round(self, generator: random.Random) -> bool:
        """Writes a block, stores it, overwrites it, loads it elsewhere, reads it."""
        block, target = generator.sample(range(_BLOCKS), 2)
        slot = generator.randrange(_BLOCKS)
        values = [generator.randrange(1, 256) for _ in range(_LAYERS)]
        for layer, value in enumerate(values):
            self.write(layer, block, value)
        store = self.submit([(block, slot)], is_store=True)
        store.submitted.wait()
        assert store.ticket is not None
        # The block may be written again only after it has been read.
        if self.waits:
            store.ticket.wait_stream(self.compute)
        for layer in range(_LAYERS):
            self.write(layer, block, 0)
        load = self.submit([(slot, target)], is_store=False)
        load.submitted.wait()
        assert load.ticket is not None
        for layer in range(_LAYERS):
            # Layer by layer: the first can be computed while the last still comes.
            if self.waits:
                load.ticket.layer(layer).wait_stream(self.compute)
            self.read(layer, target)
        self.compute.synchronize()
        load.ticket.wait()
        for job in (store, load):
            job.ready.close()
        wanted = b"".join(bytes([value]) * _BLOCK_BYTES for value in values)
        return bytes(self.seen.view) == wanted


def run_rounds(driver: CudaDriver, seed: int, *, waits: bool) -> list[bool]:
    """Some rounds of an engine with a worker: whether the right bytes were read."""
    engine = Engine(driver, waits=waits)
    engine.worker.start()
    generator = random.Random(seed)
    try:
        return [engine.round(generator) for _ in range(8)]
    finally:
        engine.worker.jobs.put(None)
        engine.worker.join()


@pytest.mark.parametrize("seed", range(6))
def test_right_bytes(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, context: None, seed: int
) -> None:
    simulator.seed = seed
    assert run_rounds(driver, seed, waits=True) == [True] * 8


def test_control_without_the_waits(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, context: None
) -> None:
    """The simulation shows the mistake, so the test above would."""
    right = []
    for seed in range(6):
        simulator.seed = seed
        right += run_rounds(driver, seed, waits=False)
    assert not all(right)


def test_control_any_order(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, context: None
) -> None:
    """`src_access="any"` reads blocks that earlier work of the stream still writes."""
    stream = driver.stream(non_blocking=True)
    memory = driver.device_memory(_BLOCK_BYTES)
    gpu = kvswap.BlockPool.from_regions(
        [(memory.address, _BLOCK_BYTES, _BLOCK_BYTES)], 1, device=0
    )
    target = driver.pinned_memory(_BLOCK_BYTES)
    host = kvswap.BlockPool.from_regions(
        [(target.address, _BLOCK_BYTES, _BLOCK_BYTES)], 1
    )

    def is_right(seed: int, src_access: str) -> bool:
        simulator.seed = seed
        driver.fill_async(memory.address, 0, _BLOCK_BYTES, stream)
        stream.synchronize()
        simulator.hold()
        driver.fill_async(memory.address, 7, _BLOCK_BYTES, stream)
        # Source access is an attribute of the batch call.
        kvswap.swap_out(
            gpu, host, [(0, 0)], stream=stream, engine="batch", src_access=src_access
        ).wait()
        return bytes(target.view) == b"\x07" * _BLOCK_BYTES

    assert all(is_right(seed, "stream") for seed in range(30))
    assert not all(is_right(seed, "any") for seed in range(30))
