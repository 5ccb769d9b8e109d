"""What the tests of threads run, each in a process of its own."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy

import kvswap
from kvswap import in_flight
from kvswap.testing import cuda_driver
from kvswap.testing.cuda_driver import CudaDriver
from kvswap_sim import Simulator
from tests.blocks import UNTOUCHED, content

_COUNT, _BLOCK = 24, 512
_SIZE = _COUNT * _BLOCK
_HANDLES = {"null": 0, "legacy": 1, "per_thread": 2}
_ENGINES = ("auto", "batch", "loop", "kernel", "bridge")


class Offload:
    """Memory of one thread: out of the host, to the GPU, and back."""

    def __init__(self, driver: CudaDriver, seed: int) -> None:
        self._driver = driver
        self.host = driver.pinned_memory(_SIZE)
        self.back = driver.pinned_memory(_SIZE)
        self.device = driver.device_memory(_SIZE)
        self._content = content(_SIZE, seed)

    def _columns(self, source: int, destination: int) -> list[numpy.ndarray]:
        offsets = numpy.arange(_COUNT) * _BLOCK
        sizes = numpy.full(_COUNT, _BLOCK)
        return [source + offsets, destination + offsets[::-1], sizes]

    def into(self, stream: Any, engine: str) -> kvswap.SwapResult:
        """Blocks to the GPU, in reverse order."""
        return kvswap.swap_blocks_batch(
            *self._columns(self.host.address, self.device.address),
            stream=stream,
            engine=engine,
            max_batch=8,
        )

    def out_of(self, stream: Any, engine: str) -> kvswap.SwapResult:
        """And back, in reverse order again."""
        return kvswap.swap_blocks_batch(
            *self._columns(self.device.address, self.back.address),
            stream=stream,
            engine=engine,
            max_batch=8,
        )

    def reset(self) -> None:
        """Content at the host, and nothing in the memory to come back to."""
        self.host.view[:] = self._content
        self.back.view[:] = bytes([UNTOUCHED]) * _SIZE

    def is_back(self) -> bool:
        """Whether every byte is there again."""
        return bytes(self.back.view) == self._content


def _run_threads(count: int, body: Callable[[int], Any]) -> list[Any]:
    start = threading.Barrier(count)

    def run(number: int) -> Any:
        start.wait(timeout=60)
        return body(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def swap_on_threads(streams: str, devices: int, threads: int, rounds: int) -> Any:
    """Rounds of copies on many threads; wrong rounds, leaks and mistakes.

    Args:
        streams: "own" (a created stream each), "shared" (one created stream a device),
            or a special handle's name.
        devices: how many GPUs; threads take them in turn.
        threads: how many.
        rounds: of each.
    """
    driver, simulator = CudaDriver(), Simulator()
    contexts = [driver.retain_primary(number) for number in range(devices)]
    shared, offloads, own = [], [], []
    for context in contexts:
        with context.current():
            shared.append(driver.stream(non_blocking=True))
    for number in range(threads):
        with contexts[number % devices].current():
            offloads.append(Offload(driver, number))
            own.append(driver.stream(non_blocking=number % 2 == 0))

    def work(number: int) -> int:
        context = contexts[number % devices]
        stream: Any = {
            "own": own[number],
            "shared": shared[number % devices],
        }.get(streams, _HANDLES.get(streams))
        offload = offloads[number]
        wrong = 0
        with context.current():
            for round_number in range(rounds):
                engine = _ENGINES[(number + round_number) % len(_ENGINES)]
                offload.reset()
                counts = [
                    offload.into(stream, engine).submitted,
                    offload.out_of(stream, engine).submitted,
                ]
                driver.synchronize_stream(stream)
                wrong += counts != [_COUNT, _COUNT] or not offload.is_back()
        return wrong

    wrong = sum(_run_threads(threads, work))
    live = simulator.live()
    wrong += sum(_run_threads(threads, work))
    after = simulator.live()
    return {
        "wrong": wrong,
        "grown": {kind: n - live[kind] for kind, n in after.items() if n > live[kind]},
        "violations": simulator.violations(),
    }


def first_use_raced(threads: int, devices: int) -> Any:
    """The first call of a process, by all threads at once; they take GPUs in turn."""
    # kvswap may have a slower way to the same driver.
    path = os.environ.get("SLOW_DRIVER_OF") or os.environ["KVSWAP_LIBCUDA"]
    driver, simulator = CudaDriver(path), Simulator(path=path)
    contexts = [driver.retain_primary(number) for number in range(devices)]
    offloads, streams = [], []
    for number in range(threads):
        with contexts[number % devices].current():
            offloads.append(Offload(driver, number))
            streams.append(driver.stream(non_blocking=True))
    for offload in offloads:
        offload.reset()
    before = simulator.live()
    simulator.clear_trace()

    def work(number: int) -> bool:
        # Each GPU meets every kind of stream with every engine.
        turn = number // devices
        stream: Any = (streams[number], 0, 1, 2)[turn % 4]
        engine = _ENGINES[turn % len(_ENGINES)]
        with contexts[number % devices].current():
            offloads[number].into(stream, engine)
            offloads[number].out_of(stream, engine)
            driver.synchronize_stream(stream)
        return offloads[number].is_back()

    right = _run_threads(threads, work)
    calls = Counter(call.name for call in simulator.trace())
    lookups = Counter(
        call.arguments["symbol"] for call in simulator.trace("cuGetProcAddress")
    )
    after = simulator.live()
    return {
        "right": sum(right),
        "most_lookups_of_a_function": max(lookups.values()),
        "modules": after["modules"] - before["modules"],
        "streams": after["streams"] - before["streams"],
        "events": after["events"] - before["events"],
        "module_loads": calls["cuModuleLoadData"],
        "violations": simulator.violations(),
    }


def threads_that_end(rounds: int, threads: int) -> Any:
    """Threads submit on their own streams and end; the copies are still to run."""
    driver, simulator = CudaDriver(), Simulator()
    with driver.primary_context() as context:
        offloads = [Offload(driver, number) for number in range(threads)]

        def work(number: int, tickets: list[kvswap.Ticket]) -> None:
            offload = offloads[number]
            engine = _ENGINES[number % len(_ENGINES)]
            with context.current():
                offload.into(2, engine)
                offload.out_of(2, engine)
                # Its events come behind the copies.
                pool = kvswap.BlockPool.from_regions(
                    [(offload.device.address, _BLOCK, _BLOCK)], _COUNT, device=0
                )
                tickets.append(
                    kvswap.copy_blocks(pool, pool, [(0, 1)], stream=2, engine=engine)
                )

        simulator.hold()
        wrong = pending = 0
        live: dict[str, int] = {}
        for round_number in range(rounds):
            for offload in offloads:
                offload.reset()
            tickets: list[kvswap.Ticket] = []
            for number in range(threads):
                # One after the other: each has ended before the next begins.
                thread = threading.Thread(target=work, args=(number, tickets))
                thread.start()
                thread.join()
            pending += simulator.pending() != 0
            for ticket, offload in zip(tickets, offloads, strict=True):
                ticket.wait()
                wrong += not offload.is_back()
            tickets.clear()
            del ticket
            in_flight.release_done()
            driver.synchronize()
            while in_flight.count():
                in_flight.release_done()
            if round_number == 0:
                live = simulator.live()
        after = simulator.live()
        return {
            "wrong": wrong,
            "rounds_with_work_left": pending,
            "grown": {k: n - live[k] for k, n in after.items() if n > live[k]},
            "violations": simulator.violations(),
        }


def capture_beside(
    capturing: str, other: str, mode: int, rounds: int, other_device: int = 0
) -> Any:
    """A swap is captured on one thread while another one swaps.

    Args:
        capturing: the kind of the stream that captures, on GPU 0.
        other: the kind of the stream that the other thread swaps on.
        mode: of the capture.
        rounds: how often.
        other_device: the GPU of that stream.
    """
    driver, simulator = CudaDriver(), Simulator()

    def stream_of(kind: str) -> Any:
        if kind in _HANDLES:
            return _HANDLES[kind]
        return driver.stream(non_blocking=kind == "non_blocking")

    with (
        driver.primary_context() as context,
        driver.primary_context(other_device) as others,
    ):
        with context.current():
            captured, captures = Offload(driver, 1), stream_of(capturing)
        swapped = Offload(driver, 2)
        streams = captures, stream_of(other)
        captured.reset()
        begun, done = threading.Event(), threading.Event()
        outcome: dict[str, Any] = {"errors": [], "wrong": 0}

        def capture() -> None:
            with context.current():
                handle = cuda_driver.stream_handle(streams[0])
                stream = cuda_driver.Stream(driver, handle)
                stream.begin_capture(mode)
                captured.into(stream, "auto")
                begun.set()
                assert done.wait(timeout=60)
                captured.out_of(stream, "auto")
                outcome["status"] = stream.capture_status()
                with stream.end_capture() as graph:
                    outcome["nodes"] = graph.node_count()
                    with graph.instantiate() as executable:
                        executable.launch(stream)
                        stream.synchronize()
                outcome["captured"] = captured.is_back()
                stream.closed = True

        thread = threading.Thread(target=capture)
        thread.start()
        assert begun.wait(timeout=60)
        submitted = 0
        for number in range(rounds):
            swapped.reset()
            for step in (swapped.into, swapped.out_of):
                try:
                    submitted += step(streams[1], _ENGINES[number % 5]).submitted
                except kvswap.SwapError as error:
                    outcome["errors"].append(
                        [error.status, error.cuda_error, error.submitted]
                    )
        done.set()
        thread.join(timeout=60)
        others.synchronize()
        context.synchronize()
        outcome["wrong"] = int(not outcome["errors"] and not swapped.is_back())
        outcome["submitted"] = submitted
        outcome["is_alive"] = thread.is_alive()
        outcome["violations"] = simulator.violations()
    return outcome


def captures_beside(
    capturing: str, mode: int, rounds: int, other_device: int = 0
) -> dict[str, Any]:
    """capture_beside for each kind of stream that another thread may swap on."""
    kinds = ("null", "legacy", "per_thread", "blocking", "non_blocking")
    return {
        kind: capture_beside(capturing, kind, mode, rounds, other_device)
        for kind in kinds
    }
