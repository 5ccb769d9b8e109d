"""Questions in a child process: whatever the child does, what it found before is kept."""

from __future__ import annotations

import os
import signal
import time

import pytest

from kvswap.doctor import stages

FINE = {"answer": 42}


def ask(
    act: str,
    limit_seconds: float = 60.0,
    module: str = "tests.commands.child_modules",
) -> stages.Outcome:
    """Asks the child of this test."""
    with stages.Child(module, [act], os.environ) as child:
        return child.outcome(limit_seconds)


def test_a_stage_that_raises_is_named_and_the_rest_goes_on() -> None:
    outcome = ask("refuse")
    assert outcome.found == {"first": FINE, "third": FINE}
    assert outcome.failures == {"second": "ValueError: no such thing"}


def test_a_child_that_is_killed() -> None:
    outcome = ask("crash")
    assert outcome.found == {"first": FINE}
    assert list(outcome.failures) == ["second"]
    assert "killed by the signal SIGSEGV" in outcome.failures["second"]
    assert "wild address 0x40" in outcome.failures["second"]


def test_a_child_that_leaves() -> None:
    outcome = ask("leave")
    assert outcome.found == {"first": FINE}
    assert outcome.failures == {"second": "the process ended with status 7"}


def test_a_child_that_hangs_is_ended() -> None:
    begin = time.monotonic()
    outcome = ask("hang", limit_seconds=10.0)
    assert time.monotonic() - begin < 60
    assert outcome.found == {"first": FINE}
    assert "no answer within 10 seconds" in outcome.failures["second"]


def test_a_child_that_does_not_start() -> None:
    outcome = ask("refuse", module="tests.commands.no_such_module")
    assert outcome.found == {}
    assert "no_such_module" in outcome.failures["start"]


def test_a_child_does_not_outlive_its_block() -> None:
    with stages.Child("tests.commands.child_modules", ["hang"], os.environ) as child:
        process = child._process
        assert process.poll() is None
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("text", ["@doctor {", "@doctor", "@doctor {}x"])
def test_lines_that_were_cut_off_are_left_out(text: str) -> None:
    outcome, begun = stages._read(text)
    assert (outcome.found, outcome.failures, begun) == ({}, {}, "start")
