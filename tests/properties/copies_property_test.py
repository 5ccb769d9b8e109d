"""Random calls do what plain memcpy one by one does, on every driver, or are refused.

Sizes, shifts, zero sizes, borders, seams, neighbours, kinds of memory, engines, policies,
streams, captures, orders of the driver's work; memory of another GPU with and without peer
access, memory that may only be read: the model is copies_model.py.
"""

from __future__ import annotations

import pytest

import kvswap_sim
from tests import child_process
from tests.properties.bounds import counted, timeout_seconds

# The drivers of which most differs get most.
_EXAMPLES = {"12.4": 100, "13.0": 250}


@pytest.mark.parametrize(
    ("version", "about", "examples"),
    [
        *(
            (version, "all", _EXAMPLES.get(version, 40))
            for version in kvswap_sim.DRIVER_VERSIONS
        ),
        ("12.4", "peers", 30),
        ("12.4", "refused", 40),
        ("13.0", "peers", 80),
        ("13.0", "no_peers", 50),
        ("13.0", "refused", 120),
    ],
)
def test_random_calls(version: str, about: str, examples: int) -> None:
    with counted("random calls", f"calls on driver {version}, bytes compared") as count:
        count.cases = child_process.run(
            "tests.properties.copies_property",
            "try_calls",
            examples,
            about,
            environment=kvswap_sim.environment(version, devices=2),
            timeout_seconds=timeout_seconds(),
        )
