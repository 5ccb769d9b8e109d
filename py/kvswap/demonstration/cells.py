"""What each cell of the two grids looks like while a step is shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kvswap.demonstration.steps import Grids, Kind, Step


class Look(Enum):
    """How a block is drawn."""

    FREE = "free"
    HELD = "held"
    WRITTEN = "written"  # right now
    LEAVING = "leaving"
    ARRIVING = "arriving"
    RIGHT = "right"  # compared with what was written


@dataclass(frozen=True)
class Cell:
    """A block: whose it is, and what happens to it."""

    letter: str
    look: Look


@dataclass(frozen=True)
class Frame:
    """One picture of a step.

    Attributes:
        step: the step.
        gpu: a cell for each block of the GPU's pool.
        host: a cell for each block of the host's pool.
        flights: blocks between the two: position of the block in the step, and how
            much of the way it has gone, from 0 to 1.
    """

    step: Step
    gpu: tuple[Cell, ...]
    host: tuple[Cell, ...]
    flights: tuple[tuple[int, float], ...]


# Of the time of a step, the part that one block is on its way.
_FLIGHT = 0.4
# What is then left for looking at the outcome.
_REST = 0.1


def _settled(owners: tuple[str, ...]) -> list[Cell]:
    return [Cell(owner, Look.HELD if owner else Look.FREE) for owner in owners]


def _begin(position: int, count: int, duration: float) -> float:
    """When a block's turn begins, so that the last one ends before the rest."""
    return (1 - _REST - duration) * position / max(1, count - 1)


def frame_at(step: Step, time: float) -> Frame:
    """The picture of a step at a time from 0, its beginning, to 1, its end."""
    if time >= 1:
        return _at_rest(step, step.after)
    if step.kind in (Kind.SWAP_OUT, Kind.SWAP_IN):
        return _moving(step, time)
    if step.kind in (Kind.FINISH, Kind.VERIFY):
        return _verifying(step, time)
    return _writing(step, time)


def _at_rest(step: Step, grids: Grids) -> Frame:
    gpu, host = _settled(grids.gpu), _settled(grids.host)
    if step.kind is Kind.VERIFY:
        _mark(gpu, step.gpu_blocks, Look.RIGHT)
        _mark(host, step.host_blocks, Look.RIGHT)
    return Frame(step, tuple(gpu), tuple(host), ())


def _mark(cells: list[Cell], blocks: tuple[int, ...], look: Look) -> None:
    for block in blocks:
        cells[block] = Cell(cells[block].letter, look)


def _writing(step: Step, time: float) -> Frame:
    gpu, host = _settled(step.before.gpu), _settled(step.before.host)
    for position, block in enumerate(step.gpu_blocks):
        begin = _begin(position, len(step.gpu_blocks), 0.1)
        if time >= begin:
            look = Look.WRITTEN if time < begin + 0.1 else Look.HELD
            gpu[block] = Cell(step.letter, look)
    return Frame(step, tuple(gpu), tuple(host), ())


def _verifying(step: Step, time: float) -> Frame:
    gpu, host = _settled(step.before.gpu), _settled(step.before.host)
    cells = [(gpu, block) for block in step.gpu_blocks]
    cells += [(host, block) for block in step.host_blocks]
    # Half of the time: then all are seen to be right.
    done = round(len(cells) * min(1.0, time * 2))
    for grid, block in cells[:done]:
        _mark(grid, (block,), Look.RIGHT)
    return Frame(step, tuple(gpu), tuple(host), ())


def _moving(step: Step, time: float) -> Frame:
    gpu, host = _settled(step.before.gpu), _settled(step.before.host)
    sources, targets = (gpu, host), (step.gpu_blocks, step.host_blocks)
    if step.kind is Kind.SWAP_IN:
        sources = (host, gpu)
        targets = (step.host_blocks, step.gpu_blocks)
    flights = []
    for position, (source, target) in enumerate(zip(*targets, strict=True)):
        begin = _begin(position, len(step.gpu_blocks), _FLIGHT)
        way = (time - begin) / _FLIGHT
        if way < 0:
            continue
        if way >= 1:
            sources[0][source] = Cell("", Look.FREE)
            sources[1][target] = Cell(step.letter, Look.HELD)
            continue
        sources[0][source] = Cell(step.letter, Look.LEAVING)
        sources[1][target] = Cell(step.letter, Look.ARRIVING)
        flights.append((position, way))
    return Frame(step, tuple(gpu), tuple(host), tuple(flights))
