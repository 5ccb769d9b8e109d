"""A driver that lacks a function, lies about it, or does not tell its version."""

from __future__ import annotations

import functools
import json
import os
from typing import Any

import pytest

import kvswap
import kvswap_sim
from tests import child_process

# How a function is missing: not found, or found wrongly.
_WAYS = ("absent", "null", "status", "code")
# Each engine where it runs, if the driver has what it needs.
_CALLS = (
    ("auto", "non_blocking"),
    ("auto", "capturing"),
    ("batch", "per_thread"),
    ("loop", "blocking"),
    ("kernel", "legacy"),
    ("bridge", "null"),
)


@functools.cache
def _table() -> dict[str, bool]:
    """The driver table's entries, and whether each is required."""
    return {entry.name: entry.required for entry in kvswap.driver_info().entries}


def in_child(environment: dict[str, str]) -> dict[str, Any]:
    """What a process with such a driver comes to: a swap by each engine.

    In a fork of this one, which has imported everything and looked at no driver.
    """
    from tests.faults.operations import swap
    from tests.faults.world import World

    os.environ.update(environment)
    simulator = kvswap_sim.Simulator()
    simulator.reset()
    info = kvswap.driver_info()
    problems, errors = [], set()
    if not info.usable:
        outcome = swap(World(simulator, "non_blocking", "current"), "auto")
        errors.add("none" if outcome.error is None else outcome.error.status)
        return {"usable": False, "message": info.message, "errors": sorted(errors)}
    for engine, stream in _CALLS:
        world = World(simulator, stream, "none")
        with world.calling_thread():
            world.begin_captures()
            outcome = swap(world, engine)
            problems += world.end_captures()
        world.synchronize()
        if outcome.error is not None:
            errors.add(f"{engine} {stream}: {outcome.error}")
        elif len(world.look().written) != world.copy_count:
            problems.append(f"{engine} {stream}: bytes are missing")
    return {"usable": True, "problems": problems, "errors": sorted(errors)}


def run_all(cases: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """in_child for each (function, way), each in a fork; in a child of the test's."""
    outcomes = []
    for name, way in cases:
        lookups = {} if way == "absent" else {name: way}
        environment = kvswap_sim.environment(
            "13.0",
            devices=2,
            without=[name] if way == "absent" else (),
            lookups=lookups,
        )
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                text = json.dumps(in_child(environment))
            except BaseException as error:
                text = json.dumps({"raised": repr(error)})
            os.write(writer, text.encode()[:60_000])
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            text = pipe.read()
        _, status = os.waitpid(pid, 0)
        outcomes.append(json.loads(text) if text else {"died": status})
    return outcomes


@pytest.mark.parametrize("way", _WAYS)
def test_each_entry_missing(way: str) -> None:
    """Without a required entry no driver is usable, and the message names it; without an
    optional one every engine's copies are made all the same."""
    names = list(_table())
    outcomes = child_process.run(
        "tests.faults.missing_entries_test",
        "run_all",
        [(name, way) for name in names],
        environment={},
    )
    for name, outcome in zip(names, outcomes, strict=True):
        if _table()[name]:
            assert outcome["usable"] is False, (name, outcome)
            assert name in outcome["message"], (name, outcome)
            assert outcome["errors"] == ["no_driver"], (name, outcome)
        else:
            assert outcome == {"usable": True, "problems": [], "errors": []}, name


@pytest.mark.parametrize("code", [3, 999])
def test_a_driver_that_does_not_tell_its_version(code: int) -> None:
    """As a toolkit's stub library, whose every function answers an error."""
    outcome = child_process.run(
        "tests.faults.missing_entries_test",
        "in_child",
        {},
        environment=kvswap_sim.environment(
            "13.0",
            devices=2,
            faults=[kvswap_sim.Fault("cuDriverGetVersion", code, every=True)],
        ),
    )
    assert outcome["errors"] == ["no_driver"]
    assert "version" in outcome["message"]
