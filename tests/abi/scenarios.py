"""Bodies of the ABI matrix's tests, run in child processes by tests.child_process.

Each works on the simulated driver that the environment names and returns JSON.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import kvswap
from kvswap.testing import cuda_driver
from kvswap.testing.cuda_driver import CudaDriver
from kvswap_sim import Simulator
from tests.blocks import Memory, Table, block_table, content

_SIZE = 1 << 14
_COUNT = 60
# Small, so that a call makes several chunks.
_MAX_BATCH = 16

_COPY_CALLS = ("cuMemcpyAsync", "cuMemcpyBatchAsync")


def _seed() -> int:
    return int(os.environ.get("KVSWAP_SIM_SEED") or "1")


def stream_handle(driver: CudaDriver, kind: str) -> int:
    """A stream of a kind: "null", "legacy", "per_thread", "created", "blocking"."""
    if kind in ("created", "blocking"):
        return driver.stream(non_blocking=kind == "created").handle
    return {"null": 0, "legacy": 1, "per_thread": 2}[kind]


def _copy_calls(simulator: Simulator) -> list[dict[str, Any]]:
    return [
        {
            "name": call.name,
            "version": call.version,
            "symbol": call.symbol,
            "arguments": call.arguments,
            "result": call.result,
        }
        for call in simulator.trace()
        if call.name in _COPY_CALLS
    ]


def _count_differences(actual: bytes, expected: bytes) -> int:
    assert len(actual) == len(expected)
    return sum(a != b for a, b in zip(actual, expected, strict=True))


def describe_driver() -> dict[str, Any]:
    """What an import and a look at the driver find, and which calls they make."""
    info = kvswap.driver_info()
    calls = (
        [call.name for call in Simulator().trace()]
        if info.path and "cuda_sim" in info.path
        else []
    )
    return {
        "usable": info.usable,
        "driver_version": info.driver_version,
        "batch_available": info.batch_available,
        "toolkit_version": info.toolkit_version,
        "path": info.path,
        "message": info.message,
        "tried": list(info.tried),
        "entries": {
            entry.name: {
                "version": entry.version,
                "required": entry.required,
                "present": entry.present,
                "message": entry.message,
            }
            for entry in info.entries
        },
        "calls": calls,
    }


def libraries_after_import() -> list[str]:
    """Files named like CUDA's or torch's libraries that an import has mapped."""
    assert "kvswap" in sys.modules
    with open("/proc/self/maps", encoding="utf-8") as maps:
        text = maps.read()
    return sorted(set(re.findall(r"\S*/lib(?:cuda|cudart|torch)[^/\s]*", text)))


def lookups() -> list[dict[str, Any]]:
    """Every request of cuGetProcAddress, after two looks and one swap."""
    kvswap.driver_info()
    simulator = Simulator()
    driver = CudaDriver()
    with driver.primary_context():
        memory = Memory(driver, 4096, seed=1)
        table = block_table(memory.host.address, memory.device.address, 4096, 4, 1)
        kvswap.swap_blocks_batch(*table.arrays(), stream=0)
        driver.synchronize()
    kvswap.driver_info()
    return [call.arguments for call in simulator.trace("cuGetProcAddress")]


def swap_round(kind: str, engine: str) -> dict[str, Any]:
    """Blocks in and out again on a stream of a kind, every byte compared."""
    driver = CudaDriver()
    simulator = Simulator()
    with driver.primary_context():
        stream = stream_handle(driver, kind)
        memory = Memory(driver, _SIZE, _seed())
        table_in = block_table(
            memory.host.address, memory.device.address, _SIZE, _COUNT, _seed()
        )
        table_out = block_table(
            memory.device.address, memory.returned.address, _SIZE, _COUNT, _seed() + 1
        )
        live = simulator.live()
        simulator.clear_trace()
        options: dict[str, Any] = {
            "stream": stream,
            "engine": engine,
            "max_batch": _MAX_BATCH,
        }
        plan = kvswap.plan(*table_in.arrays(), **options)
        planned_calls = len(_copy_calls(simulator))
        result_in = kvswap.swap_blocks_batch(*table_in.arrays(), **options)
        calls_in = _copy_calls(simulator)
        result_out = kvswap.swap_blocks_batch(*table_out.arrays(), **options)
        live_after = simulator.live()
        driver.synchronize_stream(stream)

        on_device = table_in.expected(
            memory.content, memory.host.address, _SIZE, memory.device.address
        )
        returned = table_out.expected(
            on_device, memory.device.address, _SIZE, memory.returned.address
        )
        kept = sum(size != 0 for size in table_in.sizes)
        for snapshot in (live, live_after):
            snapshot.pop("pending")
        return {
            "engine": [plan.engine, result_in.engine, result_out.engine],
            "unavailable": [
                plan.unavailable,
                result_in.unavailable,
                result_out.unavailable,
            ],
            "device_differences": _count_differences(memory.device.read(), on_device),
            "host_differences": _count_differences(
                bytes(memory.returned.view), returned
            ),
            "kept": kept,
            "submitted": result_in.submitted,
            "dropped": result_in.dropped,
            "bytes": sum(table_in.sizes),
            "submitted_bytes": result_in.submitted_bytes,
            "planned_driver_calls": plan.driver_calls,
            "planned_calls_made": planned_calls,
            "calls": calls_in,
            "stream": stream,
            "table": {
                "sources": table_in.sources,
                "destinations": table_in.destinations,
                "sizes": table_in.sizes,
            },
            "leaked": live != live_after,
            "violations": simulator.violations(),
        }


def swap_rounds(kinds: Sequence[str], engines: Sequence[str]) -> dict[str, Any]:
    """swap_round for each kind of stream and each engine, by "kind engine"."""
    return {
        f"{kind} {engine}": swap_round(kind, engine)
        for kind in kinds
        for engine in engines
    }


def swap_reads_in_stream_order(kind: str, engine: str) -> dict[str, Any]:
    """What a swap reads that follows a fill of its source on the same stream."""
    driver = CudaDriver()
    with driver.primary_context():
        stream = stream_handle(driver, kind)
        memory = Memory(driver, _SIZE, _seed())
        driver.fill_async(memory.device.address, 0x5A, _SIZE, stream)
        table = block_table(
            memory.device.address, memory.returned.address, _SIZE, _COUNT, _seed()
        )
        result = kvswap.swap_blocks_batch(*table.arrays(), stream=stream, engine=engine)
        # And what follows a swap on its stream comes after it.
        driver.fill_async(memory.device.address, 0xA5, _SIZE, stream)
        driver.synchronize_stream(stream)
        expected = table.expected(
            b"\x5a" * _SIZE, memory.device.address, _SIZE, memory.returned.address
        )
        return {
            "engine": result.engine,
            "differences": _count_differences(bytes(memory.returned.view), expected),
        }


def capture_and_replay(engine: str) -> dict[str, Any]:
    """A captured swap: nothing runs at capture, each launch reads anew."""
    driver = CudaDriver()
    simulator = Simulator()
    with driver.primary_context():
        stream = driver.stream(non_blocking=True)
        memory = Memory(driver, _SIZE, _seed())
        table = block_table(
            memory.host.address, memory.device.address, _SIZE, _COUNT, _seed()
        )
        arrays = table.arrays()
        simulator.clear_trace()
        stream.begin_capture()
        plan = kvswap.plan(*arrays, stream=stream, engine=engine)
        result = kvswap.swap_blocks_batch(*arrays, stream=stream, engine=engine)
        status = stream.capture_status()
        calls = simulator.trace()
        graph = stream.end_capture()
        # The graph has its own copy of what the arrays held.
        for array in arrays:
            array[:] = 1
        before_launch = memory.device.read()
        executable = graph.instantiate()
        differences = []
        for launch in range(2):
            memory.host.view[:] = content(_SIZE, _seed() + launch)
            expected = table.expected(
                bytes(memory.host.view),
                memory.host.address,
                _SIZE,
                memory.device.address,
            )
            executable.launch(stream)
            stream.synchronize()
            differences.append(_count_differences(memory.device.read(), expected))
        return {
            "engine": result.engine,
            "unavailable": result.unavailable,
            "plan_capturing": plan.capturing,
            "capture_active": status == cuda_driver.CAPTURE_STATUS_ACTIVE,
            "planned_driver_calls": plan.driver_calls,
            "nodes": graph.node_count(),
            "kept": sum(size != 0 for size in table.sizes),
            "untouched_before_launch": len(set(before_launch)) == 1,
            "differences": differences,
            "batch_calls": [c.name for c in calls].count("cuMemcpyBatchAsync"),
            "first_call": calls[0].name,
        }


def swap_on_invalidated_capture() -> dict[str, Any]:
    """The error of a swap on a stream whose capture is invalid."""
    kvswap.driver_info()
    driver = CudaDriver()
    simulator = Simulator()
    with driver.primary_context():
        memory = Memory(driver, _SIZE, _seed())
        event = driver.event()
        event.record(0)
        table = block_table(
            memory.host.address, memory.device.address, _SIZE, _COUNT, _seed()
        )
        stream = driver.stream(non_blocking=True)
        stream.begin_capture()
        try:
            event.query()  # invalidates a capture in global mode
        except cuda_driver.CudaError:
            pass
        status = stream.capture_status()
        simulator.clear_trace()
        error = swap_error(table, stream)
        return {
            "status_before": status,
            "error": error,
            "calls": [call.name for call in simulator.trace()],
        }


def swap_on_legacy_stream_during_a_capture() -> dict[str, Any]:
    """A swap on handle 0 while a blocking stream captures; the capture goes on."""
    driver = CudaDriver()
    simulator = Simulator()
    with driver.primary_context():
        memory = Memory(driver, _SIZE, _seed())
        capturing = driver.stream()
        capturing.begin_capture(cuda_driver.CAPTURE_RELAXED)
        table = block_table(
            memory.host.address, memory.device.address, _SIZE, _COUNT, _seed()
        )
        kvswap.swap_blocks_batch(*table.arrays(), stream=capturing)
        simulator.clear_trace()
        error = swap_error(table, 0)
        calls = [call.name for call in simulator.trace()]
        status = capturing.capture_status()
        graph = capturing.end_capture()
        graph.instantiate().launch(capturing)
        capturing.synchronize()
        expected = table.expected(
            memory.content, memory.host.address, _SIZE, memory.device.address
        )
        return {
            "error": error,
            "calls": calls,
            "capture_status": status,
            "differences": _count_differences(memory.device.read(), expected),
        }


def swap_error(table: Table, stream: Any, **options: Any) -> dict[str, Any]:
    """The SwapError of a call that must fail."""
    try:
        kvswap.swap_blocks_batch(*table.arrays(), stream=stream, **options)
    except kvswap.SwapError as error:
        return {
            "message": str(error),
            "status": error.status,
            "index": error.index,
            "cuda_error": error.cuda_error,
            "submitted": error.submitted,
        }
    raise AssertionError("the call did not fail")
