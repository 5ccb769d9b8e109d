"""Devices and contexts: whose context a call works in."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests.engine.calls import COPY_CALLS, swap


def on_another_thread(body: Callable[[], Any]) -> Any:
    """The body's result on a thread without a current context."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(body())
        except Exception as error:  # raised again below, on the test's thread
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(results[0], Exception):
        raise results[0]
    return results[0]


def test_a_created_stream_brings_its_context(
    simulator: kvswap_sim.Simulator, driver: CudaDriver
) -> None:
    context = driver.retain_primary(1)
    with context.current():
        stream = driver.stream(non_blocking=True)
        host, device = driver.pinned_memory(64), driver.device_memory(64)
        host.view[:] = bytes(range(64))

    def body() -> tuple[int | None, int, int]:
        result = swap([host.address], [device.address], [64], stream=stream)
        return (
            result.device,
            driver.current_context(),
            simulator.live()["context_stack"],
        )

    assert on_another_thread(body) == (1, 0, 0)
    driver.synchronize_stream(stream)
    with context.current():
        assert device.read() == bytes(range(64))


@pytest.mark.parametrize("handle", [0, 1, 2])
def test_a_special_handle_means_the_pointers_device(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, handle: int
) -> None:
    """As torch's default stream on device 1 while device 0 is current."""
    first, second = driver.retain_primary(0), driver.retain_primary(1)
    with second.current():
        host, device = driver.pinned_memory(64), driver.device_memory(64)
        host.view[:] = bytes(range(64))
    live = simulator.live()
    with first.current():
        result = swap([host.address], [device.address], [64], stream=handle)
        assert driver.current_context() == first.handle
    assert result.device == 1
    assert (
        on_another_thread(
            lambda: swap([host.address], [device.address], [64], stream=handle).device
        )
        == 1
    )
    live_after = simulator.live()
    assert live_after["primary_retained"] == live["primary_retained"]
    assert live_after["context_stack"] == live["context_stack"]
    second.synchronize()
    with second.current():
        assert device.read() == bytes(range(64))


def test_the_current_context_is_used_where_its_device_fits(
    simulator: kvswap_sim.Simulator, driver: CudaDriver
) -> None:
    own = driver.create_context(0)
    with own.current():
        host, device = driver.pinned_memory(64), driver.device_memory(64)
        simulator.clear_trace()
        assert swap([host.address], [device.address], [64], stream=0).device == 0
        names = {call.name for call in simulator.trace()}
        assert not names & {"cuCtxPushCurrent", "cuDevicePrimaryCtxRetain"}
        driver.synchronize()


def test_no_context_is_created(
    simulator: kvswap_sim.Simulator, driver: CudaDriver
) -> None:
    own = driver.create_context(1)
    with own.current():
        host, device = driver.pinned_memory(64), driver.device_memory(64)

    def body() -> tuple[str, str, int]:
        with pytest.raises(kvswap.SwapError) as raised:
            swap([host.address], [device.address], [64], stream=0)
        error = raised.value
        return error.status, str(error), error.submitted

    status, message, submitted = on_another_thread(body)
    assert (status, submitted) == ("no_context", 0)
    assert "GPU 1" in message
    assert simulator.live()["primary_contexts"] == 0


def test_host_memory_alone_needs_a_context(driver: CudaDriver) -> None:
    first, second = bytearray(range(64)), bytearray(64)
    addresses = [
        ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        for buffer in (first, second)
    ]
    with pytest.raises(kvswap.SwapError, match="host memory only") as raised:
        swap(addresses[:1], addresses[1:], [64], stream=0)
    assert raised.value.status == "no_context"
    with driver.primary_context():
        swap(addresses[:1], addresses[1:], [64], stream=0)
        driver.synchronize()
    assert second == first


def test_before_cuda_is_initialised(simulator: kvswap_sim.Simulator) -> None:
    buffer = bytearray(64)
    address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    with pytest.raises(kvswap.SwapError, match="not initialised") as raised:
        swap([address], [address + 32], [32], stream=0)
    assert raised.value.cuda_error == 3
    assert "cuInit" not in {call.name for call in simulator.trace()}


def test_memory_of_two_gpus(
    simulator: kvswap_sim.Simulator, driver: CudaDriver
) -> None:
    first, second = driver.retain_primary(0), driver.retain_primary(1)
    with second.current():
        of_second = driver.device_memory(64)
    with first.current():
        stream = driver.stream(non_blocking=True)
        of_first, host = driver.device_memory(64), driver.pinned_memory(256)
        simulator.clear_trace()
        with pytest.raises(kvswap.SwapError, match="GPU 1.*GPU 0") as raised:
            swap(
                [host.address, host.address + 64, host.address + 128],
                [of_first.address, 0, of_second.address],
                [64, 0, 64],
                stream=stream,
            )
        assert raised.value.status == "devices"
        assert raised.value.index == 2
        assert not COPY_CALLS & {call.name for call in simulator.trace()}


# What a thread without a current context makes the library call, by kind of stream.
_CALLED = {
    "created": (
        "cuStreamIsCapturing",
        "cuPointerGetAttributes",
        "cuCtxGetCurrent",
        "cuStreamGetCtx",
        "cuCtxPushCurrent",
        "cuCtxGetDevice",
        "cuCtxGetId",
        "cuCtxPopCurrent",
    ),
    "null": (
        "cuPointerGetAttributes",
        "cuCtxGetCurrent",
        "cuDeviceGet",
        "cuDevicePrimaryCtxGetState",
        "cuDevicePrimaryCtxRetain",
        "cuCtxPushCurrent",
        "cuStreamIsCapturing",
        "cuCtxGetId",
        "cuCtxPopCurrent",
        "cuDevicePrimaryCtxRelease",
    ),
}
# Those after the copies.
_LEAVING = ("cuCtxPopCurrent", "cuDevicePrimaryCtxRelease")


@pytest.mark.parametrize(
    ("stream_kind", "name"),
    [(kind, name) for kind, names in _CALLED.items() for name in names],
)
def test_every_code_is_checked(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, name: str, stream_kind: str
) -> None:
    """A driver call that fails is reported, leaves nothing behind, and the next call
    is healthy."""
    context = driver.retain_primary(1)
    with context.current():
        handle = driver.stream().handle if stream_kind == "created" else 0
        host, device = driver.pinned_memory(64), driver.device_memory(64)
        host.view[:] = bytes(range(64))

    def body() -> None:
        simulator.clear_trace()
        swap([host.address], [device.address], [64], stream=handle)
        assert name in {call.name for call in simulator.trace()}
        live = simulator.live()
        simulator.fail(name, 999)
        with pytest.raises(kvswap.SwapError) as raised:
            swap([host.address], [device.address], [64], stream=handle)
        assert raised.value.cuda_error == 999
        assert name in str(raised.value) or name in _LEAVING
        assert raised.value.submitted == (1 if name in _LEAVING else 0)
        # What the driver would not take back is the driver's fault, not a leak.
        if name == "cuCtxPopCurrent":
            driver.call("cuCtxPopCurrent_v2", None)
        if name == "cuDevicePrimaryCtxRelease":
            driver.call("cuDevicePrimaryCtxRelease_v2", ctypes.c_int(1))
        live_after = simulator.live()
        for counts in (live, live_after):
            counts.pop("pending")
        assert live_after == live
        assert driver.current_context() == 0
        healthy = swap([host.address], [device.address], [64], stream=handle)
        assert healthy.submitted == 1

    on_another_thread(body)
    context.synchronize()
