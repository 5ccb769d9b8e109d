"""The page for connectors: what its code does when a load fails."""

from __future__ import annotations

from typing import Any

import kvswap_sim
from tests import child_process


def _run(body: str) -> Any:
    return child_process.run(
        "tests.docs.connector_bodies", body, environment=kvswap_sim.environment("13.0")
    )


def test_the_request_at_fault_alone_is_computed_again() -> None:
    outcome = _run("one_at_fault")
    assert outcome["lost"] == ["second"]
    # The others are loaded by one call: three pairs, in every region.
    assert outcome["tickets"] == 1
    assert outcome["copies"] == 3 * outcome["regions"]


def test_what_the_driver_refused_is_computed_again() -> None:
    outcome = _run("refused_by_the_driver")
    assert outcome == {"lost": ["first", "second", "third"], "tickets": 0}


def test_mistakes_of_the_engine_are_not_swallowed() -> None:
    assert "the engine sleeps" in _run("without_blame")
