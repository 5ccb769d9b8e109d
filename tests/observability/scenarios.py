"""Calls of each kind, each in a fresh process, for tests of what is counted and logged.

A process resolves its driver once and says most things once, so every scenario has a
process of its own: `observe` runs one, and tells what was counted, logged and printed.
"""

from __future__ import annotations

import ctypes
import dataclasses
import logging
import mmap
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import kvswap_sim
from tests import child_process

BLOCK = 4096
COUNT = 6


@dataclass(frozen=True)
class Scenario:
    """A kind of call.

    Attributes:
        engine: that the call asks for.
        stream: "legacy", "created" or "capturing".
        driver: version of the simulated driver.
        source: "pinned" or "pageable".
        fault: a driver function that fails in this process, always.
        options: further arguments of the call.
        before: engine of a call that is made once before.
        environment: variables of this scenario.
        pools: whether blocks are copied between pools, not by pointers.
    """

    engine: str
    stream: str = "created"
    driver: str = "13.0"
    source: str = "pinned"
    fault: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    before: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    pools: bool = False


_LARGE = {"size": 1 << 20}

SCENARIOS = {
    "batch": Scenario("batch"),
    "loop": Scenario("loop"),
    "kernel": Scenario("kernel"),
    "bridge": Scenario("bridge", "legacy"),
    "no_batch_symbol": Scenario("batch", driver="12.4"),
    "legacy_stream": Scenario("batch", "legacy"),
    "capturing": Scenario("batch", "capturing"),
    "source_access": Scenario("loop", options={"src_access": "during_api_call"}),
    "not_reachable": Scenario("kernel", source="pageable"),
    "no_kernel_entry": Scenario("kernel", driver="11.8"),
    "no_kernel_image": Scenario("kernel", fault="cuModuleLoadData"),
    "launch_failed": Scenario("kernel", fault="cuLaunchKernel"),
    "not_legacy_stream": Scenario("bridge"),
    "no_bridge": Scenario("bridge", "legacy", fault="cuStreamCreate"),
    # Copies of 1 MiB, which the policy leaves to copy engines.
    "auto_legacy": Scenario("auto", "legacy", options=_LARGE),
    "auto_capturing": Scenario("auto", "capturing", options=_LARGE),
    "auto_no_bridge": Scenario(
        "auto", "legacy", fault="cuStreamCreate", options=_LARGE
    ),
    "auto_by_environment": Scenario(
        "auto", "legacy", environment={"KVSWAP_ENGINE": "batch"}
    ),
    "kernel_and_capturing": Scenario("kernel", "capturing", source="pageable"),
    "legacy_stream_after_auto": Scenario(
        "batch", "legacy", options=_LARGE, before="auto"
    ),
    "pools": Scenario("batch", "legacy", pools=True),
}


def observe(
    scenario: str, repeat: str = "once", environment: dict[str, str] | None = None
) -> dict[str, Any]:
    """Runs a scenario in a process of its own.

    Args:
        scenario: its name.
        repeat: how often it calls: a name in `_REPEATS`.
        environment: variables beside those of the simulated driver.

    Returns:
        "stats", the counters as mappings; "records", (logger's level, message) of what
        was logged; "stderr", the lines there; "errors", of calls that failed.
    """
    return dict(
        child_process.run(
            "tests.observability.scenarios",
            "run_here",
            scenario,
            repeat,
            environment=kvswap_sim.environment(SCENARIOS[scenario].driver)
            | {"KVSWAP_LOG": "", "KVSWAP_NVTX": ""}
            | SCENARIOS[scenario].environment
            | (environment or {}),
        )
    )


def _three_times(call: Callable[[], None]) -> None:
    for _ in range(3):
        call()


def _in_threads(call: Callable[[], None]) -> None:
    barrier = threading.Barrier(64)

    def work() -> None:
        barrier.wait()
        for _ in range(4):
            call()

    threads = [threading.Thread(target=work) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


_REPEATS: dict[str, Callable[[Callable[[], None]], None]] = {
    "once": lambda call: call(),
    "three times": _three_times,
    "in 64 threads": _in_threads,
}


class Keep(logging.Handler):
    """Keeps records."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps one."""
        self.records.append((record.levelname, record.getMessage()))


def run_here(name: str, repeat: str) -> dict[str, Any]:
    """Runs a scenario in this process, for `observe`."""
    saved = os.dup(2)
    with tempfile.TemporaryFile() as printed:
        sys.stderr.flush()
        os.dup2(printed.fileno(), 2)
        try:
            outcome = _run(SCENARIOS[name], _REPEATS[repeat])
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
        printed.seek(0)
        lines = printed.read().decode().splitlines()
    return outcome | {"stderr": lines}


def _run(
    scenario: Scenario, repeat: Callable[[Callable[[], None]], None]
) -> dict[str, Any]:
    import kvswap
    from kvswap.testing.cuda_driver import CudaDriver

    keep = Keep()
    logging.getLogger("kvswap").addHandler(keep)
    if not os.environ["KVSWAP_LOG"]:
        logging.getLogger("kvswap").setLevel(logging.DEBUG)
    driver = CudaDriver()
    options = dict(scenario.options)
    size = options.pop("size", BLOCK)
    errors: list[str] = []
    with driver.primary_context() as _, driver.device_memory(2 * COUNT * size) as gpu:
        pinned = driver.pinned_memory(COUNT * size)
        pageable = mmap.mmap(-1, COUNT * size)
        address = (
            pinned.address
            if scenario.source == "pinned"
            else ctypes.addressof(ctypes.c_char.from_buffer(pageable))
        )
        created = driver.stream(non_blocking=True)
        stream = 0 if scenario.stream == "legacy" else created.handle
        if scenario.fault is not None:
            kvswap_sim.Simulator().fail(scenario.fault, 801, every=True)
        if scenario.stream == "capturing":
            created.begin_capture()
        # With a gap behind each, so that no two blocks are contiguous on both sides.
        sources = (ctypes.c_int64 * COUNT)(*(address + i * size for i in range(COUNT)))
        targets = (ctypes.c_int64 * COUNT)(
            *(gpu.address + 2 * i * size for i in range(COUNT))
        )
        sizes = (ctypes.c_int64 * COUNT)(*[size] * COUNT)

        def call(engine: str = scenario.engine) -> None:
            try:
                with driver.primary_context():
                    if scenario.pools:
                        source, target = (
                            kvswap.BlockPool.from_regions(
                                [(start, step * size, size, 0)], COUNT
                            )
                            for start, step in ((address, 1), (gpu.address, 2))
                        )
                        pairs = [(i, i) for i in range(COUNT)]
                        kvswap.copy_blocks(
                            source, target, pairs, stream=stream, engine=engine
                        )
                        return
                    kvswap.swap_blocks_batch(
                        sources, targets, sizes, stream=stream, engine=engine, **options
                    )
            except kvswap.SwapError as error:
                errors.append(error.status)

        if scenario.before is not None:
            call(scenario.before)
        repeat(call)
        if scenario.stream == "capturing":
            created.end_capture().close()
        driver.synchronize()
    return {
        "stats": dataclasses.asdict(kvswap.stats()),
        "records": keep.records,
        "errors": errors,
        "stream": hex(stream),
        "driver": kvswap.driver_info().path,
    }
