"""Streams, events, and their handles."""

from __future__ import annotations

import ctypes

import pytest

from tests.sim import child
from tests.sim.client import Start, cuda_driver


@pytest.mark.parametrize(
    "action",
    [
        "driver.copy_async(device.address, pinned.address, 64, handle)",
        "driver.copy_batch_async([device.address], [pinned.address], [64], handle)",
        "driver.capture_status(handle)",
        "driver.synchronize_stream(handle)",
    ],
)
@pytest.mark.parametrize("kind", ["destroyed", "small"])
def test_what_is_no_stream_ends_the_process(action: str, kind: str) -> None:
    """As it does with a real driver, which looks where the handle points."""
    result = child.run(
        f"""
        driver = cuda_driver.CudaDriver()
        with driver.primary_context():
            device, pinned = driver.device_memory(64), driver.pinned_memory(64)
            handle = 77
            if {kind!r} == "destroyed":
                with driver.stream() as stream:
                    handle = stream.handle
            {action}
        """
    )
    assert result.returncode == -11
    expected = "was destroyed" if kind == "destroyed" else "is no stream"
    assert expected in result.stderr


def test_foreign_pointer_is_refused(start: Start) -> None:
    simulator, driver = start("13.0")
    memory = ctypes.create_string_buffer(4096)
    with driver.primary_context(), pytest.raises(cuda_driver.CudaError) as raised:
        driver.capture_status(ctypes.addressof(memory))
    assert raised.value.code == 400
    assert "is no stream of this driver" in simulator.violations()[0]
    simulator.clear_violations()


def test_default_streams_cannot_be_destroyed(start: Start) -> None:
    _, driver = start("13.0")
    with driver.primary_context():
        for handle in (0, 1, 2):
            stream = ctypes.c_void_p(handle)
            assert driver.result("cuStreamDestroy_v2", stream) == 400


def test_destroyed_streams_work_still_runs(start: Start) -> None:
    simulator, driver = start("13.0")
    simulator.hold()
    with driver.primary_context() as context:
        device, pinned = driver.device_memory(64), driver.pinned_memory(64)
        pinned.view[:] = b"\5" * 64
        with driver.stream() as stream:
            driver.copy_async(device.address, pinned.address, 64, stream)
        assert simulator.live()["streams"] == 0
        assert simulator.pending() == 1
        context.synchronize()
        assert simulator.peek(device.address, 64) == b"\5" * 64
    simulator.hold(False)


def test_stream_protocol(start: Start) -> None:
    _, driver = start("13.0")
    with driver.primary_context():
        stream = driver.stream()
        assert stream.__cuda_stream__() == (0, stream.handle)


def test_query(start: Start) -> None:
    simulator, driver = start("13.0")
    simulator.hold()
    with driver.primary_context():
        stream, event = driver.stream(), driver.event()
        device, pinned = driver.device_memory(64), driver.pinned_memory(64)
        assert stream.query()
        assert event.query()
        driver.copy_async(device.address, pinned.address, 64, stream)
        event.record(stream)
        assert not stream.query()
        assert not event.query()
        event.synchronize()
        assert event.query()
        assert stream.query()
    simulator.hold(False)


def test_priorities_and_flags(start: Start) -> None:
    _, driver = start("13.0")
    with driver.primary_context():
        stream = driver.stream(non_blocking=True, priority=-100)
        value = ctypes.c_int()
        handle = ctypes.c_void_p(stream.handle)
        driver.call("cuStreamGetPriority", handle, ctypes.byref(value))
        assert value.value == -5
        driver.call("cuStreamGetFlags", handle, ctypes.byref(value))
        assert value.value == 1
        bad = ctypes.c_uint(4)
        assert driver.result("cuStreamCreate", ctypes.byref(handle), bad) == 1


def test_event_of_another_context(start: Start) -> None:
    _, driver = start("13.0", devices=2)
    with driver.primary_context(0) as first, driver.primary_context(1):
        with first.current():
            event, there = driver.event(), driver.stream()
        here = driver.stream()
        with pytest.raises(cuda_driver.CudaError) as raised:
            event.record(here)
        assert raised.value.code == 400
        event.record(there)
        here.wait_event(event)


def test_handles_of_what_was_removed_long_ago_are_given_again(start: Start) -> None:
    """Not before: a use of one that was removed lately is noticed."""
    _, driver = start("13.0")
    with driver.primary_context():
        handles = []
        for _ in range(4_000):
            with driver.event() as event:
                handles.append(event.handle)
        assert len(set(handles[:1024])) == 1024
        assert len(set(handles)) < 1040
