"""kvswap.stats(): exact numbers for every engine, reason and direction."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy
import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests.observability.scenarios import BLOCK, COUNT, observe

# What submits the copies of each scenario, in how many calls of the driver, and the
# reasons that are counted.
_OUTCOMES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "batch": ("batch", 1, ()),
    "loop": ("loop", COUNT, ()),
    "kernel": ("kernel", 1, ()),
    "bridge": ("bridge", 1, ()),
    "no_batch_symbol": ("loop", COUNT, ("no_batch_symbol",)),
    "legacy_stream": ("loop", COUNT, ("legacy_stream",)),
    "capturing": ("loop", COUNT, ("capturing",)),
    "not_reachable": ("batch", 1, ("not_reachable",)),
    "no_kernel_entry": ("loop", COUNT, ("no_batch_symbol", "no_kernel_entry")),
    "no_kernel_image": ("batch", 1, ("no_kernel_image",)),
    "launch_failed": ("batch", 1, ("launch_failed",)),
    "not_legacy_stream": ("batch", 1, ("not_legacy_stream",)),
    "no_bridge": ("loop", COUNT, ("legacy_stream", "no_bridge")),
}


def _nonzero(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


@pytest.mark.parametrize("scenario", _OUTCOMES)
def test_engines_and_reasons(scenario: str) -> None:
    engine, driver_calls, reasons = _OUTCOMES[scenario]
    outcome = observe(scenario, "three times")
    assert outcome["errors"] == []
    stats = outcome["stats"]
    assert stats["calls"] == 3
    assert stats["errors"] == stats["dropped"] == stats["coalesced"] == 0
    assert _nonzero(stats["copies"]) == {engine: 3 * COUNT}
    assert _nonzero(stats["bytes"]) == {engine: 3 * COUNT * BLOCK}
    assert stats["driver_calls"] == 3 * driver_calls
    assert _nonzero(stats["fallbacks"]) == dict.fromkeys(reasons, 3)
    assert _nonzero(stats["fallback_copies"]) == dict.fromkeys(reasons, 3 * COUNT)
    assert _nonzero(stats["direction_copies"]) == {"host_to_device": 3 * COUNT}
    assert _nonzero(stats["direction_bytes"]) == {"host_to_device": 3 * COUNT * BLOCK}


def test_source_access() -> None:
    outcome = observe("source_access")
    assert outcome["errors"] == ["unsupported"]
    stats = outcome["stats"]
    assert (stats["calls"], stats["errors"]) == (1, 1)
    assert _nonzero(stats["fallbacks"]) == {"source_access": 1}
    for name in ("copies", "bytes", "fallback_copies", "direction_copies"):
        assert _nonzero(stats[name]) == {}
    assert stats["driver_calls"] == 0


def test_every_reason_is_tested() -> None:
    tested = {reason for _, _, reasons in _OUTCOMES.values() for reason in reasons}
    assert tested | {"source_access"} == set(kvswap.stats().fallbacks)


def test_many_threads() -> None:
    stats = observe("legacy_stream", "in 64 threads")["stats"]
    calls = 64 * 4
    assert stats["calls"] == calls
    assert _nonzero(stats["copies"]) == {"loop": calls * COUNT}
    assert _nonzero(stats["bytes"]) == {"loop": calls * COUNT * BLOCK}
    assert stats["driver_calls"] == calls * COUNT
    assert _nonzero(stats["fallbacks"]) == {"legacy_stream": calls}
    assert _nonzero(stats["fallback_copies"]) == {"legacy_stream": calls * COUNT}


class Memory:
    """Blocks of pinned memory and of the GPU."""

    def __init__(self, driver: CudaDriver, size: int = 1 << 20) -> None:
        self.host = driver.pinned_memory(size)
        self.gpu = driver.device_memory(size)
        self.stream = driver.stream(non_blocking=True)

    def swap(
        self, copies: list[tuple[int, int, int]], **options: Any
    ) -> kvswap.SwapResult:
        """Copies of (source, destination, size)."""
        columns = numpy.array(copies, dtype=numpy.int64).reshape(-1, 3).T
        arrays = [numpy.ascontiguousarray(column) for column in columns]
        return kvswap.swap_blocks_batch(*arrays, stream=self.stream, **options)

    def apart(
        self, sizes: list[int], *, swap_in: bool = True
    ) -> list[tuple[int, int, int]]:
        """Copies of those sizes that are contiguous with no neighbour."""
        copies = []
        for place, size in enumerate(sizes):
            host = self.host.address + place * 8192
            gpu = self.gpu.address + (len(sizes) - place) * 8192
            copies.append((host, gpu, size) if swap_in else (gpu, host, size))
        return copies


def test_directions_sizes_and_dropped(driver: CudaDriver) -> None:
    memory = Memory(driver)
    copies = memory.apart([100, 0, 200]) + memory.apart([7, 9], swap_in=False)
    before = kvswap.stats()
    memory.swap(copies, engine="batch")
    counted = kvswap.stats() - before
    assert (counted.calls, counted.errors, counted.dropped) == (1, 0, 1)
    assert _nonzero(counted.direction_copies) == {
        "host_to_device": 2,
        "device_to_host": 2,
    }
    assert _nonzero(counted.direction_bytes) == {
        "host_to_device": 300,
        "device_to_host": 16,
    }
    assert _nonzero(counted.bytes) == {"batch": 316}
    driver.synchronize()


def test_neighbours_that_are_put_together(driver: CudaDriver) -> None:
    memory = Memory(driver)
    before = kvswap.stats()
    memory.swap(
        [
            (memory.host.address + n * 64, memory.gpu.address + n * 64, 64)
            for n in range(5)
        ],
        engine="batch",
    )
    counted = kvswap.stats() - before
    assert (counted.copies["batch"], counted.coalesced) == (5, 4)
    assert counted.driver_calls == 1
    driver.synchronize()


def test_one_call_of_two_engines(driver: CudaDriver) -> None:
    """Bytes go to the engine that submitted them, not to the one with most copies."""
    memory = Memory(driver, 1 << 24)
    rules = [
        kvswap.PolicyRule(
            max_size=4096, engine="kernel", kernel="plain", ctas=4, threads=256
        ),
        kvswap.PolicyRule(engine="batch"),
    ]
    small = memory.apart([512] * 10)
    base = 1 << 22
    large = [
        (memory.host.address + base * n, memory.gpu.address + base * (3 - n), 1 << 20)
        for n in (1, 2)
    ]
    before = kvswap.stats()
    memory.swap(small + large, policy=kvswap.Policy(rules))
    counted = kvswap.stats() - before
    assert _nonzero(counted.copies) == {"kernel": 10, "batch": 2}
    assert _nonzero(counted.bytes) == {"kernel": 5120, "batch": 2 << 20}
    assert _nonzero(counted.direction_bytes) == {"host_to_device": 5120 + (2 << 20)}
    assert counted.driver_calls == 2
    driver.synchronize()


@pytest.mark.parametrize(
    ("engine", "entry", "fails_at", "submitted", "driver_calls"),
    [
        ("loop", "cuMemcpyAsync", 3, 2, 2),
        ("batch", "cuMemcpyBatchAsync", 2, 3, 1),
        ("batch", "cuMemcpyBatchAsync", 1, 0, 0),
    ],
)
def test_a_failed_call_counts_what_was_submitted(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    engine: str,
    entry: str,
    fails_at: int,
    submitted: int,
    driver_calls: int,
) -> None:
    memory = Memory(driver)
    sizes = [100, 200, 300, 400, 500]
    copies = memory.apart(sizes)
    memory.swap(copies, engine=engine)
    simulator.fail(entry, 999, fails_at)
    before = kvswap.stats()
    with pytest.raises(kvswap.SwapError) as raised:
        memory.swap(copies, engine=engine, max_batch=3)
    assert raised.value.submitted == submitted
    counted = kvswap.stats() - before
    assert (counted.calls, counted.errors) == (1, 1)
    assert counted.copies[engine] == submitted
    assert counted.bytes[engine] == sum(sizes[:submitted])
    assert counted.driver_calls == driver_calls
    assert counted.direction_copies["host_to_device"] == submitted
    assert counted.direction_bytes["host_to_device"] == sum(sizes[:submitted])
    driver.synchronize()


def test_a_call_of_one_copy(
    driver: CudaDriver, simulator: kvswap_sim.Simulator
) -> None:
    memory = Memory(driver)
    copy = memory.apart([333], swap_in=False)
    before = kvswap.stats()
    memory.swap(copy, engine="loop")
    simulator.fail("cuMemcpyAsync", 999)
    with pytest.raises(kvswap.SwapError):
        memory.swap(copy, engine="loop")
    counted = kvswap.stats() - before
    assert (counted.calls, counted.errors, counted.driver_calls) == (2, 1, 1)
    assert _nonzero(counted.direction_bytes) == {"device_to_host": 333}
    assert _nonzero(counted.bytes) == {"loop": 333}
    driver.synchronize()


@pytest.mark.parametrize("layers", [False, True])
def test_pools_count_too(driver: CudaDriver, layers: bool) -> None:
    memory = Memory(driver)
    pools = []
    for owner, device in ((memory.host, None), (memory.gpu, 0)):
        regions = [
            kvswap.Region(owner.address + layer * 65536, 4096, 1024, layer)
            for layer in range(2)
        ]
        pools.append(
            kvswap.BlockPool.from_regions(regions, 8, device=device, owner=owner)
        )
    before = kvswap.stats()
    ticket = kvswap.swap_in(
        pools[0],
        pools[1],
        [(0, 3), (2, 1)],
        stream=memory.stream,
        engine="batch",
        layers=layers,
    )
    counted = kvswap.stats() - before
    driver.synchronize()
    assert ticket.result.submitted == 4
    assert (counted.calls, counted.copies["batch"], counted.bytes["batch"]) == (
        1,
        4,
        4096,
    )
    assert counted.direction_bytes["host_to_device"] == 4096
    assert counted.driver_calls == (2 if layers else 1)


def test_text(driver: CudaDriver) -> None:
    memory = Memory(driver)
    before = kvswap.stats()
    copies = memory.apart([1000] * 3)
    memory.swap(copies, engine="batch")
    driver.synchronize()
    assert str(kvswap.stats() - before) == (
        "calls: 1\n"
        "errors: 0\n"
        "dropped: 0\n"
        "copies: batch 3\n"
        "bytes: batch 3,000\n"
        "fallbacks: none\n"
        "fallback copies: none\n"
        "driver calls: 1\n"
        "coalesced: 0\n"
        "direction copies: host_to_device 3\n"
        "direction bytes: host_to_device 3,000"
    )


def test_readings_never_fall_while_threads_count(driver: CudaDriver) -> None:
    empty = numpy.array([], dtype=numpy.int64)
    stop = threading.Event()

    def call() -> None:
        while not stop.is_set():
            kvswap.swap_blocks_batch(empty, empty, empty, stream=0)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    calls = [kvswap.stats().calls for _ in range(2000)]
    stop.set()
    for thread in threads:
        thread.join()
    assert calls == sorted(calls)
    assert calls[-1] > calls[0]


def test_a_child_goes_on_from_its_parent() -> None:
    empty = numpy.array([], dtype=numpy.int64)
    kvswap.swap_blocks_batch(empty, empty, empty, stream=0)
    before = kvswap.stats()
    child = os.fork()
    if child == 0:
        try:
            kvswap.swap_blocks_batch(empty, empty, empty, stream=0)
            os._exit(0 if (kvswap.stats() - before).calls == 1 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert kvswap.stats() == before
