"""fork, exec, multiprocessing, the end of the interpreter, sub-interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import kvswap_sim
from tests import child_process
from tests.faults.sub_interpreters import check_refused

_NOT_INITIALISED = "CUDA is not initialised in this process (or it was forked"
# A program that hangs fails its test.
_SECONDS = 60


def _run(function: str, *arguments: object, **environment: str) -> dict[str, Any]:
    outcome = child_process.run(
        "tests.faults.process_bodies",
        function,
        *arguments,
        environment=kvswap_sim.environment("13.0") | environment,
    )
    assert isinstance(outcome, dict)
    return outcome


@pytest.mark.parametrize("function", ["fork_before_first_use", "fork_after_look"])
def test_fork_before_cuda_is_initialised(function: str) -> None:
    assert _run(function) == {"child": "True", "parent": True}


def test_fork_after_first_use() -> None:
    """The child is told why nothing works there; the parent goes on."""
    outcome = _run("fork_after_first_use")
    assert outcome["parent"] is True
    for name in ("child", "other_engine"):
        assert outcome[name].startswith("SwapError: "), outcome
        assert _NOT_INITIALISED in outcome[name]


@pytest.mark.parametrize("lets_go", [False, True])
def test_fork_with_pools_and_tickets_alive(lets_go: bool) -> None:
    """The child is told that it has no CUDA, and ends in peace; what it inherited stays
    the parent's, which goes on."""
    outcome = _run("fork_with_pools_alive", lets_go)
    not_initialised = "SwapError 3"
    assert outcome.pop("child") == {
        "status": 0,
        "error": "",
        "outcome": {
            "done": not_initialised,
            "wait": not_initialised,
            "wait_stream": not_initialised,
            "copy": not_initialised,
            "pinned_pool": not_initialised,
            "invalidate": not_initialised,
        },
    }
    assert outcome == {
        "is_alive": True,
        "registrations": 4,
        "right": True,
        "violations": [],
        "later": True,
    }


def test_fork_while_threads_swap() -> None:
    """No child waits for a lock that a thread of the parent held."""
    outcome = _run("fork_while_threads_swap", 20)
    assert outcome["parent"] is True
    assert len(outcome["children"]) == 1, outcome
    [text] = outcome["children"]
    assert _NOT_INITIALISED in text


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_new_processes(method: str) -> None:
    assert _run("start_process", method) == {"parent": True, "child": True}


def test_multiprocessing_that_forks() -> None:
    outcome = _run("start_process", "fork")
    assert outcome["parent"] is True
    assert _NOT_INITIALISED in outcome["child"]


@pytest.mark.parametrize(
    "function",
    [
        "exit_with_work_in_flight",
        "exit_with_daemon_threads",
        "exit_handler_that_swaps",
        "replace_the_process",
    ],
)
def test_the_end_of_a_program(function: str) -> None:
    """It ends by itself, with status 0, and says nothing but what it was to say."""
    program = subprocess.run(
        [
            sys.executable,
            "-c",
            f"from tests.faults import process_bodies; process_bodies.{function}()",
        ],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            **kvswap_sim.environment("13.0"),
        },
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert program.returncode == 0, program
    assert program.stdout.startswith("submitted"), program
    assert "False" not in program.stdout
    assert program.stderr == ""


def test_sub_interpreters_are_refused() -> None:
    """By an ImportError that says so, not by waiting for ever, before and after the main
    interpreter has imported kvswap, on any thread. Other Pythons: //tests/wheel."""
    program = subprocess.run(
        [sys.executable, "-m", "tests.faults.sub_interpreters"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    check_refused(program)
