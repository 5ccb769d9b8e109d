"""The record of calls, and failures on demand."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvswap_sim
from tests.sim import child
from tests.sim.client import Start, cuda_driver


def copy_code(driver: Any, *arguments: Any) -> int:
    try:
        driver.copy_async(*arguments)
    except cuda_driver.CudaError as error:
        return int(error.code)
    return 0


def test_calls_are_recorded(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        stream = driver.stream()
        device, pinned = driver.device_memory(64), driver.pinned_memory(64)
        simulator.clear_trace()
        driver.copy_async(device.address, pinned.address, 64, stream)
        copy_code(driver, device.address, pinned.address, 65, stream)
        good, bad = simulator.trace("cuMemcpyAsync")
    assert (good.name, good.symbol) == ("cuMemcpyAsync", "cuMemcpyAsync")
    assert (good.version, good.result, good.note) == (4000, 0, "")
    assert good.thread == threading.get_native_id()
    assert good.arguments == {
        "destination": device.address,
        "source": pinned.address,
        "size": 64,
        "stream": stream.handle,
    }
    assert bad.result == 1
    assert bad.sequence == good.sequence + 1
    assert "runs past" in bad.note


def test_time_in_calls_is_counted(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        device, pinned = driver.device_memory(1 << 20), driver.pinned_memory(1 << 20)
        stream = driver.stream()
        before = simulator.seconds_in_calls()
        begin = time.perf_counter()
        for _ in range(20):
            driver.copy_async(device.address, pinned.address, 1 << 20, stream)
            driver.synchronize()
        total = time.perf_counter() - begin
        counted = simulator.seconds_in_calls() - before
        # Python's part does not count.
        assert 0 < counted < total
        time.sleep(0.01)
        assert simulator.seconds_in_calls() - before == counted


def test_arrays_are_recorded(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        device, pinned = driver.device_memory(64), driver.pinned_memory(64)
        stream = driver.stream()
        driver.copy_batch_async(
            [device.address, device.address + 8],
            [pinned.address, pinned.address + 8],
            [8, 4],
            stream,
            access_order=3,
        )
    (call,) = simulator.trace("cuMemcpyBatchAsync")
    assert call.arguments["destinations"] == [
        device.address,
        device.address + 8,
    ]
    assert call.arguments["sources"] == [pinned.address, pinned.address + 8]
    assert call.arguments["sizes"] == [8, 4]
    assert call.arguments["count"] == 2
    assert call.arguments["attribute_indices"] == [0]
    assert call.arguments["source_access_orders"] == [3]
    assert call.arguments["stream"] == stream.handle
    assert call.outputs == {"failed_index": 2**64 - 1}


def test_names_and_symbols(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        driver.device_memory(64)
    assert len(simulator.trace("cuMemAlloc")) == 1
    assert len(simulator.trace("cuMemAlloc_v2")) == 1
    assert simulator.trace("cuMemAlloc")[0].version == 3020


def test_odd_text_is_recorded(start: Start) -> None:
    simulator, driver = start("13.0")
    function = ctypes.byref(ctypes.c_void_p())
    name = b'cu"\\\n\xff'
    driver.result("cuGetProcAddress", name, function, 12000, ctypes.c_uint64(0))
    recorded = simulator.trace("cuGetProcAddress")[-1].arguments["symbol"]
    assert recorded.encode("latin-1") == name


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    variables = kvswap_sim.environment("13.0", trace=path)
    for _ in range(2):
        result = child.run("cuda_driver.CudaDriver().device_count()", variables)
        assert result.returncode == 0, result.stderr
    calls = kvswap_sim.read_trace(path)
    assert [call.name for call in calls] == ["cuInit", "cuDeviceGetCount"] * 2
    assert [call.sequence for call in calls] == [1, 2, 1, 2]


def test_file_has_the_call_that_the_process_died_in(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    result = child.run(
        """
        driver = cuda_driver.CudaDriver()
        with driver.primary_context():
            device = driver.device_memory(64)
            driver.copy_async(device.address, 4096, 64, driver.stream())
        """,
        kvswap_sim.environment("13.0", trace=path),
    )
    assert result.returncode == -11
    last = kvswap_sim.read_trace(path)[-1]
    assert (last.name, last.result) == ("cuMemcpyAsync", None)
    assert last.arguments["source"] == 4096


def test_chosen_call_fails(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        stream = driver.stream()
        device, pinned = driver.device_memory(64), driver.pinned_memory(64)
        copy = (device.address, pinned.address, 64, stream)
        pinned.view[:] = b"\1" * 64
        simulator.fail("cuMemcpyAsync", 719, call=3)
        codes = [copy_code(driver, *copy) for _ in range(5)]
        assert codes == [0, 0, 719, 0, 0]
        assert simulator.trace("cuMemcpyAsync")[2].note == "failed on demand"


@pytest.mark.parametrize("after", [False, True])
def test_fails_instead_of_its_work_or_after_it(start: Start, after: bool) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        stream = driver.stream()
        device, pinned = driver.device_memory(64), driver.pinned_memory(64)
        pinned.view[:] = b"\1" * 64
        simulator.fail("cuMemcpyAsync", 700, after=after)
        copy = (device.address, pinned.address, 64, stream)
        assert copy_code(driver, *copy) == 700
        driver.synchronize()
        assert device.read() == (b"\1" if after else b"\0") * 64


def test_batch_fails_with_an_index(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        device, pinned = driver.device_memory(64), driver.pinned_memory(64)
        batch = ([device.address] * 3, [pinned.address] * 3, [8] * 3)
        stream = driver.stream()
        for index, shown in ((2, 2), (2**64 - 1, None), (999, 999)):
            simulator.fail("cuMemcpyBatchAsync", 1, index=index)
            with pytest.raises(cuda_driver.BatchError) as raised:
                driver.copy_batch_async(*batch, stream)
            assert (raised.value.code, raised.value.index) == (1, shown)
        driver.copy_batch_async(*batch, stream)


def test_one_symbol_of_a_name_fails(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        simulator.fail("cuCtxGetDevice_v2", 999)
        device = ctypes.byref(ctypes.c_int())
        assert driver.result("cuCtxGetDevice", device) == 0
        assert driver.result("cuCtxGetDevice_v2", device, None) == 999


def test_cap_on_batches(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        device, pinned = driver.device_memory(64), driver.pinned_memory(64)
        stream = driver.stream()
        simulator.limit_batch(2, 700)
        for count, code in ((2, 0), (3, 700)):
            try:
                driver.copy_batch_async(
                    [device.address] * count,
                    [pinned.address] * count,
                    [8] * count,
                    stream,
                )
                seen = 0
            except cuda_driver.BatchError as error:
                seen = error.code
                assert error.index is None
            assert seen == code
        simulator.clear_faults()


def test_faults_by_the_environment() -> None:
    fault = kvswap_sim.Fault("cuDeviceGetCount", 46, call=2)
    above = kvswap_sim.Fault("cuMemcpyBatchAsync", 1, above=100)
    variables = kvswap_sim.environment("13.0", faults=[fault, above, "cuInit=999"])
    assert variables["KVSWAP_SIM_FAULTS"] == (
        "cuDeviceGetCount#2=46;cuMemcpyBatchAsync>100=1;cuInit=999"
    )
    result = child.run(
        """
        driver = cuda_driver.CudaDriver(initialize=False)
        count = ctypes.byref(ctypes.c_int())
        print(driver.result("cuInit", 0), driver.result("cuInit", 0))
        print([driver.result("cuDeviceGetCount", count) for _ in range(3)])
        """,
        variables,
    )
    assert result.stdout.split("\n")[:2] == ["999 0", "[0, 46, 0]"], result.stderr


def test_fault_text() -> None:
    fault = kvswap_sim.Fault("cuMemcpyBatchAsync", 1, call=4, index=7, after=True)
    assert str(fault) == "cuMemcpyBatchAsync#4=1,index=7,after"


def test_lookup_by_the_environment() -> None:
    variables = kvswap_sim.environment(
        "13.0",
        without=["cuMemcpyBatchAsync"],
        lookups={"cuMemcpyAsync": "null"},
    )
    result = child.run(
        """
        driver = cuda_driver.CudaDriver(initialize=False)
        for name in (b"cuMemcpyBatchAsync", b"cuMemcpyAsync", b"cuMemAlloc"):
            function, status = ctypes.c_void_p(), ctypes.c_int()
            print(driver.result("cuGetProcAddress_v2", name,
                  ctypes.byref(function), 12080, ctypes.c_uint64(1),
                  ctypes.byref(status)), bool(function.value), status.value)
        """,
        variables,
    )
    assert result.stdout.splitlines() == [
        "0 False 1",
        "0 False 0",
        "0 True 0",
    ], result.stderr


def test_bad_requests_are_refused(start: Start) -> None:
    simulator, _ = start("13.0")
    requests: list[Callable[[], None]] = [
        lambda: simulator.fail("cuNoSuchFunction", 1),
        lambda: simulator.fail("cuInit", 1, call=0),
        lambda: simulator.lookup("cuInit", "lie"),
        lambda: simulator.lookup("cuNoSuchFunction", "null"),
        lambda: simulator.leave_out("cuNoSuchFunction"),
        lambda: simulator.set_device_attribute(9, 91, 0),
    ]
    for request in requests:
        with pytest.raises(ValueError, match="refused"):
            request()


def test_reset(start: Start) -> None:
    simulator, driver = start("13.0")
    context = driver.retain_primary()
    with context.current():
        driver.device_memory(64)
        driver.stream()
    simulator.fail("cuInit", 999)
    simulator.reset()
    assert not any(simulator.live().values())
    assert simulator.trace() == []
    assert driver.result("cuCtxSynchronize") == 3
    assert driver.result("cuInit", 0) == 0
