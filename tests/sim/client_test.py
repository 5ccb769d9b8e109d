"""kvswap.testing.cuda_driver gives back what it takes."""

from __future__ import annotations

import ctypes

import pytest

from tests.sim.client import Start, cuda_driver


@pytest.mark.parametrize("version", ["11.4", "12.4", "12.8", "13.0", "13.5"])
def test_everything_is_given_back(start: Start, version: str) -> None:
    simulator, driver = start(version, devices=2)
    granularity = driver.mapping_granularity()
    host = ctypes.create_string_buffer(4096)
    with (
        driver.primary_context(1) as context,
        driver.stream(priority=-1) as stream,
        driver.event() as event,
        driver.device_memory(4096) as device,
        driver.managed_memory(4096) as managed,
        driver.pinned_memory(4096) as pinned,
        driver.register(ctypes.addressof(host), 4096),
        driver.virtual_memory(4 * granularity) as virtual,
    ):
        virtual.map(0, granularity, 1)
        virtual.map(granularity, granularity, 1)
        managed.view[:4] = b"kept"
        places = [device.address, virtual.address + granularity - 2]
        for place in places:
            driver.copy_async(place, managed.address, 4, stream)
        event.record(stream)
        event.synchronize()
        driver.copy_async(pinned.address, places[1], 4, stream)
        stream.synchronize()
        assert bytes(pinned.view[:4]) == b"kept"
        device.write(b"new", 8)
        assert device.read(0, 12) == b"kept\0\0\0\0new\0"
        context.synchronize()
        stream.begin_capture()
        driver.fill_async(device.address, 5, 4, stream)
        with stream.end_capture() as graph, graph.instantiate() as executable:
            assert graph.node_count() == 1
            executable.launch(stream)
            stream.synchronize()
        assert device.read(0, 5) == b"\5\5\5\5\0"
        assert stream.query()
        assert event.query()
    assert not any(simulator.live().values())


def test_errors_have_a_name(start: Start) -> None:
    _, driver = start("13.0")
    with pytest.raises(cuda_driver.CudaError) as raised:
        driver.stream()
    error = raised.value
    assert (error.function, error.code, error.name) == (
        "cuStreamCreateWithPriority",
        201,
        "CUDA_ERROR_INVALID_CONTEXT",
    )
    assert str(error) == (
        "cuStreamCreateWithPriority: CUDA_ERROR_INVALID_CONTEXT (201)"
    )
    assert driver.error_name(123456) == "unknown error"


def test_closing_twice(start: Start) -> None:
    _, driver = start("13.0")
    with driver.primary_context():
        stream = driver.stream()
        stream.close()
        stream.close()


def test_created_context(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.create_context() as context:
        assert driver.current_context() == 0
        with context.current():
            assert driver.current_context() == context.handle
    assert simulator.live()["contexts"] == 0


def test_path_by_the_environment(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    simulator, _ = start("13.0")
    monkeypatch.setenv("KVSWAP_LIBCUDA", simulator.path)
    assert cuda_driver.CudaDriver().path == simulator.path


def test_batch_on_a_driver_without_it(start: Start) -> None:
    _, driver = start("12.4")
    with driver.primary_context(), pytest.raises(AttributeError):
        driver.copy_batch_async([1], [1], [1], 2)


def test_devices(start: Start) -> None:
    _, driver = start("13.0", devices=3)
    assert driver.device_count() == 3
    assert driver.device_name(2) == "Simulated CUDA device 2"
    assert driver.device_attribute(75, 0) == 9
    assert driver.device_attribute(91, 0) == 1
    with pytest.raises(cuda_driver.CudaError) as raised:
        driver.device_attribute(75, 3)
    assert raised.value.code == 101
