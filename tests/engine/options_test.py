"""Source access orders and strict calls."""

from __future__ import annotations

import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests.engine.calls import COPY_CALLS, swap


def _orders(simulator: kvswap_sim.Simulator) -> list[list[int]]:
    return [
        call.arguments["source_access_orders"]
        for call in simulator.trace("cuMemcpyBatchAsync")
    ]


@pytest.mark.parametrize(
    ("access", "order"), [("stream", 1), ("during_api_call", 2), ("any", 3)]
)
def test_source_access_reaches_the_driver(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, access: str, order: int
) -> None:
    with driver.primary_context():
        stream = driver.stream(non_blocking=True)
        host, device = driver.pinned_memory(64), driver.device_memory(64)
        simulator.clear_trace()
        swap(
            [host.address],
            [device.address],
            [64],
            stream=stream,
            engine="batch",
            src_access=access,
        )
        assert _orders(simulator) == [[order]]
        stream.synchronize()


def test_during_api_call_reads_before_it_returns(
    simulator: kvswap_sim.Simulator, driver: CudaDriver
) -> None:
    with driver.primary_context():
        stream = driver.stream(non_blocking=True)
        host, device = driver.pinned_memory(64), driver.device_memory(64)
        simulator.hold()
        arrived = {}
        for access in ("during_api_call", "stream"):
            host.view[:] = bytes([1]) * 64
            result = swap(
                [host.address], [device.address], [64], stream=stream, src_access=access
            )
            assert result.engine == ("loop" if access == "stream" else "batch")
            host.view[:] = bytes([2]) * 64
            stream.synchronize()
            arrived[access] = device.read()[0]
        # The second is the control, read when the stream comes to it: one copy, which
        # needs no batch unless that is all that can keep the promise.
        assert arrived == {"during_api_call": 1, "stream": 2}


@pytest.mark.parametrize(
    ("stream_kind", "engine", "reason"),
    [
        ("null", "auto", "legacy"),
        ("null", "batch", "legacy"),
        ("created", "loop", "loop engine was asked for"),
        ("created", "kernel", "kernel engine was asked for"),
        ("null", "bridge", "bridge engine was asked for"),
        ("capturing", "auto", "captures a graph"),
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_during_api_call_where_it_cannot_be_honoured(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    stream_kind: str,
    engine: str,
    reason: str,
    count: int,
) -> None:
    with driver.primary_context():
        stream = driver.stream(non_blocking=True)
        host, device = driver.pinned_memory(64), driver.device_memory(64)
        if stream_kind == "capturing":
            stream.begin_capture()
        simulator.clear_trace()
        with pytest.raises(ValueError, match=reason) as raised:
            swap(
                [host.address] * count,
                [device.address + 8 * index for index in range(count)],
                [8] * count,
                stream=0 if stream_kind == "null" else stream,
                engine=engine,
                src_access="during_api_call",
            )
        assert isinstance(raised.value, kvswap.UnsupportedError)
        assert "during_api_call" in str(raised.value)
        called = {call.name for call in simulator.trace()}
        assert not called & COPY_CALLS
        if stream_kind == "capturing":
            assert stream.end_capture().node_count() == 0


@pytest.mark.parametrize("stream_kind", ["null", "created"])
@pytest.mark.parametrize("engine", ["batch", "auto", "loop", "kernel", "bridge"])
def test_strict(driver: CudaDriver, engine: str, stream_kind: str) -> None:
    with driver.primary_context():
        host, device = driver.pinned_memory(64), driver.device_memory(64)
        stream = 0 if stream_kind == "null" else driver.stream(non_blocking=True)
        columns = ([host.address], [device.address], [64])
        if (engine, stream_kind) in (("batch", "null"), ("bridge", "created")):
            with pytest.raises(kvswap.UnsupportedError, match="strictly") as raised:
                swap(*columns, stream=stream, engine=engine, strict=True)
            cure = "Pass a created stream" if engine == "batch" else "or ask for batch"
            assert cure in str(raised.value)
            assert "Without strict, an engine that can run takes its place" in str(
                raised.value
            )
            return
        result = swap(*columns, stream=stream, engine=engine, strict=True)
        assert result.submitted == 1
        assert engine in (result.engine, "auto")
        driver.synchronize()


def test_statistics(driver: CudaDriver) -> None:
    with driver.primary_context():
        host, device = driver.pinned_memory(64), driver.device_memory(64)
        columns = (
            [host.address] * 3,
            [device.address, 0, device.address + 8],
            [8, 0, 8],
        )
        before = kvswap.stats()
        swap(*columns, stream=0, engine="batch")
        swap(*columns, stream=2, engine="batch")
        swap(*columns, stream=2, engine="kernel")
        swap(*columns, stream=0, engine="bridge")
        with pytest.raises(ValueError, match="null"):
            swap([0], [device.address], [8], stream=0)
        driver.synchronize()
    after = kvswap.stats()
    assert after.calls - before.calls == 5
    assert after.errors - before.errors == 1
    assert after.dropped - before.dropped == 4
    for engine in ("batch", "loop", "kernel", "bridge"):
        assert after.copies[engine] - before.copies.get(engine, 0) == 2
        assert after.bytes[engine] - before.bytes.get(engine, 0) == 16
    assert (
        after.fallbacks["legacy_stream"] - before.fallbacks.get("legacy_stream", 0) == 1
    )
