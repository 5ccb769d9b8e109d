"""``python -m kvswap demo``"""

from __future__ import annotations

import platform
import re
from typing import Any

import numpy
import pytest
import torch

import kvswap
import kvswap_sim
from tests import child_process

# Importing torch takes seconds: only tests that are about it have it.
WITHOUT_TORCH = ("torch",)
WITHOUT_BOTH = ("numpy", "torch")

SMALL = ("--blocks=40", "--block_bytes=1001")


def run(
    *arguments: str,
    missing: tuple[str, ...] = WITHOUT_TORCH,
    spoilt_call: int | None = None,
    environment: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Runs the program, by default on a machine without a driver and without torch."""
    outcome: dict[str, Any] = child_process.run(
        "tests.python.child_bodies",
        "run_program",
        arguments,
        missing,
        spoilt_call,
        environment=environment or {"KVSWAP_LIBCUDA": "/no/driver/here/libcuda.so.1"},
    )
    return outcome


def table(output: str) -> list[str]:
    """The lines of the table, with its header."""
    lines = output.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("step"))
    return lines[begin : lines.index("", begin)]


def test_without_a_gpu_it_says_plainly_that_it_is_simulated() -> None:
    outcome = run("demo", *SMALL)
    assert (outcome["status"], outcome["errors"]) == (0, "")
    output = outcome["output"]
    assert f"kvswap {kvswap.__version__}" in output
    assert "SIMULATED driver for CUDA 13.0" in output
    assert kvswap_sim.library_path("13.0") in output
    assert "Simulated, because no CUDA driver library could be loaded" in output
    assert "not a GPU's" in output
    assert "Every byte of 40 blocks came back as it was" in output


def test_table() -> None:
    header, *rows = table(run("demo", *SMALL, "--engine=batch")["output"])
    assert re.split(" {2,}", header) == [
        "step",
        "stream",
        "engine",
        "blocks",
        "bytes",
        "time",
        "did not run",
    ]
    cells = [re.split(" {2,}", row) for row in rows]
    legacy = ["batch (legacy_stream)"]
    for row, expected in zip(
        cells,
        [
            ["swap out", "created", "batch", "40", "40,040"],
            ["swap in", "created", "batch", "40", "40,040"],
            ["swap out", "legacy default", "loop", "40", "40,040", *legacy],
            ["swap in", "legacy default", "loop", "40", "40,040", *legacy],
        ],
        strict=True,
    ):
        time = row.pop(5)
        assert row == expected
        assert re.fullmatch(r"\d+\.\d{3} ms", time)
    # Numbers end where their headings end, and text begins where they begin.
    for line in rows:
        for heading, end in (("blocks", " 40"), ("bytes", "40,040")):
            assert line[: header.index(heading) + len(heading)].endswith(end)
        assert line[header.index("engine") - 1 :].startswith((" batch ", " loop "))


@pytest.mark.parametrize(
    ("version", "missing"),
    [("12.4", ()), ("13.0", ())]
    + [(version, WITHOUT_TORCH) for version in kvswap_sim.DRIVER_VERSIONS],
)
def test_every_driver_version(version: str, missing: tuple[str, ...]) -> None:
    outcome = run(
        "demo",
        *SMALL,
        "--engine=batch",
        f"--driver_version={version}",
        missing=missing,
    )
    assert outcome["status"] == 0, outcome["errors"]
    assert f"SIMULATED driver for CUDA {version}" in outcome["output"]
    library = f"NumPy {numpy.__version__}" if missing else f"torch {torch.__version__}"
    assert library in outcome["output"]
    has_batch = tuple(map(int, version.split("."))) >= (12, 8)
    first_row = table(outcome["output"])[1]
    assert ("no_batch_symbol" in first_row) is not has_batch


def test_torch_without_numpy() -> None:
    outcome = run("demo", *SMALL, missing=("numpy",))
    assert outcome["status"] == 0, outcome["errors"]


def test_neither_torch_nor_numpy() -> None:
    outcome = run("demo", *SMALL, missing=WITHOUT_BOTH)
    assert outcome["status"] == 0, outcome["errors"]
    assert f"arrays of Python {platform.python_version()} alone" in outcome["output"]


@pytest.mark.parametrize(
    ("call", "where", "missing"),
    [
        (0, "swap out on the stream 'created'", WITHOUT_TORCH),
        (1, "swap in on the stream 'created'", WITHOUT_TORCH),
        (2, "swap out on the stream 'legacy default'", WITHOUT_TORCH),
        (3, "swap in on the stream 'legacy default'", WITHOUT_TORCH),
        (0, "swap out on the stream 'created'", WITHOUT_BOTH),
        (3, "swap in on the stream 'legacy default'", WITHOUT_BOTH),
        (3, "swap in on the stream 'legacy default'", ()),
    ],
)
def test_wrong_byte(call: int, where: str, missing: tuple[str, ...]) -> None:
    outcome = run("demo", *SMALL, missing=missing, spoilt_call=call)
    assert outcome["status"] == 1
    assert f"WRONG BYTES after {where}: block 5, byte 1000 is" in outcome["errors"]
    assert "Every byte" not in outcome["output"]


def test_driver_that_the_environment_names() -> None:
    """It is taken as it is, and found to be the simulated one."""
    outcome = run("demo", *SMALL, environment=kvswap_sim.environment("12.4"))
    assert outcome["status"] == 0, outcome["errors"]
    assert "SIMULATED driver for CUDA 12.4" in outcome["output"]
    assert "because KVSWAP_LIBCUDA names it" in outcome["output"]


def test_driver_without_gpus() -> None:
    outcome = run("demo", *SMALL, environment=kvswap_sim.environment("12.8", devices=0))
    assert outcome["status"] == 0, outcome["errors"]
    assert "SIMULATED driver for CUDA 13.0" in outcome["output"]
    assert "CUDA_ERROR_NO_DEVICE" in outcome["output"]


def test_gpu_that_the_driver_does_not_have() -> None:
    outcome = run(
        "demo", *SMALL, "--device=2", environment=kvswap_sim.environment("12.8")
    )
    assert outcome["status"] == 0, outcome["errors"]
    assert "because there is no GPU 2: the driver has 1" in outcome["output"]


def test_simulate() -> None:
    outcome = run(
        "demo",
        *SMALL,
        "--simulate",
        "--driver_version=12.9",
        environment=kvswap_sim.environment("12.4"),
    )
    assert "SIMULATED driver for CUDA 12.9" in outcome["output"]
    assert "because --simulate asks for it" in outcome["output"]


def test_engine() -> None:
    outcome = run("demo", *SMALL, "--engine=loop")
    assert all(" loop " in row for row in table(outcome["output"])[1:])
    outcome = run("demo", *SMALL, "--engine=turbo")
    assert outcome["status"] == 1
    assert "engine must be one of" in outcome["errors"]


def test_seed_and_shape_do_not_matter() -> None:
    for seed in ("7", "8"):
        outcome = run("demo", "--blocks=1", "--block_bytes=1", f"--seed={seed}")
        assert outcome["status"] == 0, outcome["errors"]


def test_no_simulated_driver() -> None:
    outcome = run("demo", *SMALL, missing=("kvswap_sim", "torch"))
    assert outcome["status"] == 1
    assert "no simulated driver" in outcome["errors"]


def test_unknown_simulated_version() -> None:
    outcome = run("demo", *SMALL, "--driver_version=10.2")
    assert outcome["status"] == 1
    assert "10.2" in outcome["errors"]
