"""The record of driver calls."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of a driver function.

    Attributes:
        sequence: its number in the process, from 1.
        thread: of the caller, as the operating system numbers it.
        name: the function, as ``cuGetProcAddress`` takes it.
        version: the CUDA version of the ABI that was entered: 12080 is the
            9-argument ``cuMemcpyBatchAsync``, 13000 the 8-argument one.
        symbol: the function, as it is exported.
        arguments: as they were received; addresses and handles are numbers,
            arrays are lists.
        outputs: what was given back through pointers.
        result: the ``CUresult``; None where the process died in the call.
        note: a remark, such as why it was refused; may be empty.
    """

    sequence: int
    thread: int
    name: str
    version: int
    symbol: str
    arguments: dict[str, Any]
    outputs: dict[str, Any]
    result: int | None
    note: str


def parse_trace(lines: str) -> list[Call]:
    """The calls of a record in its text form, a JSON object a line.

    Raises:
        ValueError: a line is none of a record.
    """
    calls = []
    for number, line in enumerate(lines.splitlines(), 1):
        try:
            calls.append(_call(json.loads(line)))
        except (KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                f"line {number} is no record of a driver call "
                f"({type(error).__name__}: {error}): {line[:80]!r}"
            ) from error
    return calls


def _call(record: dict[str, Any]) -> Call:
    """Of a line's object."""
    return Call(
        sequence=record["sequence"],
        thread=record["thread"],
        name=record["name"],
        version=record["version"],
        symbol=record["symbol"],
        arguments=record["arguments"],
        outputs=record.get("outputs", {}),
        result=record["result"],
        note=record.get("note", ""),
    )


def read_trace(path: str | os.PathLike[str]) -> list[Call]:
    """The calls in a file that ``KVSWAP_SIM_TRACE`` named.

    Raises:
        OSError: it cannot be read.
        ValueError: it is none.
    """
    return parse_trace(Path(path).read_text(encoding="utf-8"))
