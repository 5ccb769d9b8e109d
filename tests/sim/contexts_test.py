"""Contexts, their stacks, and their ends."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from tests.sim.client import Start


def context_id(driver: Any, handle: int) -> int:
    value = ctypes.c_ulonglong()
    driver.call("cuCtxGetId", ctypes.c_void_p(handle), ctypes.byref(value))
    return int(value.value)


def on_another_thread(body: Callable[[], Any]) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(body()))
    thread.start()
    thread.join()
    return results[0]


def test_stack_is_the_threads_own(start: Start) -> None:
    simulator, driver = start("13.0", devices=2)
    with driver.primary_context(0) as first, driver.primary_context(1) as second:
        assert driver.current_context() == second.handle
        assert simulator.live()["context_stack"] == 2
        assert on_another_thread(driver.current_context) == 0
        assert on_another_thread(lambda: simulator.live()["context_stack"]) == 0
        with first.current():
            assert driver.current_context() == first.handle
        assert driver.current_context() == second.handle
    assert driver.current_context() == 0
    assert simulator.live()["primary_contexts"] == 0


def test_primary_context_is_counted(start: Start) -> None:
    simulator, driver = start("13.0")
    first, second = driver.retain_primary(), driver.retain_primary()
    assert first.handle == second.handle
    assert simulator.live()["primary_retained"] == 2
    first.close()
    assert simulator.live()["primary_contexts"] == 1
    second.close()
    assert simulator.live()["primary_contexts"] == 0
    assert driver.result("cuDevicePrimaryCtxRelease_v2", ctypes.c_int(0)) == 201


def test_released_primary_context_is_destroyed_where_it_is_current(
    start: Start,
) -> None:
    _, driver = start("13.0")
    context = driver.retain_primary()
    identity = context_id(driver, context.handle)
    with context.current():
        context.close()
        assert driver.current_context() == context.handle
        address = ctypes.byref(ctypes.c_uint64())
        allocate = ("cuMemAlloc_v2", address, ctypes.c_size_t(64))
        assert driver.result(*allocate) == 709
        again = driver.retain_primary()
        assert again.handle == context.handle
        assert context_id(driver, again.handle) != identity
        driver.call(*allocate)
        again.close()


def test_created_context_takes_the_handle_of_a_destroyed_one(
    start: Start,
) -> None:
    """Only the id tells two contexts apart for sure."""
    _, driver = start("13.0")
    first = driver.create_context()
    first_id = context_id(driver, first.handle)
    first.close()
    second = driver.create_context()
    assert second.handle == first.handle
    assert context_id(driver, second.handle) != first_id
    second.close()


def test_end_of_a_context_takes_its_objects_along(start: Start) -> None:
    simulator, driver = start("13.0")
    context = driver.create_context()
    with context.current():
        driver.stream()
        driver.event()
        driver.device_memory(64)
        driver.pinned_memory(64)
    live = simulator.live()
    assert (live["streams"], live["events"]) == (1, 1)
    assert (live["device_allocations"], live["host_allocations"]) == (1, 1)
    context.close()
    assert not any(simulator.live().values())


def test_special_handles_mean_the_current_context(start: Start) -> None:
    _, driver = start("13.0", devices=2)
    found = ctypes.c_void_p()
    handles = (0, 1, 2)
    for handle in handles:
        asked = ("cuStreamGetCtx", ctypes.c_void_p(handle), ctypes.byref(found))
        assert driver.result(*asked) == 201
    with driver.primary_context(1) as context:
        for handle in handles:
            driver.call("cuStreamGetCtx", ctypes.c_void_p(handle), ctypes.byref(found))
            assert found.value == context.handle


def test_created_stream_has_its_own_context(start: Start) -> None:
    _, driver = start("13.0", devices=2)
    with driver.primary_context(0) as first, driver.primary_context(1):
        with first.current():
            stream = driver.stream()
            device, pinned = driver.device_memory(64), driver.pinned_memory(64)
        pinned.view[:] = bytes(range(64))
        driver.copy_async(device.address, pinned.address, 64, stream)
        stream.synchronize()
        assert device.read() == bytes(range(64))


def test_batch_needs_a_current_context(start: Start) -> None:
    """Seen on driver 580; a single copy does not."""
    _, driver = start("13.0")
    context = driver.retain_primary()
    with context.current():
        stream = driver.stream()
        device, pinned = driver.device_memory(64), driver.pinned_memory(64)
    driver.copy_async(device.address, pinned.address, 64, stream)
    count = ctypes.c_size_t(1)
    attributes = (ctypes.c_uint32 * 6)(1)
    failed = ctypes.c_size_t(5)
    code = driver.result(
        "cuMemcpyBatchAsync",
        (ctypes.c_uint64 * 1)(device.address),
        (ctypes.c_uint64 * 1)(pinned.address),
        (ctypes.c_size_t * 1)(64),
        count,
        attributes,
        (ctypes.c_size_t * 1)(0),
        count,
        ctypes.byref(failed),
        ctypes.c_void_p(stream.handle),
    )
    assert (code, failed.value) == (1, 2**64 - 1)
    context.close()


def test_per_thread_streams_differ(start: Start) -> None:
    simulator, driver = start("13.0")
    simulator.hold()
    with driver.primary_context() as context:
        device, pinned = driver.device_memory(64), driver.pinned_memory(64)
        driver.copy_async(device.address, pinned.address, 64, 2)

        def is_done_elsewhere() -> bool:
            with context.current():
                return driver.stream_is_done(2)

        assert on_another_thread(is_done_elsewhere)
        assert not driver.stream_is_done(2)
    simulator.hold(False)
