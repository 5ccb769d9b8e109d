"""Where pinned memory lies."""

from __future__ import annotations

import logging
import mmap
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import kvswap
from kvswap import _core, numa

GPU = "0000:4f:00.0"


def fake_torch(count: int = 1, **properties: int) -> SimpleNamespace:
    """A torch that sees GPUs with these properties."""
    return SimpleNamespace(
        cuda=SimpleNamespace(
            is_available=lambda: count > 0,
            device_count=lambda: count,
            get_device_properties=lambda device: SimpleNamespace(**properties),
        )
    )


def test_address_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    place = {"pci_domain_id": 0, "pci_bus_id": 0x4F, "pci_device_id": 0}
    monkeypatch.setitem(sys.modules, "torch", fake_torch(**place))
    assert numa.pci_address(0) == GPU
    assert numa.pci_address(1) is None
    monkeypatch.setitem(sys.modules, "torch", fake_torch(count=0, **place))
    assert numa.pci_address(0) is None
    # A torch that does not tell.
    monkeypatch.setitem(sys.modules, "torch", fake_torch())
    assert numa.pci_address(0) is None
    monkeypatch.delitem(sys.modules, "torch")
    assert numa.pci_address(0) is None


@pytest.mark.parametrize(
    ("text", "node"), [("1\n", 1), ("0\n", 0), ("-1\n", None), ("", None)]
)
def test_node_of_a_device(tmp_path: Path, text: str, node: int | None) -> None:
    (tmp_path / GPU).mkdir()
    (tmp_path / GPU / "numa_node").write_text(text)
    assert numa.node_of_pci_device(GPU, tmp_path) == node
    assert numa.node_of_pci_device("0000:00:00.0", tmp_path) is None


def test_pages_prefer_the_node() -> None:
    memory = memoryview(mmap.mmap(-1, 1 << 20))
    address = _core._locate_buffer(memory)[0]
    try:
        numa.prefer_node(address, len(memory), 0)
    except OSError as error:
        pytest.skip(f"this system does not let a node be chosen: {error}")
    maps = Path("/proc/self/numa_maps")
    if maps.exists():
        lines = maps.read_text().splitlines()
        policies = {int(line.split()[0], 16): line.split()[1] for line in lines}
        assert policies[max(start for start in policies if start <= address)] in (
            "prefer:0",
            "prefer=static:0",
        )


def test_a_node_that_is_not_there() -> None:
    memory = memoryview(mmap.mmap(-1, 1 << 20))
    address = _core._locate_buffer(memory)[0]
    with pytest.raises(OSError, match="NUMA node 1000|mbind is not known"):
        numa.prefer_node(address, len(memory), 1000)


def pool() -> kvswap.BlockPool:
    return kvswap.BlockPool.from_regions([(1 << 20, 4096, 4096, 0)], 4)


@pytest.mark.usefixtures("context")
def test_the_node_of_the_gpu_is_the_default(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[tuple[int, int]] = []

    def prefer(address: int, size: int, node: int) -> None:
        asked.append((size, node))

    monkeypatch.setattr(numa, "node_of_gpu", lambda device: 1)
    monkeypatch.setattr(numa, "prefer_node", prefer)
    kvswap.pinned_pool(pool(), 4).invalidate()
    kvswap.pinned_pool(pool(), 4, numa_node=3).invalidate()
    kvswap.pinned_pool(pool(), 4, buffer=bytearray(16384)).invalidate()
    assert asked == [(16384, 1), (16384, 3)]

    def refuse(address: int, size: int, node: int) -> None:
        raise OSError(1, "mbind to NUMA node 1: Operation not permitted")

    monkeypatch.setattr(numa, "prefer_node", refuse)
    with caplog.at_level(logging.WARNING, logger="kvswap"):
        kvswap.pinned_pool(pool(), 4).invalidate()
    assert "not placed on NUMA node 1" in caplog.text
    with pytest.raises(OSError, match="NUMA node 1"):
        kvswap.pinned_pool(pool(), 4, numa_node=3)


def test_a_node_for_memory_that_has_a_place() -> None:
    with pytest.raises(ValueError, match="numa_node is for new memory"):
        kvswap.pinned_pool(pool(), 4, buffer=bytearray(16384), numa_node=0)
    with pytest.raises(ValueError, match="must not be negative"):
        kvswap.pinned_pool(pool(), 4, numa_node=-1)
