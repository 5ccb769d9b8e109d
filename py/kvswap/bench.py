"""``kvswap bench``: how fast blocks move, beside the alternatives; what calls cost."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

from kvswap import install_words
from kvswap.benchmark import arguments, model_speed, output
from kvswap.benchmark.arguments import UsageError, add_arguments
from kvswap.benchmark.cells import size_text
from kvswap.benchmark.contenders import Workshop
from kvswap.benchmark.gpu import Gpu, NoGpuError
from kvswap.benchmark.pools import Pools
from kvswap.benchmark.presets import PRESETS
from kvswap.benchmark.progress import Progress, open_progress
from kvswap.benchmark.results import Results, ResultsError
from kvswap.benchmark.rounds import RoundSettings, TimeBudget
from kvswap.benchmark.session import Session

__all__ = ["DESCRIPTION", "SUMMARY", "add_arguments", "main", "run", "run_on"]

SUMMARY = arguments.SUMMARY
DESCRIPTION = arguments.DESCRIPTION

# Exit statuses.
_PROBLEM = 1
_USAGE = 2
_BELOW = 4


def main(argument_list: Sequence[str]) -> int:
    """Runs the benchmark with a command line, in this process; the exit status."""
    try:
        return run(arguments.make_parser().parse_args(list(argument_list)))
    except UsageError as error:
        print(f"kvswap bench: {error}", file=sys.stderr)
        return _USAGE


def run(options: argparse.Namespace) -> int:
    """Runs the benchmark; the exit status.

    Raises:
        UsageError: arguments that do not go together.
    """
    try:
        arguments.complete(options)
        _check_outputs(options)
        if options.list_models:
            return _list_models()
        if options.compare:
            return _compare(options)
        if options.from_file:
            return _show(options)
        if options.preset == "host":
            return _run_host(options)
        return _run_gpu(options)
    except ResultsError as error:
        print(f"kvswap bench: {error}", file=sys.stderr)
        return _PROBLEM


def _check_outputs(options: Any) -> None:
    """Finds out before minutes of measuring whether its results can be written.

    Raises:
        UsageError: they cannot.
    """
    for name, path in (("json", options.json), ("csv", options.csv)):
        if path not in (None, "-"):
            _check_folder(name, path)
    if options.plot is not None:
        from kvswap.benchmark import plot

        if not options.from_file:
            _check_curves(options.preset)
        _check_folder("plot", options.plot)
        try:
            plot.check(options.plot)
        except plot.PlotError as error:
            raise UsageError(str(error)) from error


def _check_folder(name: str, path: str) -> None:
    folder = pathlib.Path(path).resolve().parent
    if not folder.is_dir():
        raise UsageError(f"--{name} {path}: there is no folder {folder}")
    if pathlib.Path(path).is_dir():
        raise UsageError(f"--{name} {path}: is a folder; give a file")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"--{name} {path}: cannot write to the folder {folder}")


def _list_models() -> int:
    print("\n".join(model_speed.list_lines()))
    return 0


def _compare(options: Any) -> int:
    from kvswap.benchmark import compare, results

    files = [results.read(path) for path in options.compare]
    with results.shown(*options.compare):
        comparison = compare.compare(*files)
        text = "\n".join(compare.lines(comparison, options.fail_below))
        as_object = compare.as_object(comparison)
    if options.json != "-":
        print(text)
    if options.json is not None:
        with _output_file(options.json) as file:
            json.dump(as_object, file, indent=1)
            file.write("\n")
        _tell_of_file(options, options.json)
    if options.fail_below is not None and comparison.below(options.fail_below):
        return _BELOW
    return 0


def _show(options: Any) -> int:
    from kvswap.benchmark import results

    found = results.read(options.from_file)
    if found.preset not in PRESETS:
        known = ", ".join(PRESETS)
        raise ResultsError(
            f"{found.name} holds {found.preset!r}, which is none of {known}"
        )
    if options.plot is not None:
        _check_curves(found.preset)
    with results.shown(options.from_file):
        return _write(options, found)


def _check_curves(preset: str) -> None:
    if not PRESETS[preset].with_curves:
        known = ", ".join(name for name, each in PRESETS.items() if each.with_curves)
        raise UsageError(
            f"--plot draws GB/s against the size of blocks, which {preset!r} does not "
            f"measure; these do: {known}"
        )


def _run_host(options: Any) -> int:
    from kvswap.benchmark import host

    progress = open_progress(options.quiet)
    try:
        environment, rows = host.measure(
            options.seconds, options.counts, options.engines, progress
        )
    except (ImportError, FileNotFoundError) as error:
        print(
            "kvswap bench --host: nothing was measured: there is no simulated driver.\n"
            f"  missing because: {error}\n"
            f"  to do:           {install_words.simulated_driver()}",
            file=sys.stderr,
        )
        return _PROBLEM
    finally:
        progress.end()
    return _write(options, Results("host", environment, rows))


def _run_gpu(options: Any) -> int:
    budget = TimeBudget(options.seconds)
    try:
        gpu = Gpu(options.device)
    except NoGpuError as error:
        return _tell_of_no_gpu(options, error)
    return run_on(gpu, options, budget)


_WITHOUT_A_GPU = (
    ("kvswap bench --host", "what calls cost the CPU, on the simulated driver"),
    ("kvswap bench --model NAME", "the blocks of a model, and of a request"),
    ("kvswap bench --from FILE", "a run that --json FILE kept; also --compare A B"),
    ("kvswap demo", "blocks out of a GPU and in again, on the simulated driver"),
)


def _tell_of_no_gpu(options: Any, error: NoGpuError) -> int:
    """What there is to say without a GPU, and how there could be more."""
    for blocks in options.model_blocks:
        print("\n".join([*model_speed.block_lines(blocks), ""]), flush=True)
    width = max(len(command) for command, _ in _WITHOUT_A_GPU)
    lines = [f"{command:{width}}   {text}" for command, text in _WITHOUT_A_GPU]
    print(
        f"kvswap bench: nothing was measured: {error}.\n"
        f"  to do:          {error.cure}\n"
        "  works without:  " + "\n                  ".join(lines),
        file=sys.stderr,
    )
    return _PROBLEM


def run_on(gpu: Gpu, options: Any, budget: TimeBudget) -> int:
    """Measures on a GPU and writes the results; the exit status."""
    environment = gpu.environment(options.seed)
    progress = open_progress(options.quiet)
    progress.tell(
        ", ".join(f"{name} {value}" for name, value in environment.items() if value)
    )
    try:
        session = _session(gpu, options, budget, progress)
    except RuntimeError as error:  # torch's, for want of memory
        print(
            f"kvswap bench: two pools of {size_text(options.pool_bytes)} on the GPU and "
            f"two pinned ones on the host do not fit: --pool-bytes ({error})",
            file=sys.stderr,
        )
        return _PROBLEM
    try:
        PRESETS[options.preset].run(session, options)
    except KeyboardInterrupt:
        session.fail("interrupted")
    finally:
        progress.end()
    problems = [
        *session.problems,
        *(f"{_NO_TIME}{each}" for each in session.skipped),
    ]
    return _write(options, Results(options.preset, environment, session.rows, problems))


_NO_TIME = "no time: "


def _session(gpu: Gpu, options: Any, budget: TimeBudget, progress: Progress) -> Session:
    workshop = Workshop(
        Pools(gpu, options.pool_bytes, options.seed),
        options.limit_bytes,
        # Their recording is time too: it would count where a cell is short.
        events=options.preset in ("table", "model"),
    )
    settings = RoundSettings(
        rounds=options.rounds,
        seed=options.seed,
        **PRESETS[options.preset].rounds,
    )
    return Session(workshop, settings, budget, progress)


def _write(options: Any, results: Results) -> int:
    """Writes results wherever they are wanted; the exit status."""
    failed = [text for text in results.problems if not text.startswith(_NO_TIME)]
    if options.json != "-":
        print("\n".join(_text(results, failed)))
    if options.json is not None:
        with _output_file(options.json) as file:
            output.write_json(
                file,
                results.preset,
                results.rows,
                results.environment,
                results.problems,
            )
        _tell_of_file(options, options.json)
    if options.csv is not None:
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            output.write_csv(file, results.rows, results.environment)
        _tell_of_file(options, options.csv)
    if options.plot is not None:
        from kvswap.benchmark import plot

        try:
            plot.draw(results, options.plot)
        except plot.PlotError as error:
            print(f"kvswap bench: {error}", file=sys.stderr)
            return _PROBLEM
        _tell_of_file(options, options.plot)
    return _PROBLEM if failed else 0


def _tell_of_file(options: Any, path: str) -> None:
    """Says that a file was written, which a table on the screen does not show."""
    if path != "-" and not options.quiet:
        print(f"wrote {path}", file=sys.stderr)


def _text(results: Results, failed: Sequence[str]) -> list[str]:
    skipped = len(results.problems) - len(failed)
    lines = [_headline(results.environment), ""]
    lines += PRESETS[results.preset].lines(results.rows)
    if skipped:
        lines += ["", f"No time was left for {skipped} cells: --seconds."]
    if failed:
        lines += ["", "PROBLEMS:", *failed]
    return lines


def _headline(environment: dict[str, Any]) -> str:
    words = [f"kvswap {environment.get('kvswap', '')} on {environment.get('device')}"]
    if environment.get("driver_cuda"):
        build = environment.get("driver_build", "")
        words.append(f"CUDA driver {environment['driver_cuda']} {build}".strip())
    words += [
        f"{text}{environment[name]}"
        for name, text in (("cpu", ""), ("arrays", ""), ("seed", "seed "), ("date", ""))
        if environment.get(name)
    ]
    return ", ".join(words)


def _output_file(name: str) -> Any:
    if name == "-":
        return contextlib.nullcontext(sys.stdout)
    return open(name, "w", encoding="utf-8")
