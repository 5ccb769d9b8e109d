"""torch's operators count and log like all calls."""

from __future__ import annotations

import kvswap_sim
from tests import child_process


def test_operators() -> None:
    """Their lines come with the next call from Python."""
    outcome = child_process.run(
        "tests.observability.child_bodies",
        "swap_by_the_operator",
        environment=kvswap_sim.environment("13.0") | {"KVSWAP_LOG": "debug"},
    )
    stats = outcome["stats"]
    assert (stats["calls"], stats["errors"], stats["driver_calls"]) == (1, 0, 1)
    assert stats["direction_bytes"]["host_to_device"] == 4096
    assert outcome["at once"] == []
    levels = [level for level, _ in outcome["later"]]
    assert levels.count("DEBUG") == 1
    assert "swap_blocks_batch: ok: 1 copies, 4096 bytes" in outcome["later"][-1][1]
