"""Random calls do what plain memcpy one by one does, on every driver, or are refused.

Sizes, shifts, zero sizes, borders, seams, neighbours, kinds of memory, engines, policies,
streams, captures, orders of the driver's work: the model is copies_model.py.
"""

from __future__ import annotations

import pytest

import kvswap_sim
from tests import child_process
from tests.properties.bounds import counted, timeout_seconds

# The drivers of which most differs get most.
_EXAMPLES = {"12.4": 150, "13.0": 350}


@pytest.mark.parametrize("version", kvswap_sim.DRIVER_VERSIONS)
def test_random_calls(version: str) -> None:
    with counted("random calls", f"calls on driver {version}, bytes compared") as count:
        count.cases = child_process.run(
            "tests.properties.copies_property",
            "try_calls",
            _EXAMPLES.get(version, 40),
            environment=kvswap_sim.environment(version, devices=2),
            timeout_seconds=timeout_seconds(),
        )
