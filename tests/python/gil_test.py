"""Other Python threads run while a call is in the driver."""

from __future__ import annotations

import pathlib

import pytest

import kvswap_sim
from tests import child_process


@pytest.mark.parametrize("function", ["swap_blocks_batch", "plan"])
def test_another_thread_runs(function: str, tmp_path: pathlib.Path) -> None:
    """It has to, or the child would hang, and fail by its time limit."""
    pipe = tmp_path / "trace"
    outcome = child_process.run(
        "tests.python.child_bodies",
        "stop_in_driver",
        function,
        str(pipe),
        environment=kvswap_sim.environment("13.0", trace=pipe),
    )
    # The pipe was full, and the other thread emptied it during the call.
    assert outcome["filled"] > 0
    assert outcome["read_in_call"] >= outcome["filled"]
    assert outcome["arrived"] is (function == "swap_blocks_batch")
