"""Names out of closed lists: a misspelt one is answered with the one that was meant."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from kvswap.close_names import closest, did_you_mean, none_of
from kvswap.command_line import make_parser
from kvswap.doctor.environment import OWN
from tests.commands.program import run

# Every option that takes a name out of a list: a wrong name, and what was meant.
_MISSPELT = {
    ("bench", "--model"): ("lama3-8b", "llama-3-8b"),
    ("bench", "--directions"): ("h2h", "h2d"),
    ("bench", "--stream"): ("legcy", "legacy"),
    ("bench", "--priority"): ("troughput", "throughput"),
    ("bench", "--engines"): ("kernal", "kernel"),
    ("bench", "--alternatives"): ("copyloop", "copy_loop"),
    ("bench", "--methods"): ("gathr", "gather"),
    ("bench", "--dtype"): ("bf61", "bf16"),
    ("bench", "--layout"): ("Layer", "layers"),
    ("bench", "--shapes"): ("overlp", "overlap"),
    ("bench", "--gemm-priority"): ("gratest", "greatest"),
    ("bench", "--copy-priorities"): ("lest", "least"),
    ("demo", "--engine"): ("kernal", "kernel"),
    ("demo", "--stream"): ("defualt", "default"),
    ("demo", "--arrays"): ("nunpy", "numpy"),
}


@pytest.mark.parametrize(("command", "option"), _MISSPELT)
def test_options(command: str, option: str) -> None:
    wrong, meant = _MISSPELT[command, option]
    outcome = run(command, f"{option}={wrong}")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    (line,) = outcome.stderr.splitlines()
    assert f"{wrong!r} is no" in line
    assert f"; did you mean {meant}? (" in line


def _actions() -> Iterator[tuple[str, argparse.Action]]:
    for name, parser in make_parser()[1].items():
        for action in parser._actions:
            yield name, action


def test_no_list_is_left_to_argparse() -> None:
    """Whose own message knows no names that are close."""
    for name, action in _actions():
        assert action.choices is None, f"{name} {action.option_strings}"


def test_options_with_a_list_are_tried_here() -> None:
    """A word that is in no list, given to every option that takes a value."""
    for name, action in _actions():
        if not callable(action.type):
            continue
        try:
            action.type("xyzzy")
        except (argparse.ArgumentTypeError, ValueError) as error:
            if "none of" in str(error):
                assert any((name, each) in _MISSPELT for each in action.option_strings)


def test_closest() -> None:
    assert closest("KERNAL", ["auto", "kernel"]) == "kernel"
    assert closest("xyzzy", ["auto", "kernel"]) == ""
    assert closest("", ["auto"]) == ""
    assert closest("KVSWAP_ENGIN", OWN, cutoff=0.75) == "KVSWAP_ENGINE"
    assert did_you_mean("bench", []) == ""
    assert none_of("lop", ["loop", "auto"]) == (
        "'lop' is none of loop, auto; did you mean loop?"
    )
