"""Runs the suites of docs/reliability.md and prints their numbers.

    bazel run //tests/faults:reliability -- --soak-seconds 60 --update

A suite is a row of SUITES: a name, and a function that runs it and returns its numbers.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
_BEGIN = "<!-- begin of what //tests/faults:reliability writes -->"
_END = "<!-- end of what //tests/faults:reliability writes -->"


@dataclass(frozen=True)
class Row:
    """The numbers of a suite.

    Attributes:
        suite: its name.
        numbers: what was done, in words.
        seconds: how long it took.
        problems: how many there were.
        leaks: objects that were left.
    """

    suite: str
    numbers: str
    seconds: float
    problems: int
    leaks: int


def _python(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )


def _fault_matrix(options: argparse.Namespace) -> Row:
    program = _python(
        ["-m", "tests.faults.run_matrix"] + (["--all"] if options.all else [])
    )
    numbers = json.loads(program.stdout)
    outcomes = ", ".join(
        f"{count:,} {kind}" for kind, count in sorted(numbers["outcomes"].items())
    )
    return Row(
        "fault matrix",
        f"{numbers['faults']:,} faults of {numbers['functions']} driver functions in "
        f"{numbers['cases']:,} cases: {outcomes}",
        numbers["seconds"],
        numbers["problems"],
        numbers["leaks"],
    )


def _pytest(suite: str, what: str, *names: str) -> Callable[[argparse.Namespace], Row]:
    def run(options: argparse.Namespace) -> Row:
        start = time.monotonic()
        if options.all:
            os.environ["FAULTS"] = "all"
        files = [str(_FOLDER / f"{name}.py") for name in names]
        arguments = ["-m", "pytest", "-q", "--import-mode=importlib"]
        program = _python(arguments + ["-p", "no:cacheprovider", *files])
        found = dict(
            (word, int(count))
            for count, word in re.findall(
                r"(\d+) (passed|failed|errors?)", program.stdout
            )
        )
        passed = found.pop("passed", 0)
        problems = sum(found.values()) or int(program.returncode != 0)
        if problems:
            print(program.stdout, file=sys.stderr)
        return Row(
            suite, f"{passed} tests{what}", time.monotonic() - start, problems, 0
        )

    return run


def _properties(options: argparse.Namespace) -> Row:
    start = time.monotonic()
    files = sorted((_FOLDER.parent / "properties").glob("*_property_test.py"))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "cases.jsonl"
        os.environ["KVSWAP_RELIABILITY_FILE"] = str(report)
        if options.all:
            os.environ["KVSWAP_PROPERTY_FACTOR"] = "10"
        program = _python(
            ["-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider"]
            + [str(file) for file in files]
        )
        suites = [
            json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()
        ]
    if program.returncode != 0:
        print(program.stdout, file=sys.stderr)
    cases: Counter[str] = Counter()
    for suite in suites:
        cases[suite["suite"]] += suite["cases"]
    return Row(
        "properties",
        ", ".join(f"{name}: {count:,} cases" for name, count in cases.items()),
        time.monotonic() - start,
        sum(suite["failures"] for suite in suites) or int(program.returncode != 0),
        0,
    )


def _soak(options: argparse.Namespace) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "soak.json"
        _python(
            ["-m", "kvswap.testing.soak", "--device", "simulated"]
            + ["--seconds", str(options.soak_seconds), "--json", str(report)]
        )
        numbers: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return Row(
        f"soak, {numbers['device']}",
        f"{numbers['copies']:,} copies, {numbers['bytes']:,} bytes, "
        f"{numbers['blocks_checked']:,} blocks compared, {numbers['graphs']:,} graphs, "
        f"{numbers['faults']:,} faults asked for, {numbers['errors']:,} errors raised; "
        f"grown by {numbers['grown_bytes']:,} bytes",
        numbers["seconds"],
        len(numbers["problems"]),
        numbers["leaks"],
    )


SUITES: dict[str, Callable[[argparse.Namespace], Row]] = {
    "matrix": _fault_matrix,
    "entries": _pytest(
        "drivers without a function",
        ", each function of the driver table missing in four ways",
        "missing_entries_test",
    ),
    "threads": _pytest(
        "threads",
        ", with 12 to 64 threads",
        "threads_test",
    ),
    "processes": _pytest(
        "processes", ": fork, exec, exit, sub-interpreters", "processes_test"
    ),
    "signals": _pytest("signals", "", "interrupts_test"),
    "recovery": _pytest("recovery by name", "", "recovery_test"),
    "properties": _properties,
    "soak": _soak,
}


def _machine() -> str:
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}"


def _markdown(rows: Sequence[Row], options: argparse.Namespace) -> str:
    depth = "every code at every call" if options.all else "a code at each call"
    lines = [
        f"{datetime.date.today().isoformat()}, simulated driver 13.0, {_machine()}; "
        f"fault matrix with {depth}.",
        "",
        "| suite | numbers | seconds | problems | leaks |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.suite} | {row.numbers} | {row.seconds:.0f} | {row.problems} | {row.leaks} |"
        for row in rows
    ]
    return "\n".join(lines)


def _update(page: Path, text: str) -> None:
    before, begin, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise SystemExit(f"{page} lacks the lines {_BEGIN} and {_END}")
    page.write_text(f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}", encoding="utf-8")


def main() -> int:
    """Runs the suites; the exit status is 1 where one had a problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every code at every call")
    parser.add_argument("--soak-seconds", type=float, default=60)
    parser.add_argument(
        "--suites", default=",".join(SUITES), help="default: %(default)s"
    )
    parser.add_argument(
        "--update", action="store_true", help="write docs/reliability.md"
    )
    options = parser.parse_args()
    rows = []
    for name in options.suites.split(","):
        rows.append(SUITES[name](options))
        row = rows[-1]
        print(
            f"{row.suite:28} {row.seconds:6.0f} s {row.problems:3} problems "
            f"{row.leaks:3} leaks  {row.numbers}",
            flush=True,
        )
    text = _markdown(rows, options)
    print(f"\n{text}")
    if options.update:
        root = os.environ.get("BUILD_WORKSPACE_DIRECTORY", ".")
        _update(Path(root) / "docs" / "reliability.md", text)
    return int(any(row.problems or row.leaks for row in rows))


if __name__ == "__main__":
    sys.exit(main())
