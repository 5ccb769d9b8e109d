"""``kvswap doctor`` on drivers of each age and without one: text, JSON, exit status."""

from __future__ import annotations

import io
import json
import re
import types
import typing
from pathlib import Path
from typing import Any

import pytest

import kvswap
import kvswap_sim
from kvswap.doctor import entries
from kvswap.doctor.advice import TROUBLES
from kvswap.doctor.engine_choices import DIRECTIONS, STREAMS
from kvswap.doctor.schema import SCHEMA, Report
from kvswap.doctor.show import show
from kvswap.terminal import open_terminal
from tests.commands.fake_system import FakeSystem, look, names, simulated_environment
from tests.commands.program import run

NOWHERE = {"KVSWAP_LIBCUDA": "/no/driver/here/libcuda.so.1"}

# By driver: engines on created streams of small and large blocks, troubles.
VERSIONS: dict[str, tuple[str, str, set[str]]] = {
    "11.4": ("loop", "loop", {"driver_before_12_0", "driver_before_12_8"}),
    "12.2": ("kernel", "loop", {"driver_before_12_8"}),
    "12.8": ("kernel", "batch", set()),
    "13.0": ("kernel", "batch", set()),
}


def text_of(report: Report, verbose: bool = False) -> str:
    """What is written of a report, without a terminal, in lines of any length."""
    stream = io.StringIO()
    show(report, open_terminal(stream, {}), verbose)
    return re.sub(r"\s+", " ", stream.getvalue())


