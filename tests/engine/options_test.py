"""Source access orders and strict calls."""

from __future__ import annotations

import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests.engine.calls import swap


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
        swap([host.address], [device.address], [64], stream=stream, src_access=access)
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
            swap(
                [host.address], [device.address], [64], stream=stream, src_access=access
            )
            host.view[:] = bytes([2]) * 64
            stream.synchronize()
            arrived[access] = device.read()[0]
        # The second is the control: read when the stream comes to it.
        assert arrived == {"during_api_call": 1, "stream": 2}


@pytest.mark.parametrize(
    ("stream_kind", "engine", "reason"),
    [
        ("null", "auto", "legacy"),
        ("null", "batch", "legacy"),
        ("created", "loop", "loop engine was asked for"),
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
        assert not called & {"cuMemcpyAsync", "cuMemcpyBatchAsync"}
        if stream_kind == "capturing":
            assert stream.end_capture().node_count() == 0


@pytest.mark.parametrize("engine", ["batch", "auto", "loop"])
def test_strict(driver: CudaDriver, engine: str) -> None:
    with driver.primary_context():
        host, device = driver.pinned_memory(64), driver.device_memory(64)
        stream = driver.stream(non_blocking=True)
        columns = ([host.address], [device.address], [64])
        assert swap(*columns, stream=stream, engine=engine, strict=True).submitted == 1
        if engine == "batch":
            with pytest.raises(kvswap.UnsupportedError, match="strictly"):
                swap(*columns, stream=0, engine=engine, strict=True)
        else:
            assert swap(*columns, stream=0, engine=engine, strict=True).submitted == 1
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
        swap(*columns, stream=0)
        swap(*columns, stream=2)
        with pytest.raises(ValueError, match="null"):
            swap([0], [device.address], [8], stream=0)
        driver.synchronize()
    after = kvswap.stats()
    assert after.calls - before.calls == 3
    assert after.errors - before.errors == 1
    assert after.dropped - before.dropped == 2
    for engine in ("batch", "loop"):
        assert after.copies[engine] - before.copies.get(engine, 0) == 2
        assert after.bytes[engine] - before.bytes.get(engine, 0) == 16
    assert (
        after.fallbacks["legacy_stream"] - before.fallbacks.get("legacy_stream", 0) == 1
    )
