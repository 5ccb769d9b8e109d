"""examples/numpy_simulated.py, whole, in this process."""

from __future__ import annotations

from typing import Any

import pytest

import kvswap
import kvswap_sim
from examples import numpy_simulated


def test_output(capsys: pytest.CaptureFixture[str]) -> None:
    kvswap_sim.Simulator().reset()
    assert numpy_simulated.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        f"{engine}: 64 blocks, every byte is right"
        for engine in ("batch", "loop", "kernel")
    ]
    # The third call of 16 blocks begins at 32; neighbours may have become one copy.
    assert lines[3].startswith("block 3")
    assert lines[3].endswith("failed with CUDA error 700:")
    assert "CUDA_ERROR_ILLEGAL_ADDRESS (700) to cuMemcpyBatchAsync" in lines[4]
    assert kvswap_sim.Simulator().violations() == []


def test_a_wrong_byte_is_seen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kvswap_sim.Simulator().reset()
    swap = kvswap.swap_blocks_batch

    def short(src_ptrs: Any, dst_ptrs: Any, sizes: Any, **options: Any) -> Any:
        sizes = sizes.copy()
        sizes[5] -= 1
        return swap(src_ptrs, dst_ptrs, sizes, **options)

    monkeypatch.setattr(kvswap, "swap_blocks_batch", short)
    assert numpy_simulated.main() == 1
    assert "wrong bytes from the engine batch" in capsys.readouterr().err
