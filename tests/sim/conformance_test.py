"""The simulated driver answers as a real one did.

probes.py asked an H200 with driver 580 (CUDA 13.0); recorded_driver_580.json holds
its answers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kvswap_sim
from tests.sim import probes

_HERE = Path(__file__).parent
_RECORDED = json.loads((_HERE / "recorded_driver_580.json").read_text())

# Answers that depend on how long the device takes.
_TIMING = {"what_waits"}

# Probes that no real driver has been asked yet; probes.py says how to.
_UNRECORDED: set[str] = set()

_DEVIATIONS = {
    ("lookup", "cuMemAlloc 3010"): "functions before 3.2 are not simulated",
    ("lookup", "cuMemAlloc 3010 short"): "likewise",
    ("lookup", "cuStreamBeginCapture 10000"): "superseded in 10.1",
    ("lookup", "cuStreamBeginCapture 10000 short"): "likewise",
    ("capture_life", "exchange bad"): "a number that is no mode is refused",
    ("virtual_memory", "map outside"): "mapping past a reservation is refused",
    ("virtual_memory", "free"): "follows from that",
}


def _ask(probe: str, seed: int) -> Any:
    environment = kvswap_sim.environment("13.0", devices=2, seed=seed)
    answers = subprocess.run(
        [sys.executable, str(_HERE / "probes.py"), probe],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return json.loads(answers.stdout)[probe]


@pytest.mark.parametrize("probe", sorted(set(_RECORDED) - _TIMING))
def test_answers_are_a_real_drivers(probe: str) -> None:
    recorded = _RECORDED[probe]
    answer = _ask(probe, seed=len(probe))
    assert answer.keys() == recorded.keys()
    different = {
        question: (answer[question], recorded[question])
        for question in recorded
        if answer[question] != recorded[question]
        and (probe, question) not in _DEVIATIONS
    }
    assert different == {}


@pytest.mark.parametrize(("probe", "question"), sorted(_DEVIATIONS))
def test_deviations_are_true(probe: str, question: str) -> None:
    assert _ask(probe, seed=1)[question] != _RECORDED[probe][question]


def test_every_probe_is_recorded() -> None:
    names = set(probes.probe_names())
    assert names >= set(_RECORDED)
    assert names - set(_RECORDED) <= _UNRECORDED


@pytest.mark.parametrize("probe", sorted(_UNRECORDED))
def test_questions_make_sense(probe: str) -> None:
    """What they prepare works, here as it has to on a real driver."""
    answer = _ask(probe, seed=1)
    assert "Error: " not in json.dumps(answer)
    assert len(answer) > 1
