"""Results that were saved: --json of an earlier run."""

from __future__ import annotations

import contextlib
import json
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kvswap.benchmark.output import SCHEMA, Row


class ResultsError(Exception):
    """A file does not hold results; the message says which, and what it lacks."""


@dataclass
class Results:
    """What a run found.

    Attributes:
        preset: what was measured: "table", "grid", "streams", "submission", "compute",
            "host" or "model".
        environment: where, and with which versions.
        rows: the numbers.
        problems: what went wrong.
        name: of the file, for people.
    """

    preset: str
    environment: dict[str, Any]
    rows: list[Row]
    problems: list[str] = field(default_factory=list)
    name: str = ""


def read(path: str) -> Results:
    """Results from a file that --json wrote.

    Raises:
        ResultsError: it is not one.
    """
    try:
        found = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        # JSON can hold halves of characters, which cannot be shown.
        json.dumps(found, ensure_ascii=False).encode()
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(
            f"{path} is not JSON ({error}): give a file that `kvswap bench --json` wrote"
        ) from error
    wrong = _what_is_wrong(found)
    if wrong:
        raise ResultsError(
            f"{path} holds no results of kvswap bench ({wrong}): give a file that "
            "`kvswap bench --json` wrote"
        )
    if found.get("schema", SCHEMA) > SCHEMA:
        raise ResultsError(
            f"{path} has results of schema {found['schema']}, and this kvswap knows "
            f"{SCHEMA}: update kvswap"
        )
    return Results(
        found["preset"],
        found["environment"],
        found["rows"],
        [str(problem) for problem in found.get("problems", [])],
        path,
    )


def _what_is_wrong(found: Any) -> str | None:
    if not isinstance(found, dict):
        return "it is no object"
    for name, kind in (("preset", str), ("environment", dict), ("rows", list)):
        if not isinstance(found.get(name), kind):
            return f"there is no {name!r}"
    if not isinstance(found.get("schema", SCHEMA), int):
        return "'schema' is no number"
    if not isinstance(found.get("problems", []), list):
        return "'problems' is no list"
    for row in found["rows"]:
        if not isinstance(row, dict) or not isinstance(row.get("method"), str):
            return "a row has no 'method'"
        for name, value in row.items():
            if isinstance(value, (list, dict)):
                return f"{name!r} of a row is neither a number nor a word"
    return None


@contextlib.contextmanager
def shown(*paths: str) -> Iterator[None]:
    """While rows of files are shown: what they lack is the files' fault.

    Raises:
        ResultsError: a column is missing, or is of another kind.
    """
    try:
        yield
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        raise ResultsError(
            f"a row of {' or '.join(paths)} lacks a column or has a wrong one "
            f"({type(error).__name__}: {error}): give files as `kvswap bench --json` "
            "wrote them"
        ) from error
