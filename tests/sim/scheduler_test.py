"""Work runs later than the call, in any order that is allowed, by the seed."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.sim import child
from tests.sim.client import Start, cuda_driver

SEEDS = range(20)
SIZE = 64


class Scene:
    """A driver with memory of each kind."""

    def __init__(self, simulator: Any, driver: Any) -> None:
        self.simulator, self.driver = simulator, driver
        self.stream = driver.stream(non_blocking=True)
        self.device = driver.device_memory(64 * SIZE)
        self.pinned = driver.pinned_memory(64 * SIZE)

    def put(self, stream: Any = None) -> None:
        """One copy to the device."""
        self.driver.copy_async(
            self.device.address,
            self.pinned.address,
            SIZE,
            self.stream if stream is None else stream,
        )

    def content(self) -> int:
        """The first byte on the device, once all work has run."""
        self.driver.synchronize()
        return int(self.simulator.peek(self.device.address, 1)[0])


def for_each_seed(
    start: Start, body: Callable[[Scene], Any], version: str = "13.0"
) -> list[Any]:
    """What the body comes to with each seed."""
    results = []
    for seed in SEEDS:
        simulator, driver = start(version, seed=seed)
        with driver.primary_context():
            results.append(body(Scene(simulator, driver)))
        simulator.reset()
    return results


def reuse_too_early(scene: Scene) -> int:
    """The mistake: a source is overwritten before the copy was waited for."""
    scene.pinned.view[0] = 1
    scene.put()
    scene.stream.query()
    scene.pinned.view[0] = 2
    return scene.content()


def test_source_reused_too_early_shows(start: Start) -> None:
    assert set(for_each_seed(start, reuse_too_early)) == {1, 2}


def test_same_seed_same_outcome(start: Start) -> None:
    first = for_each_seed(start, reuse_too_early)
    assert first == for_each_seed(start, reuse_too_early)


def test_source_reused_in_time_is_right(start: Start) -> None:
    def body(scene: Scene) -> int:
        scene.pinned.view[0] = 1
        scene.put()
        scene.stream.synchronize()
        scene.pinned.view[0] = 2
        return scene.content()

    assert set(for_each_seed(start, body)) == {1}


def test_stream_keeps_its_order(start: Start) -> None:
    def body(scene: Scene) -> int:
        for value in range(1, 9):
            scene.driver.fill_async(scene.device.address, value, SIZE, scene.stream)
        return scene.content()

    assert set(for_each_seed(start, body)) == {8}


def test_streams_have_no_order_among_each_other(start: Start) -> None:
    def body(scene: Scene) -> int:
        other = scene.driver.stream(non_blocking=True)
        scene.driver.fill_async(scene.device.address, 1, SIZE, scene.stream)
        scene.driver.fill_async(scene.device.address, 2, SIZE, other)
        return scene.content()

    assert set(for_each_seed(start, body)) == {1, 2}


def test_events_order_streams(start: Start) -> None:
    def body(scene: Scene) -> int:
        other, event = scene.driver.stream(non_blocking=True), scene.driver.event()
        scene.driver.fill_async(scene.device.address, 1, SIZE, scene.stream)
        event.record(scene.stream)
        other.wait_event(event)
        scene.driver.fill_async(scene.device.address, 2, SIZE, other)
        return scene.content()

    assert set(for_each_seed(start, body)) == {2}


@pytest.mark.parametrize("first", [0, 1])
def test_legacy_stream_orders_blocking_streams(start: Start, first: int) -> None:
    def body(scene: Scene) -> int:
        blocking = scene.driver.stream()
        order = [0, blocking] if first == 0 else [blocking, 0]
        for value, stream in enumerate(order, 1):
            scene.driver.fill_async(scene.device.address, value, SIZE, stream)
        return scene.content()

    assert set(for_each_seed(start, body)) == {2}


def test_legacy_stream_does_not_order_non_blocking_streams(start: Start) -> None:
    def body(scene: Scene) -> int:
        scene.driver.fill_async(scene.device.address, 1, SIZE, scene.stream)
        scene.driver.fill_async(scene.device.address, 2, SIZE, 0)
        return scene.content()

    assert set(for_each_seed(start, body)) == {1, 2}


def test_per_thread_stream_is_blocking(start: Start) -> None:
    def body(scene: Scene) -> int:
        scene.driver.fill_async(scene.device.address, 1, SIZE, 2)
        scene.driver.fill_async(scene.device.address, 2, SIZE, 0)
        return scene.content()

    assert set(for_each_seed(start, body)) == {2}


@pytest.mark.parametrize("version", ["12.8", "13.0"])
def test_batch_is_in_stream_order_as_a_whole(start: Start, version: str) -> None:
    def body(scene: Scene) -> bytes:
        address = scene.device.address
        scene.driver.fill_async(address, 1, 8 * SIZE, scene.stream)
        scene.pinned.view[:] = b"\2" * len(scene.pinned.view)
        places = [address + SIZE * i for i in range(4)]
        sources = [scene.pinned.address] * 4
        scene.driver.copy_batch_async(places, sources, [SIZE] * 4, scene.stream)
        scene.driver.fill_async(address + SIZE, 3, SIZE, scene.stream)
        scene.driver.synchronize()
        content = scene.simulator.peek(address, 5 * SIZE)
        return bytes(content[::SIZE])

    assert set(for_each_seed(start, body, version)) == {b"\2\3\2\2\1"}


def test_copies_of_a_batch_have_no_order(start: Start) -> None:
    def body(scene: Scene) -> int:
        scene.pinned.view[0], scene.pinned.view[SIZE] = 1, 2
        scene.driver.copy_batch_async(
            [scene.device.address] * 2,
            [scene.pinned.address, scene.pinned.address + SIZE],
            [SIZE] * 2,
            scene.stream,
        )
        return scene.content()

    assert set(for_each_seed(start, body)) == {1, 2}


def store_after_fill(scene: Scene, order: int) -> int:
    """Earlier work of the stream writes the source that a batch then reads."""
    scene.driver.fill_async(scene.device.address, 9, SIZE, scene.stream)
    scene.driver.copy_batch_async(
        [scene.pinned.address],
        [scene.device.address],
        [SIZE],
        scene.stream,
        access_order=order,
    )
    scene.stream.synchronize()
    return int(scene.pinned.view[0])


def test_source_in_stream_order(start: Start) -> None:
    def body(scene: Scene) -> int:
        return store_after_fill(scene, cuda_driver.ACCESS_ORDER_STREAM)

    assert set(for_each_seed(start, body)) == {9}


def test_source_in_any_order_can_be_stale(start: Start) -> None:
    def body(scene: Scene) -> int:
        return store_after_fill(scene, cuda_driver.ACCESS_ORDER_ANY)

    assert set(for_each_seed(start, body)) == {0, 9}


def load_and_reuse(scene: Scene, order: int) -> int:
    scene.pinned.view[0] = 1
    scene.driver.copy_batch_async(
        [scene.device.address],
        [scene.pinned.address],
        [SIZE],
        scene.stream,
        access_order=order,
    )
    scene.pinned.view[0] = 2
    return scene.content()


def test_source_during_the_call_can_be_reused(start: Start) -> None:
    def body(scene: Scene) -> int:
        return load_and_reuse(scene, cuda_driver.ACCESS_ORDER_DURING_API_CALL)

    assert set(for_each_seed(start, body)) == {1}


@pytest.mark.parametrize("order", [1, 3])
def test_other_sources_cannot_be_reused(start: Start, order: int) -> None:
    def body(scene: Scene) -> int:
        # A call between, so that something may have run.
        outcome = load_and_reuse(scene, order)
        scene.stream.query()
        return outcome

    assert 2 in for_each_seed(start, body)


@pytest.mark.parametrize("way", ["copy", "batch"])
def test_pageable_source_may_be_read_late(start: Start, way: str) -> None:
    def body(scene: Scene) -> int:
        host = ctypes.create_string_buffer(b"\1" * SIZE, SIZE)
        copy = (scene.device.address, ctypes.addressof(host))
        if way == "copy":
            scene.driver.copy_async(*copy, SIZE, scene.stream)
        else:
            scene.driver.copy_batch_async([copy[0]], [copy[1]], [SIZE], scene.stream)
        host[0] = b"\2"
        return scene.content()

    assert set(for_each_seed(start, body)) == {1, 2}


def test_pageable_source_is_read_in_stream_order(start: Start) -> None:
    """Staged or not, after what the stream wrote there before."""

    def body(scene: Scene) -> int:
        host = ctypes.create_string_buffer(SIZE)
        address = ctypes.addressof(host)
        second = scene.device.address + 8 * SIZE
        scene.driver.fill_async(scene.device.address, 7, SIZE, scene.stream)
        scene.driver.copy_async(address, scene.device.address, SIZE, scene.stream)
        scene.driver.copy_async(second, address, SIZE, scene.stream)
        scene.driver.synchronize()
        return int(scene.simulator.peek(second, 1)[0])

    assert set(for_each_seed(start, body)) == {7}


def test_pageable_destination_may_be_written_late(start: Start) -> None:
    def body(scene: Scene) -> int:
        host = ctypes.create_string_buffer(SIZE)
        address = ctypes.addressof(host)
        scene.driver.fill_async(scene.device.address, 7, SIZE, scene.stream)
        scene.driver.copy_async(address, scene.device.address, SIZE, scene.stream)
        early = host.raw[0]
        scene.stream.synchronize()
        assert host.raw[0] == 7
        return early

    assert set(for_each_seed(start, body)) == {0, 7}


def test_copy_between_hosts_is_done_when_the_call_returns(start: Start) -> None:
    def body(scene: Scene) -> int:
        scene.pinned.view[SIZE] = 7
        source = scene.pinned.address + SIZE
        scene.driver.copy_async(scene.pinned.address, source, SIZE, scene.stream)
        return int(scene.pinned.view[0])

    assert set(for_each_seed(start, body)) == {7}


def test_graph_nodes_run_in_the_order_of_their_dependencies(start: Start) -> None:
    def body(scene: Scene) -> bytes:
        driver, address = scene.driver, scene.device.address
        other = driver.stream(non_blocking=True)
        forked, joined = driver.event(), driver.event()
        scene.stream.begin_capture()
        driver.fill_async(address, 1, SIZE, scene.stream)
        forked.record(scene.stream)
        other.wait_event(forked)
        driver.copy_async(address + SIZE, address, SIZE, other)
        joined.record(other)
        scene.stream.wait_event(joined)
        driver.fill_async(address, 2, SIZE, scene.stream)
        with scene.stream.end_capture() as graph:
            executable = graph.instantiate()
        driver.fill_async(address + 2 * SIZE, 5, SIZE, scene.stream)
        executable.launch(scene.stream)
        driver.copy_async(address + 3 * SIZE, address, SIZE, scene.stream)
        driver.synchronize()
        return bytes(scene.simulator.peek(address, 4 * SIZE)[::SIZE])

    assert set(for_each_seed(start, body)) == {b"\2\1\5\2"}


def test_synchronisation_runs_only_what_it_must(start: Start) -> None:
    simulator, driver = start("13.0")
    simulator.hold()
    with driver.primary_context():
        scene = Scene(simulator, driver)
        other = driver.stream(non_blocking=True)
        scene.put()
        scene.put(other)
        assert simulator.pending() == 2
        scene.stream.synchronize()
        assert simulator.pending() == 1
        assert simulator.run() == 1
        assert simulator.pending() == 0
    simulator.hold(False)


def test_freed_memory_is_poisoned(start: Start) -> None:
    simulator, driver = start("13.0")
    simulator.hold()
    with driver.primary_context():
        scene = Scene(simulator, driver)
        scene.driver.copy_async(
            scene.pinned.address, scene.device.address, SIZE, scene.stream
        )
        scene.device.close()
        scene.stream.synchronize()
        assert bytes(scene.pinned.view[:SIZE]) == b"\xdb" * SIZE
    (violation,) = simulator.violations()
    assert "has been freed" in violation
    simulator.clear_violations()
    simulator.hold(False)


def test_write_to_freed_memory_is_noted(start: Start) -> None:
    simulator, driver = start("13.0")
    simulator.hold()
    with driver.primary_context():
        scene = Scene(simulator, driver)
        scene.driver.copy_async(
            scene.pinned.address, scene.device.address, SIZE, scene.stream
        )
        scene.pinned.close()
        scene.stream.synchronize()
    (violation,) = simulator.violations()
    assert "writes" in violation
    simulator.clear_violations()
    simulator.hold(False)


def test_unmapped_memory_is_poisoned(start: Start) -> None:
    simulator, driver = start("13.0")
    simulator.hold()
    with driver.primary_context():
        scene = Scene(simulator, driver)
        memory = driver.virtual_memory(2 << 20)
        memory.map(0, 2 << 20, 0)
        driver.copy_async(scene.pinned.address, memory.address, SIZE, scene.stream)
        memory.unmap(0)
        scene.stream.synchronize()
        assert scene.pinned.view[0] == 0xDB
    simulator.clear_violations()
    simulator.hold(False)


def test_memory_freed_in_stream_order(start: Start) -> None:
    """Work before it is right, and work after it is noted."""
    simulator, driver = start("13.0")
    with driver.primary_context():
        scene = Scene(simulator, driver)
        handle = ctypes.c_void_p(scene.stream.handle)
        pool = ctypes.c_uint64()
        driver.call(
            "cuMemAllocAsync", ctypes.byref(pool), ctypes.c_size_t(SIZE), handle
        )
        copy = (scene.pinned.address, pool.value, SIZE, scene.stream)
        driver.fill_async(pool.value, 4, SIZE, scene.stream)
        driver.copy_async(*copy)
        driver.call("cuMemFreeAsync", pool, handle)
        driver.synchronize()
        assert scene.pinned.view[0] == 4
        assert simulator.live()["pool_allocations"] == 0


def test_host_memory_that_goes_away_ends_the_process() -> None:
    result = child.run(
        """
        import mmap
        simulator = kvswap_sim.Simulator()
        simulator.hold()
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        driver = cuda_driver.CudaDriver()
        with driver.primary_context():
            stream, device = driver.stream(), driver.device_memory(64)
            for seed in range(20):
                simulator.seed = seed
                area = libc.mmap(None, 4096, 3, 0x22, -1, 0)
                driver.copy_async(device.address, area, 64, stream)
                libc.munmap(ctypes.c_void_p(area), 4096)
                stream.synchronize()
        """
    )
    assert result.returncode == -11
    assert "went away while a copy was in flight" in result.stderr


def test_seed_is_printed_with_a_mistake() -> None:
    result = child.run(
        """
        simulator = kvswap_sim.Simulator()
        simulator.hold()
        driver = cuda_driver.CudaDriver()
        with driver.primary_context():
            stream, device = driver.stream(), driver.device_memory(64)
            driver.fill_async(device.address, 1, 64, stream)
            device.close()
            stream.synchronize()
        """,
        {"KVSWAP_SIM_SEED": "424242"},
    )
    assert "(seed 424242)" in result.stderr


def test_threads(start: Start) -> None:
    """Threads that copy, query and look at pointers at the same time."""
    simulator, driver = start("13.0")

    def work(number: int) -> None:
        with driver.primary_context():
            stream = driver.stream(non_blocking=True)
            device = driver.device_memory(4096)
            pinned = driver.pinned_memory(4096)
            for step in range(50):
                value = (number * 50 + step) % 255
                pinned.view[:] = bytes([value]) * 4096
                driver.copy_batch_async(
                    [device.address + 1024 * i for i in range(4)],
                    [pinned.address + 1024 * i for i in range(4)],
                    [1024] * 4,
                    stream,
                )
                driver.copy_async(pinned.address, device.address, 4096, stream)
                driver.pointer_attributes(device.address)
                stream.synchronize()
                assert bytes(pinned.view) == bytes([value]) * 4096
            for one in (stream, device, pinned):
                one.close()

    with driver.retain_primary(), ThreadPoolExecutor(8) as pool:
        barrier = threading.Barrier(8)

        def start_together(number: int) -> None:
            barrier.wait()
            work(number)

        list(pool.map(start_together, range(8)))
        live = simulator.live()
        assert live["streams"] == 0
        assert live["device_allocations"] == 0
        assert live["pending"] == 0
    sequences = [call.sequence for call in simulator.trace()]
    assert sequences == sorted(set(sequences))
    assert len({call.thread for call in simulator.trace("cuMemcpyAsync")}) == 8
