"""Chunks, indices and partial submission."""

from __future__ import annotations

import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import NO_INDEX, CudaDriver
from tests import child_process
from tests.engine.calls import blocks, last_first, swap

_COUNT = 20
_SIZE = 64
_FAILED = 719  # CUDA_ERROR_LAUNCH_FAILED


def _sizes() -> list[int]:
    """Every third block is empty: kept and given indices differ."""
    return [0 if index % 3 == 0 else _SIZE for index in range(_COUNT)]


def _kept() -> list[int]:
    return [index for index, size in enumerate(_sizes()) if size]


def _batch_calls(simulator: kvswap_sim.Simulator) -> list[int]:
    return [c.arguments["count"] for c in simulator.trace("cuMemcpyBatchAsync")]


@pytest.mark.parametrize(("call", "index"), [(1, 0), (1, 3), (2, 1), (4, 0)])
def test_an_error_names_the_callers_index(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, call: int, index: int
) -> None:
    with driver.primary_context():
        stream = driver.stream(non_blocking=True)
        host, device = driver.pinned_memory(2048), driver.device_memory(2048)
        host.view[:] = bytes([7]) * 2048
        device.write(bytes(2048))
        sources = blocks(host.address, _COUNT, _SIZE)
        destinations = last_first(device.address, _COUNT, _SIZE)
        simulator.fail("cuMemcpyBatchAsync", _FAILED, call=call, index=index)
        simulator.clear_trace()
        with pytest.raises(kvswap.SwapError) as raised:
            swap(
                sources,
                destinations,
                _sizes(),
                stream=stream,
                engine="batch",
                max_batch=4,
            )
        error = raised.value
        position = (call - 1) * 4 + index
        given = _kept()[position]
        assert error.status == "driver"
        assert error.cuda_error == _FAILED
        assert error.index == given
        assert error.source == sources[given]
        assert error.destination == destinations[given]
        assert error.size == _SIZE
        assert error.source_memory is not None
        assert error.destination_memory is not None
        assert error.source_memory.kind == "pinned"
        assert error.destination_memory.kind == "device"
        assert error.destination_memory.range_start == device.address
        assert error.submitted == (call - 1) * 4
        assert error.submitted_bytes == (call - 1) * 4 * _SIZE
        for text in (f"index {given}", "CUDA_ERROR_LAUNCH_FAILED", f"{_SIZE} bytes"):
            assert text in str(error)
        # Nothing after the refused call, and nothing again.
        assert len(_batch_calls(simulator)) == call
        assert len(simulator.trace("cuMemcpyAsync")) == 0
        # What was submitted arrives, and nothing else.
        stream.synchronize()
        arrived = device.read()
        for kept_position, kept in enumerate(_kept()):
            offset = destinations[kept] - device.address
            content = arrived[offset : offset + _SIZE]
            expected = 7 if kept_position < error.submitted else 0
            assert content == bytes([expected]) * _SIZE


@pytest.mark.parametrize("index", [NO_INDEX, 4, 1 << 40])
def test_an_index_outside_the_chunk_blames_no_copy(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, index: int
) -> None:
    with driver.primary_context():
        stream = driver.stream(non_blocking=True)
        host, device = driver.pinned_memory(2048), driver.device_memory(2048)
        simulator.fail("cuMemcpyBatchAsync", 1, call=2, index=index)
        with pytest.raises(kvswap.SwapError) as raised:
            swap(
                blocks(host.address, _COUNT, _SIZE),
                last_first(device.address, _COUNT, _SIZE),
                _sizes(),
                stream=stream,
                engine="batch",
                max_batch=4,
            )
        assert raised.value.index is None
        assert raised.value.submitted == 4
        assert "blamed no single copy" in str(raised.value)


@pytest.mark.parametrize("call", [1, 2, 13])
def test_the_loop_stops_at_the_first_error(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, call: int
) -> None:
    with driver.primary_context():
        host, device = driver.pinned_memory(2048), driver.device_memory(2048)
        simulator.fail("cuMemcpyAsync", 1, call=call)
        simulator.clear_trace()
        with pytest.raises(kvswap.SwapError) as raised:
            swap(
                blocks(host.address, _COUNT, _SIZE),
                last_first(device.address, _COUNT, _SIZE),
                _sizes(),
                stream=0,
                engine="loop",
            )
        assert raised.value.index == _kept()[call - 1]
        assert raised.value.submitted == call - 1
        assert len(simulator.trace("cuMemcpyAsync")) == call


