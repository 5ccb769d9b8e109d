"""``python -m kvswap demo`` where standard output is no terminal: plain lines."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

import kvswap
import kvswap_sim
from tests.python.demo_runs import (
    SMALL,
    WITHOUT_BOTH,
    WITHOUT_TORCH,
    run,
    run_well,
    swaps,
)


def letters(lines: list[str]) -> str:
    """The letters in lines of the grids, sorted, in upper case."""
    return "".join(sorted(re.sub(r"[^A-Za-z]", "", "".join(lines)).upper()))


def test_without_a_gpu_it_says_plainly_that_it_is_simulated() -> None:
    output = run_well(*SMALL)
    assert f"kvswap {kvswap.__version__}" in output
    assert "SIMULATED driver for CUDA 13.0" in output
    assert kvswap_sim.library_path("13.0") in output
    assert (
        "Simulated, because the environment variable KVSWAP_LIBCUDA is "
        '"/no/driver/here/libcuda.so.1", which cannot be loaded as the CUDA driver.'
    ) in output
    assert "The times below are the simulation's, not a GPU's." in output
    assert "GB/s" not in output
    times = re.findall(r"[\d.]+ ms.*", output)
    assert times
    assert all(time.endswith("(the simulation's time, not a GPU's)") for time in times)


def test_story() -> None:
    """The GPU fills, blocks go and come back, to other places; then all are freed."""
    output = run_well(*SMALL, "--once")
    steps = re.split(r"\n\n(?= *\d+\. )", output)[1:]
    assert [int(step.split(".")[0]) for step in steps] == list(range(1, 23))
    assert "A comes" in steps[0]
    out = next(i for i, step in enumerate(steps) if "swap out:" in step)
    assert "the GPU has no room. A was used least recently" in steps[out]
    back = next(i for i, step in enumerate(steps) if "swap in:" in step)
    assert back > out
    assert "user is back" in steps[back]
    assert any("is done: every byte" in step for step in steps)
    assert "The end: every byte of what is left" in steps[-1]
    # No block is lost: who is on the GPU or the host before a swap is so after it.
    for i, step in enumerate(steps):
        if "swap " in step:
            grids = [one.splitlines()[-3:] for one in (steps[i - 1], step)]
            assert letters(grids[0]) == letters(grids[1])


def test_written_blocks_are_in_lower_case() -> None:
    first = run_well(*SMALL, "--once", "--steps=1")
    count = int(re.findall(r"fills (\d+) blocks", first)[0])
    grids = first[first.index("    GPU") : first.index("\n\n 2. ")].splitlines()[1:]
    assert "".join(grids).count("a") == count
    assert "A" not in "".join(grids)


def test_once_is_the_same_each_time() -> None:
    one, two, other = (
        run_well(*SMALL, "--once", f"--seed={seed}") for seed in (3, 3, 4)
    )
    assert one == two != other
    assert " ms" not in one
    assert "/" not in one


def test_engine_and_stream() -> None:
    for arguments, expected in (
        (("--engine=batch",), r"engine batch, \d+ blocks, [\d,]+ bytes"),
        (("--engine=loop",), r"engine loop, \d+ blocks, [\d,]+ bytes"),
        (
            ("--engine=batch", "--stream=default"),
            r"engine loop, \d+ blocks, [\d,]+ bytes; "
            r"did not run: batch \(legacy_stream\)",
        ),
    ):
        lines = swaps(run_well(*SMALL, *arguments))
        assert len(lines) > 5
        for line in lines:
            assert re.fullmatch(rf"swap (out|in): {expected}", line)
    outcome = run(*SMALL, "--engine=kernal")
    assert outcome["status"] == 2
    assert "'kernal' is none of auto, kernel, batch" in outcome["errors"]
    assert "did you mean kernel?" in outcome["errors"]


@pytest.mark.parametrize("missing", [(), WITHOUT_TORCH, WITHOUT_BOTH])
def test_wrong_byte(missing: tuple[str, ...]) -> None:
    for call in (0, 1) if missing else (0,):
        outcome = run(*SMALL, missing=missing, spoilt_call=call)
        assert outcome["status"] == 1
        assert re.fullmatch(
            r"WRONG BYTES in block 5 of request [A-F], which is (GPU|host) block \d+ "
            r"after \d+ swaps: byte 1000 is \d+ instead of \d+ "
            r"\(checksum [0-9a-f]{8} instead of [0-9a-f]{8}\)\n",
            outcome["errors"],
        )
        assert "Every byte of" not in outcome["output"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--blocks=1", "--block_bytes=1"),
        ("--blocks=2", "--steps=0"),
        ("--blocks=3", "--steps=300", "--block-bytes=5"),
        ("--blocks=200", "--block_bytes=3", "--steps=50", "--seed=-8"),
    ],
)
def test_every_shape(arguments: tuple[str, ...]) -> None:
    run_well(*arguments)


@pytest.mark.parametrize(
    "argument", ["--blocks=0", "--block_bytes=-1", "--speed=0", "--steps=x"]
)
def test_wrong_arguments(argument: str) -> None:
    outcome = run(argument)
    assert outcome["status"] == 2
    flag, _, value = argument.partition("=")
    assert flag in outcome["errors"]
    assert f"{value!r} is no " in outcome["errors"]


def test_a_reader_that_goes_away() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "kvswap", "demo", "--arrays=python", "--steps=2000"],
        env=os.environ
        | kvswap_sim.environment("13.0")
        | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None and program.stderr is not None
        assert program.stdout.readline().startswith("kvswap ")
        program.stdout.close()
        assert program.stderr.read() == ""
        assert program.wait() == 141


def test_help() -> None:
    outcome = run("--help")
    assert outcome["status"] == 0
    for flag in ("blocks", "block_bytes", "seed", "device", "engine", "driver_version"):
        assert f"--{flag}" in outcome["output"]
    assert "kvswap demo --once --seed=7" in outcome["output"]
