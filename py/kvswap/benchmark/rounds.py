"""Interleaved rounds: each measures every contender once, in a shuffled order.

So what changes with time (clocks, other users of the host) meets all of them alike.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kvswap.benchmark.samples import Sample, Summary


class Contender(Protocol):
    """Something that can be measured again and again."""

    @property
    def name(self) -> str:
        """Unique among those that are measured together."""

    def measure(self) -> Sample:
        """Runs once."""


@dataclass(frozen=True)
class RoundSettings:
    """How long to measure.

    Attributes:
        rounds: at least, where time allows.
        least_rounds: even where it does not.
        least_seconds: rounds go on until that many have passed: short ones need more.
        most_rounds: no more than that.
        trial_rounds: after so many, contenders that are hopeless are left out.
        hopeless: how many times the time of the quickest that is; 0: all stay.
        warm_rounds: before those that count.
        seed: of the order.
    """

    rounds: int = 30
    least_rounds: int = 3
    least_seconds: float = 0.02
    most_rounds: int = 300
    trial_rounds: int = 3
    hopeless: float = 0.0
    warm_rounds: int = 1
    seed: int = 1


def interleave(
    contenders: Sequence[Contender],
    settings: RoundSettings,
    deadline: float,
    keep: Sequence[str] = (),
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, list[Sample]]:
    """Measures all, round by round.

    Args:
        contenders: what is measured.
        settings: how long.
        deadline: by `clock`: no round begins after it, but the least.
        keep: names of contenders that are never hopeless, nor a measure of it.
        clock: seconds.

    Returns:
        The samples of each name, in the order of the rounds.
    """
    shuffler = random.Random(settings.seed)
    samples: dict[str, list[Sample]] = {each.name: [] for each in contenders}
    active = list(contenders)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(settings.warm_rounds):
            for contender in active:
                contender.measure()
        begin = clock()
        for number in range(settings.most_rounds):
            now = clock()
            if number >= settings.least_rounds and now >= deadline:
                break
            if number >= settings.rounds and now - begin >= settings.least_seconds:
                break
            shuffler.shuffle(active)
            for contender in active:
                samples[contender.name].append(contender.measure())
            if settings.hopeless and number + 1 == settings.trial_rounds:
                active = _hopeful(active, samples, settings.hopeless, keep)
    finally:
        if collecting:
            gc.enable()
    return samples


def _hopeful(
    active: list[Contender],
    samples: dict[str, list[Sample]],
    hopeless: float,
    keep: Sequence[str],
) -> list[Contender]:
    medians = {
        each.name: Summary.of([sample.seconds for sample in samples[each.name]]).median
        for each in active
    }
    compared = [median for name, median in medians.items() if name not in keep]
    if not compared:
        return active
    limit = hopeless * min(compared)
    return [each for each in active if each.name in keep or medians[each.name] <= limit]


class TimeBudget:
    """Shares out the time of a run among what is left to do."""

    def __init__(
        self, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._end = clock() + seconds

    @property
    def seconds_left(self) -> float:
        """None left: zero or less."""
        return self._end - self._clock()

    def deadline(self, parts_left: int) -> float:
        """Until when the next of so many equal parts may take."""
        share = max(0.0, self.seconds_left) / max(1, parts_left)
        return self._clock() + share