def test_a_single_copy(simulator: kvswap_sim.Simulator, driver: CudaDriver) -> None:
    """Its way is a short one: the same result, and the same error."""
    with driver.primary_context():
        stream = driver.stream(non_blocking=True)
        host, device = driver.pinned_memory(2048), driver.device_memory(2048)
        host.view[:] = bytes([7]) * 2048
        device.write(bytes(2048))
        # With an empty one in front of it, which is not counted.
        copy = [host.address] * 2, [device.address] * 2, [0, _SIZE]
        simulator.fail("cuMemcpyAsync", _FAILED)
        with pytest.raises(kvswap.SwapError) as raised:
            swap(*copy, stream=stream)
        error = raised.value
        assert (error.index, error.cuda_error, error.submitted) == (1, _FAILED, 0)
        assert (error.source, error.size) == (host.address, _SIZE)
        result = swap(*copy, stream=stream)
        assert (result.engine, result.submitted, result.dropped) == ("loop", 1, 1)
        assert (result.submitted_bytes, result.copies["loop"]) == (_SIZE, 1)
        stream.synchronize()
        assert device.read(size=_SIZE + 1) == bytes([7]) * _SIZE + b"\0"


@pytest.mark.parametrize(
    ("count", "max_batch", "expected"),
    [
        (5, 5, [5]),
        (5, 4, [4, 1]),
        (8, 4, [4, 4]),
        (300, None, [128, 128, 44]),
        (3, 1, [1, 1, 1]),
        (40000, 1 << 62, [32768, 7232]),
    ],
)
def test_chunks(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    count: int,
    max_batch: int | None,
    expected: list[int],
) -> None:
    with driver.primary_context():
        stream = driver.stream(non_blocking=True)
        host, device = driver.pinned_memory(count), driver.device_memory(count)
        columns = (
            blocks(host.address, count, 1),
            last_first(device.address, count, 1),
            [1] * count,
        )
        simulator.clear_trace()
        result = swap(*columns, stream=stream, engine="batch", max_batch=max_batch)
        assert _batch_calls(simulator) == expected
        assert result.submitted == count
        stream.synchronize()


def test_an_empty_call_reaches_no_driver(simulator: kvswap_sim.Simulator) -> None:
    kvswap.driver_info()
    simulator.clear_trace()
    assert swap([], [], []).submitted == 0
    assert swap([0, 5], [0, 5], [0, 0]).dropped == 2
    assert simulator.trace() == []


def _run_with(environment: dict[str, str]) -> list[int | str]:
    outcome = child_process.run(
        "tests.engine.chunks_test",
        "swap_under_environment",
        environment=kvswap_sim.environment("13.0") | environment,
    )
    assert isinstance(outcome, list)
    return outcome


def swap_under_environment() -> list[int | str]:
    """The chunks that a call makes, or its error; run in a child process."""
    simulator = kvswap_sim.Simulator()
    driver = CudaDriver()
    with driver.primary_context():
        stream = driver.stream(non_blocking=True)
        host, device = driver.pinned_memory(1 << 18), driver.device_memory(1 << 18)
        columns = (
            blocks(host.address, 64, 4096),
            last_first(device.address, 64, 4096),
            [4096] * 64,
        )
        try:
            result = swap(*columns, stream=stream)
        except ValueError as error:
            return [str(error)]
        return [result.engine, *_batch_calls(simulator)]


def test_the_environment_sets_defaults() -> None:
    batch = {"KVSWAP_ENGINE": "batch"}
    assert _run_with(batch | {"KVSWAP_MAX_BATCH": "30"}) == ["batch", 30, 30, 4]
    assert _run_with(batch | {"KVSWAP_MAX_BATCH": "9" * 30}) == ["batch", 64]
    assert _run_with(batch | {"KVSWAP_MAX_BATCH": ""}) == ["batch", 64]
    assert _run_with({"KVSWAP_ENGINE": "loop"}) == ["loop"]
    assert _run_with({"KVSWAP_ENGINE": "kernel"}) == ["kernel"]
    # What many small copies go by where no engine is named.
    assert _run_with({"KVSWAP_ENGINE": ""}) == ["kernel"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KVSWAP_MAX_BATCH", "0"),
        ("KVSWAP_MAX_BATCH", "-1"),
        ("KVSWAP_MAX_BATCH", "12x"),
        ("KVSWAP_MAX_BATCH", " 4"),
        ("KVSWAP_ENGINE", "bach"),
    ],
)
def test_a_wrong_environment_is_an_error_that_names_it(name: str, value: str) -> None:
    (message,) = _run_with({name: value})
    assert f'{name} is "{value}"' in str(message)
