"""Results as a table, as JSON and as CSV. A result is a row: names and values."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

Row = dict[str, Any]

# Of the JSON object. Higher where a reader of this one could not make sense of it.
SCHEMA = 1


def cell_text(value: Any) -> str:
    """A value as the table shows it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if value != value:
            return "-"
        return f"{value:.3g}" if abs(value) < 1 else f"{value:,.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def percent_text(share: float | None) -> str | None:
    """0.834 as "83 %"."""
    return None if share is None else f"{share:.0%}".replace("%", " %")


def table_lines(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    """A line for each row, columns aligned: numbers right, text left."""
    cells = [list(columns)]
    cells += [[cell_text(row.get(column)) for column in columns] for row in rows]
    numeric = [
        all(_is_number(row.get(column)) for row in rows) and bool(column)
        for column in columns
    ]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return [
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in cells
    ]


# Numbers with a unit, and of an outcome a sign behind them, stand right as well.
_NUMBER = re.compile(r"[-+]?[\d.,]+( [%\w]{1,3}B?)?[ *]?")


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip() == "-" or _NUMBER.fullmatch(value) is not None
    return value is None or isinstance(value, int | float)


def pivot(
    rows: Iterable[Mapping[str, Any]],
    keys: Sequence[str],
    column: str,
    value: str,
) -> tuple[list[Row], list[str]]:
    """A row for each combination of `keys`, a column for each value of `column`.

    Returns:
        The rows, and the names of the new columns in the order of their appearance.
    """
    found: dict[tuple[Any, ...], Row] = {}
    names: list[str] = []
    for row in rows:
        line = found.setdefault(
            tuple(row.get(key) for key in keys), {key: row.get(key) for key in keys}
        )
        name = str(row[column])
        if name not in names:
            names.append(name)
        line[name] = row.get(value)
    return list(found.values()), names


def with_environment(
    rows: Sequence[Mapping[str, Any]], environment: Mapping[str, Any]
) -> list[Row]:
    """Rows that say themselves where they were measured."""
    return [{**row, **environment} for row in rows]


def write_json(
    file: TextIO,
    preset: str,
    rows: Sequence[Mapping[str, Any]],
    environment: Mapping[str, Any],
    problems: Sequence[str],
) -> None:
    """One object: what, where, the rows, what went wrong."""
    json.dump(
        {
            "schema": SCHEMA,
            "preset": preset,
            "environment": dict(environment),
            "problems": list(problems),
            "rows": with_environment(rows, environment),
        },
        file,
        indent=1,
    )
    file.write("\n")


def write_csv(
    file: TextIO,
    rows: Sequence[Mapping[str, Any]],
    environment: Mapping[str, Any],
) -> None:
    """A line for each row; columns are all names that occur."""
    complete = with_environment(rows, environment)
    columns = list(dict.fromkeys(name for row in complete for name in row))
    writer = csv.DictWriter(file, columns)
    writer.writeheader()
    writer.writerows(complete)