def check(value: Any, kind: Any, where: str) -> None:
    """Fails unless a JSON value is of a type of the schema."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        (inner,) = [each for each in arguments if each is not type(None)]
        if value is not None:
            check(value, inner, where)
    elif typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind)
        assert isinstance(value, dict), where
        assert set(value) == set(hints), where
        for key, inner in hints.items():
            check(value[key], inner, f"{where}.{key}")
    elif origin is list:
        assert isinstance(value, list), where
        for number, each in enumerate(value):
            check(each, arguments[0], f"{where}[{number}]")
    elif origin is dict:
        assert isinstance(value, dict), where
        for key, each in value.items():
            check(each, arguments[1], f"{where}[{key!r}]")
    else:
        assert type(value) is kind, f"{where} is {value!r}"


@pytest.mark.parametrize("version", VERSIONS)
def test_version(version: str, tmp_path: Path) -> None:
    small, large, troubles = VERSIONS[version]
    report = look(tmp_path, simulated={"driver_version": version})
    check(report, Report, "report")
    assert report["failures"] == {}
    assert names(report) == {"simulated_driver", *troubles}
    assert report["exit_status"] == 3
    driver = report["driver"]
    assert (driver["version"], driver["usable"]) == (version, True)
    assert driver["path"] == kvswap_sim.library_path(version)
    missing = {entry["name"] for entry in report["entries"] if not entry["present"]}
    assert ("cuMemcpyBatchAsync" in missing) == (large != "batch")
    assert report["engines"] is not None
    choices = report["engines"]["choices"]
    assert len(choices) == len(STREAMS) * len(DIRECTIONS) * 2
    engines = {
        (each["stream"], each["block_bytes"] >= 1 << 20): each["engine"]
        for each in choices
    }
    for stream in ("per_thread", "blocking", "non_blocking"):
        assert (engines[stream, False], engines[stream, True]) == (small, large)
    assert engines["legacy", True] == ("bridge" if large == "batch" else "loop")
    assert engines["capturing", True] == "loop"
    text = text_of(report)
    assert f"SIMULATED driver for CUDA {version}" in text
    assert "Swaps work here; see the warnings." in text
    for trouble in TROUBLES:
        assert (trouble.symptom in text) == (trouble.name in names(report))
        assert (trouble.advice in text) == (trouble.name in names(report))


def test_plans_say_why(tmp_path: Path) -> None:
    text = text_of(look(tmp_path))
    assert "legacy (torch's default): not batch, because" in text
    assert "capturing a graph: not batch, because" in text
    text = text_of(look(tmp_path, simulated={"driver_version": "12.2"}))
    assert (
        "all streams: not batch, because the driver has no cuMemcpyBatchAsync" in text
    )


def test_nothing_is_left_of_the_probe(tmp_path: Path) -> None:
    """What it makes on the driver, it gives back."""
    trace = tmp_path / "calls.jsonl"
    look(tmp_path / "root", simulated={"trace": str(trace)})
    calls = [call.name for call in kvswap_sim.read_trace(trace)]
    assert not {"cuMemcpyAsync", "cuMemcpyBatchAsync", "cuLaunchKernel"} & set(calls)
    for begin, end in (
        ("cuMemAlloc", "cuMemFree"),
        ("cuMemHostAlloc", "cuMemFreeHost"),
        ("cuStreamCreateWithPriority", "cuStreamDestroy"),
        ("cuStreamBeginCapture", "cuStreamEndCapture"),
        ("cuStreamEndCapture", "cuGraphDestroy"),
    ):
        assert calls.count(begin) == calls.count(end) > 0, begin


OPTIONAL = sorted({name for _, functions in entries.USES for name in functions})


def test_costs_of_all_functions_are_known(tmp_path: Path) -> None:
    report = look(tmp_path)
    optional = [each["name"] for each in report["entries"] if not each["required"]]
    assert sorted(optional) == OPTIONAL


@pytest.mark.parametrize("name", OPTIONAL)
def test_costs_are_what_they_are_said_to_be(name: str, tmp_path: Path) -> None:
    """Without the function, what is said to be lost is, and nothing else."""
    report = look(tmp_path, simulated={"without": [name]})
    (entry,) = [entry for entry in report["entries"] if not entry["present"]]
    assert (entry["name"], report["failures"]) == (name, {})
    costs = entry["cost"].split("; ")
    assert costs != [""]
    (gpu,) = report["gpus"]
    assert gpu["kernel"] is not None and report["engines"] is not None
    assert gpu["kernel"]["available"] is (entries.KERNELS not in costs)
    large = {
        each["stream"]: each["engine"]
        for each in report["engines"]["choices"]
        if each["block_bytes"] >= 1 << 20
    }
    has_batch = entries.BATCH not in costs
    has_bridge = has_batch and entries.BRIDGE not in costs
    assert large["non_blocking"] == ("batch" if has_batch else "loop")
    assert large["legacy"] == ("bridge" if has_bridge else "loop")
    assert report["driver"]["batch_available"] is has_batch


def test_verbose_lists_all_functions(tmp_path: Path) -> None:
    report = look(tmp_path)
    brief, verbose = text_of(report), text_of(report, verbose=True)
    listed = [entry["name"] for entry in report["entries"]]
    assert len(listed) > 20
    assert all(f" {name} " in verbose for name in listed)
    assert f" {listed[0]} " not in brief


def test_several_gpus(tmp_path: Path) -> None:
    report = look(tmp_path, simulated={"devices": 3})
    assert [gpu["ordinal"] for gpu in report["gpus"]] == [0, 1, 2]
    report = look(tmp_path, simulated={"devices": 3}, gpu=2)
    assert [gpu["ordinal"] for gpu in report["gpus"]] == [2]
    assert report["engines"] is not None and report["engines"]["gpu"] == 2
    (gpu,) = report["gpus"]
    assert gpu["kernel"] is not None


@pytest.mark.parametrize("broken", ["machine", "gpus"])
def test_a_section_that_fails(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any) -> None:
        raise RuntimeError("something unforeseen")

    module = {"machine": "limits.machine", "gpus": "gpus.gpus"}[broken]
    monkeypatch.setattr(f"kvswap.doctor.{module}", fail)
    report = look(tmp_path)
    check(report, Report, "report")
    assert report["failures"] == {broken: "RuntimeError: something unforeseen"}
    assert "section_failed" in names(report)
    assert "something unforeseen" in text_of(report)


@pytest.mark.parametrize("environment", [None, NOWHERE])
def test_json(environment: dict[str, str] | None, tmp_path: Path) -> None:
    """As the program prints it: the schema, and nothing private."""
    home = tmp_path / "home"
    home.mkdir()
    outcome = run(
        "doctor",
        "--json",
        "--skip-torch",
        environment={
            **(environment or simulated_environment()),
            "HOME": str(home),
            "USER": "gwendolyn",
            "LD_LIBRARY_PATH": f"{home}/lib:/data/gwendolyn/lib",
        },
    )
    report = json.loads(outcome.stdout)
    check(report, Report, "report")
    assert (report["schema"], report["kvswap"]) == (SCHEMA, kvswap.__version__)
    assert outcome.returncode == report["exit_status"] == (4 if environment else 3)
    assert str(home) not in outcome.stdout and "gwendolyn" not in outcome.stdout
    variables = {each["name"]: each["value"] for each in report["environment"]}
    assert variables["LD_LIBRARY_PATH"] == "~/lib:/data/<user>/lib"


def test_program_without_a_driver() -> None:
    outcome = run("doctor", "--skip-torch", environment=NOWHERE)
    assert (outcome.returncode, outcome.stderr) == (4, "")
    assert NOWHERE["KVSWAP_LIBCUDA"] in outcome.stdout
    assert "cannot open shared object file" in outcome.stdout
    assert "Unset KVSWAP_LIBCUDA" in outcome.stdout
    assert outcome.stdout.rstrip().endswith("cannot work here; see the problems.")


def test_torch_is_looked_at(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from kvswap.doctor.torch_report import child, torch_report

    with child(FakeSystem(tmp_path, simulated_environment())) as asked:
        found, failures = torch_report(asked)
    assert failures == {}
    assert found["version"] == torch.__version__
    assert found["operators"] is True or found["operators_message"]
    unseen, _ = torch_report(None)
    assert unseen["installed"] and unseen["version"] is None


def test_documentation() -> None:
    """docs/doctor.md has every key of the schema and every trouble."""
    text = Path("docs/doctor.md").read_text(encoding="utf-8")
    assert f"`schema` is {SCHEMA}" in text
    hints = typing.get_type_hints(Report)
    assert [key for key in hints if f"`{key}`" not in text] == []
    assert [each.name for each in TROUBLES if f"`{each.name}`" not in text] == []
    for key, kind in hints.items():
        for each in (kind, *typing.get_args(kind)):
            if typing.is_typeddict(each):
                row = next(line for line in text.splitlines() if f"| `{key}`" in line)
                inner = typing.get_type_hints(each)
                assert [name for name in inner if f"`{name}`" not in row] == [], key
