"""Two saved runs beside each other, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kvswap.benchmark.cells import size_text
from kvswap.benchmark.method_words import LIMIT
from kvswap.benchmark.methods import OTHERS
from kvswap.benchmark.output import SCHEMA, Row, table_lines
from kvswap.benchmark.results import Results, ResultsError

FASTER = "faster"
SLOWER = "slower"
SAME = "same"
UNKNOWN = "unknown"  # a spread is missing

_SHOWN = 20
# Where they differ, the numbers are of different things.
_MUST_AGREE = ("device", "driver_cuda", "driver_build", "cpu", "torch", "python")
# What a row is of; a name that it does not have counts as absent.
_KEYS = (
    "model",
    "tensor_parallel",
    "block_tokens",
    "dtype",
    "layout",
    "tokens",
    "direction",
    "size",
    "count",
    "stream",
    "priority",
    "gemm",
    "gemm_stream",
    "copy_stream",
    "method",
)
# What means are taken of: auto is of kvswap too.
_KINDS = ("auto", "kvswap", "alternatives", LIMIT)
# Of --submission: calls of the driver without kvswap.
_BARE = ("cuMemcpyAsync by ctypes", "loop of cuMemcpyAsync", "one batch call")


@dataclass(frozen=True)
class Measure:
    """The number that counts in the rows of a preset: a cost, less is better.

    Attributes:
        column: its name; rows without it have not been measured.
        low: the column of its 10th percentile.
        high: of its 90th.
        text: for people.
        unit: of the column; "": it is a ratio.
    """

    column: str
    low: str
    high: str
    text: str
    unit: str = "us"


_TIME = Measure("median_us", "p10_us", "p90_us", "time to completion")
_MEASURES = {
    "submission": Measure(
        "submit_median_us", "submit_p10_us", "submit_p90_us", "CPU time of the call"
    ),
    "compute": Measure(
        "gemm_ratio",
        "gemm_ratio_p10",
        "gemm_ratio_p90",
        "time of the multiplication beside copies",
        unit="",
    ),
    "host": Measure("host_us", "host_p10_us", "host_p90_us", "host time of the call"),
}


@dataclass(frozen=True)
class Change:
    """One cell and method in both runs.

    Attributes:
        row: what it is of.
        before: its cost in the first run.
        after: in the second.
        ratio: speed of the second relative to the first: above 1 is faster.
        verdict: FASTER or SLOWER where the ranges between the 10th and the 90th
            percentile of the runs do not touch, else SAME; UNKNOWN without them.
    """

    row: Mapping[str, Any]
    before: float
    after: float
    ratio: float
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """What two runs have in common, and what not.

    Attributes:
        first: the run that is compared with.
        second: the run that is compared.
        measure: what of them.
        changes: of what both measured.
        only_first: rows that the second lacks.
        only_second: rows that the first lacks.
        warnings: why the numbers may not be comparable.
    """

    first: Results
    second: Results
    measure: Measure
    changes: list[Change]
    only_first: list[Row]
    only_second: list[Row]
    warnings: list[str]

    def below(self, ratio: float) -> list[Change]:
        """Changes of kvswap to less than that, whatever the noise."""
        return [
            change
            for change in self.changes
            if is_kvswap(change.row["method"]) and change.ratio < ratio
        ]


def is_kvswap(method: str) -> bool:
    """Whether a method is kvswap's, not an alternative and not the link's limit."""
    return method not in (LIMIT, *OTHERS, *_BARE) and method != "alone"


def compare(first: Results, second: Results) -> Comparison:
    """Compares two runs of the same kind.

    Raises:
        ResultsError: they are not of the same kind, or have nothing in common.
    """
    if first.preset != second.preset:
        raise ResultsError(
            f"{first.name} measured {first.preset!r} and {second.name} "
            f"{second.preset!r}: compare runs of the same kind"
        )
    measure = _MEASURES.get(first.preset, _TIME)
    before, after = _by_key(first, measure), _by_key(second, measure)
    changes = [
        _change(row, after[key], measure) for key, row in before.items() if key in after
    ]
    if not changes:
        raise ResultsError(
            f"{first.name} and {second.name} have no cell in common: take the same "
            "--sizes, --counts, --directions, --stream and --priority"
        )
    return Comparison(
        first,
        second,
        measure,
        changes,
        [row for key, row in before.items() if key not in after],
        [row for key, row in after.items() if key not in before],
        _warnings(first, second),
    )


def _by_key(results: Results, measure: Measure) -> dict[tuple[Any, ...], Row]:
    return {
        tuple(row.get(key) for key in _KEYS): row
        for row in results.rows
        if row["method"] and row.get(measure.column)
    }


def _change(
    before: Mapping[str, Any], after: Mapping[str, Any], measure: Measure
) -> Change:
    costs = float(before[measure.column]), float(after[measure.column])
    # Of the limit the bytes are an option of the run.
    sizes = before.get("bytes") or 1, after.get("bytes") or 1
    return Change(
        before,
        *costs,
        ratio=(costs[0] / sizes[0]) / (costs[1] / sizes[1]),
        verdict=_verdict(before, after, measure),
    )


def _verdict(
    before: Mapping[str, Any], after: Mapping[str, Any], measure: Measure
) -> str:
    ranges = []
    for row in (before, after):
        size = row.get("bytes") or 1
        low, high = row.get(measure.low), row.get(measure.high)
        if low is None or high is None:
            return UNKNOWN
        ranges.append((low / size, high / size))
    if ranges[1][1] < ranges[0][0]:
        return FASTER
    if ranges[1][0] > ranges[0][1]:
        return SLOWER
    return SAME


def _warnings(first: Results, second: Results) -> list[str]:
    found = []
    for name in _MUST_AGREE:
        values = [each.environment.get(name) for each in (first, second)]
        # Older files do not tell all of them.
        if all(values) and values[0] != values[1]:
            found.append(
                f"{name} differs: {values[0]} in {first.name}, {values[1]} in "
                f"{second.name}"
            )
    for results in (first, second):
        if results.problems:
            found.append(f"{results.name} had {len(results.problems)} problems")
    return found


def geometric_mean(values: Sequence[float]) -> float:
    """Of at least one value above zero."""
    return math.exp(sum(map(math.log, values)) / len(values))


def means(comparison: Comparison) -> list[Row]:
    """A row for each direction: mean ratios of kvswap, the others and the limit."""
    groups: dict[str, dict[str, list[float]]] = {}
    for change in comparison.changes:
        method = change.row["method"]
        kind = "kvswap" if is_kvswap(method) else "alternatives"
        if method == LIMIT:
            kind = LIMIT
        kinds = groups.setdefault(str(change.row["direction"]), {})
        kinds.setdefault(kind, []).append(change.ratio)
        if method == "auto":
            kinds.setdefault("auto", []).append(change.ratio)
    return [
        {
            "direction": direction,
            **{
                name: round(geometric_mean(kinds[name]), 4)
                for name in _KINDS
                if name in kinds
            },
            "cells": sum(len(found) for name, found in kinds.items() if name != "auto"),
        }
        for direction, kinds in groups.items()
    ]


def _ratio_text(ratio: float) -> str:
    return f"{ratio:.3f}"


def lines(comparison: Comparison, fail_below: float | None = None) -> list[str]:
    """For people: the means, then what changed."""
    first, second = comparison.first, comparison.second
    found = [
        f"{comparison.measure.text}: speed of {second.name} relative to {first.name}; "
        "above 1 is faster",
        *(f"  {_run_text(name, each)}" for name, each in (("a", first), ("b", second))),
        *(f"WARNING: {warning}" for warning in comparison.warnings),
        "",
        "Geometric mean by direction:",
        *_mean_lines(means(comparison)),
        "",
    ]
    counts = {
        verdict: sum(change.verdict == verdict for change in comparison.changes)
        for verdict in (FASTER, SLOWER, SAME, UNKNOWN)
    }
    found.append(
        f"{counts[FASTER]} faster, {counts[SLOWER]} slower, {counts[SAME]} the same "
        "within the noise (their ranges from the 10th to the 90th percentile touch)"
        + (
            f", {counts[UNKNOWN]} without a spread to judge by"
            if counts[UNKNOWN]
            else ""
        )
    )
    for verdict, order in ((SLOWER, 1), (FASTER, -1)):
        changes = [each for each in comparison.changes if each.verdict == verdict]
        changes.sort(key=lambda change: order * change.ratio)
        found += _change_lines(verdict, changes, comparison.measure.unit)
    for name, rows in (
        (first.name, comparison.only_first),
        (second.name, comparison.only_second),
    ):
        if rows:
            found += ["", f"Only in {name}: {len(rows)}"]
            found += [f"  {_cell_text(row)}" for row in rows[:_SHOWN]]
            found += _more(len(rows))
    if fail_below is not None:
        below = comparison.below(fail_below)
        found += [
            "",
            f"--fail-below {fail_below:g}: {len(below)} of kvswap's cells are under it",
        ]
        found += [
            f"  {_cell_text(change.row)}: {_ratio_text(change.ratio)}"
            for change in below[:_SHOWN]
        ]
        found += _more(len(below))
    return found


def _mean_lines(rows: Sequence[Row]) -> list[str]:
    shown = [
        {
            name: _ratio_text(value) if isinstance(value, float) else value
            for name, value in row.items()
        }
        for row in rows
    ]
    kinds = [name for name in _KINDS if any(name in row for row in shown)]
    return table_lines(shown, ["direction", *kinds, "cells"])


def _run_text(name: str, results: Results) -> str:
    environment = results.environment
    words = [
        f"kvswap {environment.get('kvswap', '?')}",
        str(environment.get("device", "")),
        f"driver {environment['driver_build']}"
        if environment.get("driver_build")
        else "",
        str(environment.get("date", "")),
    ]
    return f"{name}: {results.name}: " + ", ".join(filter(None, words))


def _change_lines(verdict: str, changes: Sequence[Change], unit: str) -> list[str]:
    if not changes:
        return []
    shown = [
        {
            "direction": change.row["direction"],
            "size": size_text(change.row["size"]),
            "count": change.row["count"],
            "stream": change.row["stream"],
            "priority": change.row["priority"],
            "method": change.row["method"],
            f"a {unit}".strip(): change.before,
            f"b {unit}".strip(): change.after,
            "ratio": _ratio_text(change.ratio),
        }
        for change in changes[:_SHOWN]
    ]
    return [
        "",
        f"{verdict.capitalize()}:",
        *table_lines(shown, list(shown[0])),
        *_more(len(changes)),
    ]


def _more(count: int) -> list[str]:
    return [f"  and {count - _SHOWN} more: --json"] if count > _SHOWN else []


def _cell_text(row: Mapping[str, Any]) -> str:
    model = f"{row['model']}, " if row.get("model") else ""
    return (
        f"{model}{row['direction']} {row['count']:,} x {size_text(row['size'])}, "
        f"{row['stream']}, {row['priority']}: {row['method']}"
    )


def as_object(comparison: Comparison) -> dict[str, Any]:
    """For JSON."""

    def named(row: Mapping[str, Any]) -> Row:
        return {key: row[key] for key in _KEYS if row.get(key) is not None}

    return {
        "schema": SCHEMA,
        "preset": "compare",
        "compared": comparison.first.preset,
        "measure": asdict(comparison.measure),
        "environments": [comparison.first.environment, comparison.second.environment],
        "warnings": comparison.warnings,
        "geometric_means": means(comparison),
        "rows": [
            {
                **named(change.row),
                "before": change.before,
                "after": change.after,
                "ratio": round(change.ratio, 4),
                "verdict": change.verdict,
            }
            for change in comparison.changes
        ],
        "only_first": [named(row) for row in comparison.only_first],
        "only_second": [named(row) for row in comparison.only_second],
    }
