"""Ranges of calls in torch's profiler and in NVTX."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from typing import Any

import nvtx
import pytest
import torch

import kvswap
import kvswap_sim
from kvswap import _core, tracing
from kvswap.testing.cuda_driver import CudaDriver
from tests import child_process

BLOCKS = 4
BYTES = 4096


class Memory:
    """Blocks that are swapped by the engine batch."""

    def __init__(self, driver: CudaDriver) -> None:
        self.driver = driver
        self.host = driver.pinned_memory(BLOCKS * BYTES)
        self.gpu = driver.device_memory(BLOCKS * BYTES)
        self.stream = driver.stream(non_blocking=True)

    def swap(self, bad: bool = False) -> None:
        """All blocks into the GPU; `bad`: from where no memory is."""
        offsets = torch.arange(BLOCKS) * BYTES
        kvswap.swap_blocks_batch(
            offsets + (8 if bad else self.host.address),
            self.gpu.address + offsets,
            torch.full((BLOCKS,), BYTES),
            stream=self.stream,
            engine="batch",
        )
        self.driver.synchronize()

    def swap_pools(self) -> None:
        """Two of the blocks, as pools."""
        host, gpu = (
            kvswap.BlockPool.from_regions(
                [(owner.address, BYTES, BYTES)], BLOCKS, device=device, owner=owner
            )
            for owner, device in ((self.host, None), (self.gpu, 0))
        )
        kvswap.swap_in(host, gpu, [(0, 1), (2, 2)], stream=self.stream, engine="batch")
        self.driver.synchronize()


@pytest.fixture
def memory(driver: CudaDriver) -> Memory:
    """Memory of the current context."""
    return Memory(driver)


def _counts(profile: Any) -> dict[str, int]:
    return {
        event.key: event.count
        for event in profile.key_averages()
        if event.key.startswith("kvswap")
    }


class TestTorchProfiler:
    """torch.profiler"""

    def test_ranges(self, memory: Memory) -> None:
        memory.swap()
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU]
        ) as profile:
            memory.swap()
            memory.swap()
            memory.swap_pools()
        memory.swap()
        assert _counts(profile) == {
            "kvswap.swap_blocks_batch": 2,
            "kvswap.copy_blocks": 1,
            "kvswap.batch": 3,
        }

    def test_the_older_profiler(self, memory: Memory) -> None:
        with torch.autograd.profiler.profile() as profile:
            memory.swap()
        assert _counts(profile)["kvswap.swap_blocks_batch"] == 1

    def test_counts_are_in_the_trace(self, memory: Memory, tmp_path: Any) -> None:
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True
        ) as profile:
            memory.swap()
        trace = tmp_path / "trace.json"
        profile.export_chrome_trace(str(trace))
        numbers = {
            event["name"]: {
                key: event["args"].get(key) for key in ("copies", "bytes_of_call")
            }
            for event in json.loads(trace.read_text())["traceEvents"]
            if event.get("name", "").startswith("kvswap")
        }
        assert numbers == {
            "kvswap.swap_blocks_batch": {"copies": BLOCKS, "bytes_of_call": None},
            "kvswap.batch": {"copies": BLOCKS, "bytes_of_call": BLOCKS * BYTES},
        }

    def test_a_failed_call_ends_its_range(self, memory: Memory) -> None:
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU]
        ) as profile:
            with pytest.raises(kvswap.SwapError):
                memory.swap(bad=True)
            memory.swap()
        assert _counts(profile) == {"kvswap.swap_blocks_batch": 2, "kvswap.batch": 1}
        depths = [
            event.cpu_parent
            for event in profile.events()
            if event.key == "kvswap.swap_blocks_batch"
        ]
        assert depths == [None, None]

    def test_no_range_without_a_profile(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_arguments: object) -> None:
            raise AssertionError("a range was made")

        monkeypatch.setattr(tracing, "TraceRange", refuse)
        seen: list[Any] = []
        monkeypatch.setattr(sys, "unraisablehook", seen.append)
        memory.swap()
        assert seen == []
        with torch.autograd.profiler.profile():
            memory.swap()
        # The call went well in spite of it.
        assert "a range was made" in str(seen[0].exc_value)


@pytest.fixture
def fake_nvtx(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Any, ...]]]:
    """What calls of NVTX were made, of ranges that are on."""
    calls: list[tuple[Any, ...]] = []
    fake = types.ModuleType("nvtx")
    fake.push_range = lambda message, *, domain, payload: calls.append(  # type: ignore[attr-defined]
        ("push", message, domain, payload)
    )
    fake.mark = lambda message, *, domain, payload: calls.append(  # type: ignore[attr-defined]
        ("mark", message, domain, payload)
    )
    fake.pop_range = lambda *, domain: calls.append(("pop", domain))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nvtx", fake)
    kvswap.set_tracing(nvtx=True)
    yield calls
    kvswap.set_tracing(nvtx=False)


class TestNvtx:
    """NVTX ranges"""

    def test_ranges(self, memory: Memory, fake_nvtx: list[Any]) -> None:
        memory.swap()
        memory.swap_pools()
        assert fake_nvtx == [
            ("push", "kvswap.swap_blocks_batch", "kvswap", BLOCKS),
            ("mark", "kvswap.batch", "kvswap", BLOCKS),
            ("pop", "kvswap"),
            ("push", "kvswap.copy_blocks", "kvswap", 2),
            ("mark", "kvswap.batch", "kvswap", 2),
            ("pop", "kvswap"),
        ]

    def test_a_failed_call_ends_its_range(
        self, memory: Memory, fake_nvtx: list[Any]
    ) -> None:
        with pytest.raises(kvswap.SwapError):
            memory.swap(bad=True)
        assert [call[0] for call in fake_nvtx] == ["push", "pop"]

    def test_off(self, memory: Memory, fake_nvtx: list[Any]) -> None:
        kvswap.set_tracing(nvtx=False)
        memory.swap()
        assert fake_nvtx == []

    def test_the_real_package_without_a_tool(self, memory: Memory) -> None:
        assert nvtx.__file__ is not None
        kvswap.set_tracing(nvtx=True)
        try:
            memory.swap()
            memory.swap_pools()
            with pytest.raises(kvswap.SwapError):
                memory.swap(bad=True)
        finally:
            kvswap.set_tracing(nvtx=False)

    def test_without_the_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "nvtx", None)
        with pytest.raises(ImportError, match="pip install nvtx"):
            kvswap.set_tracing(nvtx=True)
        # Not half on.
        _core._set_nvtx(False)


@pytest.mark.parametrize(
    ("value", "hidden", "is_on", "said"),
    [
        ("1", False, True, []),
        ("", False, False, []),
        ("0", False, False, []),
        ("1", True, False, ["KVSWAP_NVTX is 1 and there are no ranges"]),
    ],
)
def test_variable(value: str, hidden: bool, is_on: bool, said: list[str]) -> None:
    found, lines = child_process.run(
        "tests.observability.child_bodies",
        "imported_and_logged",
        hidden,
        environment=kvswap_sim.environment("13.0") | {"KVSWAP_NVTX": value},
    )
    assert found is is_on
    assert [line.split(":")[0] for line in lines] == said
