"""Statistics of what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """One round of one contender.

    Attributes:
        seconds: by the host's clock, from before the call until the stream had passed
            the copies.
        submit_seconds: of these, until the call returned.
        event_seconds: between two events of the stream around the copies; None where
            none were recorded.
    """

    seconds: float
    submit_seconds: float
    event_seconds: float | None = None


@dataclass(frozen=True)
class Summary:
    """What the rounds of one contender came to.

    Attributes:
        rounds: how many there were.
        median: of the times, in seconds.
        low: the 10th percentile.
        high: the 90th percentile.
    """

    rounds: int
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        """Of at least one value."""
        ordered = sorted(values)
        return cls(
            len(ordered),
            statistics.median(ordered),
            quantile(ordered, 0.1),
            quantile(ordered, 0.9),
        )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of the values lies; linear between two."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    part = position - below
    return ordered[below] * (1 - part) + ordered[above] * part
