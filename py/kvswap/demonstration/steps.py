"""What the scheduler tells of each step, for whoever shows it. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import kvswap


class Kind(Enum):
    """What happens in a step."""

    ARRIVE = "arrive"
    APPEND = "append"
    SWAP_OUT = "swap out"
    SWAP_IN = "swap in"
    FINISH = "finish"
    VERIFY = "verify"


class Place(Enum):
    """Where the blocks of a request are."""

    GPU = "on the GPU"
    HOST = "in host memory"


@dataclass(frozen=True)
class RequestState:
    """A request, as it is after a step.

    Attributes:
        letter: its name in the grids.
        prompt: what it asks.
        place: where its blocks are.
        blocks: how many it has.
        swaps: how often they were swapped, out and in.
    """

    letter: str
    prompt: str
    place: Place
    blocks: int
    swaps: int


@dataclass(frozen=True)
class Grids:
    """Whose each block is: the letter of a request, or "" for a free one."""

    gpu: tuple[str, ...]
    host: tuple[str, ...]


@dataclass(frozen=True)
class Swap:
    """One call of the library.

    Attributes:
        result: what it submitted.
        seconds: from before the call until its ticket said that the copies are done.
    """

    result: kvswap.SwapResult
    seconds: float


@dataclass(frozen=True)
class Totals:
    """Counters over all steps so far."""

    blocks_out: int = 0
    blocks_in: int = 0
    bytes_moved: int = 0
    verified: int = 0


@dataclass(frozen=True)
class Step:
    """One step of the story.

    Attributes:
        number: from 1 on.
        kind: what happens.
        letter: the request that it happens to; "" where it is all of them.
        text: the same as a sentence.
        before: the grids before it.
        after: and after it.
        gpu_blocks: blocks of the GPU's pool that it writes, reads or checks, in order.
        host_blocks: blocks of the host's pool; of a swap, each belongs to the block of
            the GPU at the same position.
        swap: the call, where there is one.
        requests: all that are not finished, after the step.
        totals: the counters after it.
    """

    number: int
    kind: Kind
    letter: str
    text: str
    before: Grids
    after: Grids
    gpu_blocks: tuple[int, ...]
    host_blocks: tuple[int, ...]
    swap: Swap | None
    requests: tuple[RequestState, ...]
    totals: Totals
