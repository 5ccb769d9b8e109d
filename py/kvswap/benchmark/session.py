"""One run: its GPU, its settings, its time, its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kvswap.benchmark.cells import Cell
from kvswap.benchmark.contenders import TimedMethod, Workshop, WrongBytesError
from kvswap.benchmark.gpu import UnavailableError
from kvswap.benchmark.method_words import LIMIT
from kvswap.benchmark.methods import ENGINES, OTHERS
from kvswap.benchmark.output import Row
from kvswap.benchmark.pools import Blocks
from kvswap.benchmark.progress import LineProgress, Progress
from kvswap.benchmark.rounds import RoundSettings, TimeBudget, interleave
from kvswap.benchmark.samples import Sample, Summary


@dataclass
class Session:
    """What the presets share.

    Attributes:
        workshop: makes contenders.
        settings: of rounds.
        budget: time that is left.
        progress: is told of cells as they begin, and of nothing within one.
        rows: results so far.
        problems: wrong bytes, and errors of kvswap: a run with any has failed.
        skipped: cells for which no time was left.
    """

    workshop: Workshop
    settings: RoundSettings
    budget: TimeBudget
    progress: Progress = field(default_factory=LineProgress)
    rows: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def in_time(self, cells: Sequence[Any]) -> Iterator[tuple[Any, float]]:
        """The cells that there is time for, each with its deadline."""
        self.progress.begin(len(cells))
        for number, cell in enumerate(cells):
            text = cell.describe() if hasattr(cell, "describe") else str(cell)
            if self.budget.seconds_left <= 0:
                self.skipped.append(text)
                continue
            self.progress.step(number, text, self.budget.seconds_left)
            yield cell, self.budget.deadline(len(cells) - number)
        self.progress.end()
        if self.skipped:
            self.progress.tell(
                f"no time was left for {len(self.skipped)} cells: --seconds"
            )

    def attempt(
        self, label: str, cell: Cell, make: Callable[[], TimedMethod]
    ) -> TimedMethod | None:
        """A contender; None where it cannot be had, and then there is a row for that."""
        try:
            return make()
        except UnavailableError as error:
            note = f"unavailable: {error}"
        except WrongBytesError as error:
            note = f"WRONG BYTES: {error}"
            self.fail(f"{cell.describe()}: {note}")
        except Exception as error:  # a method must not end the run of the others
            note = f"failed: {type(error).__name__}: {error}"
            if label in OTHERS:
                self.progress.tell(f"{label}: {note}")
            else:
                self.fail(f"{cell.describe()}: {label}: {note}")
        self.rows.append({**cell_columns(cell), "method": label, "note": note})
        return None

    def fail(self, problem: str) -> None:
        """Notes a problem, and tells it at once."""
        self.problems.append(problem)
        self.progress.tell(f"PROBLEM: {problem}")

    def measure(
        self,
        cell: Cell,
        contenders: Sequence[TimedMethod],
        deadline: float,
        keep: Sequence[str] = (),
    ) -> list[Row]:
        """Rounds of the contenders, and a row for each.

        An error in the middle is a problem of the cell.
        """
        try:
            samples = interleave(
                contenders,
                replace(self.settings, seed=self.settings.seed + cell.size),
                deadline,
                keep=keep,
            )
        except Exception as error:  # other cells may still run
            self.fail(f"{cell.describe()}: {type(error).__name__}: {error}")
            return []
        engines = {each.name: each.engines_text for each in contenders}
        rows = cell_rows(cell, samples, engines, self.workshop.limit_bytes)
        self.rows += rows
        return rows


def cell_columns(cell: Cell) -> Row:
    """The columns that name a cell."""
    return {
        "direction": cell.direction,
        "size": cell.size,
        "count": cell.count,
        "stream": cell.stream,
        "priority": cell.priority,
    }


def cell_rows(
    cell: Cell,
    samples: dict[str, list[Sample]],
    engines: dict[str, str],
    limit_bytes: int,
) -> list[Row]:
    """A row for each contender of a cell.

    `share_of_limit` is there where LIMIT was measured; `ratio_to_best` compares GB/s
    with the best of kvswap's engines that are asked for by name.
    """
    rates: dict[str, float] = {}
    rows: list[Row] = []
    for name, found in samples.items():
        wall = Summary.of([sample.seconds for sample in found])
        total = limit_bytes * len(cell.parts) if name == LIMIT else cell.total_bytes
        rates[name] = total / wall.median / 1e9
        events = [s.event_seconds for s in found if s.event_seconds is not None]
        submit = Summary.of([sample.submit_seconds for sample in found])
        rows.append(
            {
                **cell_columns(cell),
                "method": name,
                "bytes": total,
                "rounds": wall.rounds,
                "median_us": round(wall.median * 1e6, 3),
                "p10_us": round(wall.low * 1e6, 3),
                "p90_us": round(wall.high * 1e6, 3),
                "event_median_us": (
                    round(Summary.of(events).median * 1e6, 3) if events else None
                ),
                "submit_median_us": round(submit.median * 1e6, 3),
                "submit_p10_us": round(submit.low * 1e6, 3),
                "submit_p90_us": round(submit.high * 1e6, 3),
                "gb_per_s": round(rates[name], 4),
                "share_of_limit": None,
                "ratio_to_best": None,
                "engines": engines.get(name, ""),
                "note": "",
            }
        )
    named = [rates[name] for name in ENGINES if name != "auto" and name in rates]
    for row in rows:
        rate = rates[row["method"]]
        if LIMIT in rates:
            row["share_of_limit"] = round(rate / rates[LIMIT], 4)
        if named and row["method"] != LIMIT:
            row["ratio_to_best"] = round(rate / max(named), 4)
    return rows


def prepared(
    session: Session, cell: Cell, names: Sequence[str], with_limit: bool
) -> tuple[list[TimedMethod], list[Blocks]]:
    """The contenders of a cell, by their names in METHODS."""
    workshop = session.workshop
    contenders: list[TimedMethod] = []
    blocks: list[Blocks] = []

    def note_problem(label: str, make: Callable[[], TimedMethod]) -> None:
        contender = session.attempt(label, cell, make)
        if contender is not None:
            contenders.append(contender)

    try:
        blocks = workshop.pools.blocks(cell)
    except UnavailableError as error:
        session.rows.append(
            {**cell_columns(cell), "method": "", "note": f"unavailable: {error}"}
        )
        return [], []
    if with_limit:
        note_problem(LIMIT, lambda: workshop.limit(cell, blocks))
    for name in names:
        note_problem(name, lambda name=name: workshop.method(name, cell, blocks))  # type: ignore[misc]
    return contenders, blocks
