"""A small scheduler of requests, as an inference engine has one, on a small GPU.

Requests come and grow. When the GPU's pool has no room for one, the request that was
used least recently is swapped out to host memory, and swapped in again, to whichever
blocks are free then, when its user comes back. What a block holds is checked before it
is given up.
"""

from __future__ import annotations

import itertools
import random
import string
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import kvswap
from kvswap.demonstration.caches import Caches, read_host
from kvswap.demonstration.content import check_content, content_of
from kvswap.demonstration.steps import (
    Grids,
    Kind,
    Place,
    RequestState,
    Step,
    Swap,
    Totals,
)
from kvswap.demonstration.words import counted

_PROMPTS = (
    "Summarise this contract",
    "Write a sorting function",
    "Translate this letter",
    "Plan a week in Rome",
    "Explain black holes",
    "Mend my unit test",
    "Compare these two laptops",
    "Rewrite this speech",
)

# Fills the GPU, until one more request means that another has to go, and its user
# comes back; then what an engine does all day.
_OPENING = ("arrive", "arrive", "arrive", "append", "arrive", "resume", "append")
_ROUTINE = ("finish", "resume", "arrive", "resume", "append")

# The size of a new prompt, in parts of the GPU's pool.
_SMALLEST_PROMPT, _LARGEST_PROMPT = 0.22, 0.34


@dataclass
class _Request:
    letter: str
    prompt: str
    # How many came before: letters are used again.
    serial: int
    used: int
    blocks: list[int] = field(default_factory=list)
    place: Place = Place.GPU
    swaps: int = 0


class Scheduler:
    """Runs the story on two caches; each step really happens before it is told."""

    def __init__(
        self,
        caches: Caches,
        make_pairs: Callable[[list[tuple[int, int]]], Any],
        engine: str,
        seed: int,
    ) -> None:
        """Has no requests yet.

        Args:
            caches: the blocks.
            make_pairs: pairs of block ids as the array that is passed to the library.
            engine: as the library's calls take it.
            seed: of prompts, block tables and content.
        """
        self._caches = caches
        self._make_pairs = make_pairs
        self._engine = engine
        self._seed = seed
        self._random = random.Random(seed)
        self._block_bytes = caches.gpu.block_bytes
        self._gpu = [""] * caches.gpu.block_count
        self._host = [""] * caches.host.block_count
        self._requests: list[_Request] = []
        self._serial = 0
        self._clock = 0
        self._number = 0
        self._totals = Totals()

    def run(self, count: int) -> Iterator[Step]:
        """Does and tells `count` steps, and one more that checks what is left.

        Raises:
            WrongBytesError: a block does not hold what was written to it.
            SwapError: the library could not copy.
        """
        yield from itertools.islice(self._events(), count)
        yield self._verify_all()

    # Events --------------------------------------------------------------------

    def _events(self) -> Iterator[Step]:
        happen = {
            "arrive": self._arrive,
            "append": self._append,
            "resume": self._resume,
            "finish": self._finish,
        }
        for event in itertools.chain(_OPENING, itertools.cycle(_ROUTINE)):
            yield from happen[event]()

    def _arrive(self) -> Iterator[Step]:
        size = max(
            1,
            round(
                self._random.uniform(_SMALLEST_PROMPT, _LARGEST_PROMPT) * len(self._gpu)
            ),
        )
        held = sum(len(request.blocks) for request in self._requests)
        # The host's pool has to hold all, should all be swapped out.
        letters = {request.letter for request in self._requests}
        letter = string.ascii_uppercase[self._serial % 26]
        if held + size > len(self._host) or letter in letters:
            yield from self._finish()
            return
        yield from self._make_room(size, f"{letter} comes", keep=None)
        request = _Request(
            letter, _PROMPTS[self._serial % len(_PROMPTS)], self._serial, self._tick()
        )
        self._serial += 1
        self._requests.append(request)
        yield self._write(
            request,
            size,
            Kind.ARRIVE,
            f'{letter} comes: "{request.prompt}". The prompt fills {counted(size, "block")}',
        )

    def _append(self) -> Iterator[Step]:
        resident = self._resident()
        if not resident:
            return
        request = self._random.choice(resident[:-1] or resident)
        size = max(1, len(self._gpu) // 24)
        held = sum(len(one.blocks) for one in self._requests)
        if len(request.blocks) + size > len(self._gpu) or held + size > len(self._host):
            return
        request.used = self._tick()
        yield from self._make_room(size, f"{request.letter} goes on", keep=request)
        yield self._write(
            request,
            size,
            Kind.APPEND,
            f"{request.letter} goes on: its answer needs {counted(size, 'block')} more",
        )

    def _resume(self) -> Iterator[Step]:
        waiting = [one for one in self._requests if one.place is Place.HOST]
        if not waiting:
            return
        request = min(waiting, key=lambda one: one.used)
        yield from self._make_room(
            len(request.blocks), f"{request.letter}'s user is back", keep=None
        )
        request.used = self._tick()
        yield self._swap_in(request)

    def _finish(self) -> Iterator[Step]:
        resident = self._resident()
        # Rather one that has been to host memory and back.
        travelled = [request for request in resident if request.swaps]
        if not resident:
            return
        yield self._verify_and_free((travelled or resident)[0])

    def _make_room(self, size: int, why: str, keep: _Request | None) -> Iterator[Step]:
        while self._gpu.count("") < size:
            victim = next(one for one in self._resident() if one is not keep)
            yield self._swap_out(victim, why)

    # Steps ---------------------------------------------------------------------

    def _write(self, request: _Request, size: int, kind: Kind, text: str) -> Step:
        before = self._grids()
        blocks = self._take(self._gpu, size, request.letter)
        for index, block in enumerate(blocks, len(request.blocks)):
            self._caches.write_gpu(block, self._content(request, index))
        request.blocks += blocks
        return self._step(kind, request.letter, text, before, gpu_blocks=blocks)

    def _swap_out(self, request: _Request, why: str) -> Step:
        before = self._grids()
        gpu_blocks = request.blocks
        host_blocks = self._take(self._host, len(gpu_blocks), request.letter)
        swap = self._swap(
            kvswap.swap_out,
            self._caches.gpu,
            self._caches.host,
            list(zip(gpu_blocks, host_blocks, strict=True)),
        )
        for block in gpu_blocks:
            self._gpu[block] = ""
            # As the next owner would: what comes back must come from host memory.
            self._caches.write_gpu(block, b"\xdb" * self._block_bytes)
        request.blocks, request.place = host_blocks, Place.HOST
        request.swaps += 1
        self._totals = replace(
            self._totals, blocks_out=self._totals.blocks_out + len(gpu_blocks)
        )
        text = (
            f"{why}, and the GPU has no room. {request.letter} was used least recently: "
            f"its {_blocks_are(len(gpu_blocks))} swapped out"
        )
        return self._step(
            Kind.SWAP_OUT, request.letter, text, before, gpu_blocks, host_blocks, swap
        )

    def _swap_in(self, request: _Request) -> Step:
        before = self._grids()
        host_blocks = request.blocks
        gpu_blocks = self._take(self._gpu, len(host_blocks), request.letter)
        swap = self._swap(
            kvswap.swap_in,
            self._caches.host,
            self._caches.gpu,
            list(zip(host_blocks, gpu_blocks, strict=True)),
        )
        for block in host_blocks:
            self._host[block] = ""
        request.blocks, request.place = gpu_blocks, Place.GPU
        request.swaps += 1
        self._totals = replace(
            self._totals, blocks_in=self._totals.blocks_in + len(gpu_blocks)
        )
        text = (
            f"{request.letter}'s user is back: its {_blocks_are(len(gpu_blocks))} "
            "swapped in, to whichever places are free"
        )
        return self._step(
            Kind.SWAP_IN, request.letter, text, before, gpu_blocks, host_blocks, swap
        )

    def _verify_and_free(self, request: _Request) -> Step:
        before = self._grids()
        self._verify(request)
        for block in request.blocks:
            self._gpu[block] = ""
        self._requests.remove(request)
        text = (
            f"{request.letter} is done: every byte of its "
            f"{counted(len(request.blocks), 'block')} is right. They are free again"
        )
        return self._step(Kind.FINISH, request.letter, text, before, request.blocks)

    def _verify_all(self) -> Step:
        for request in self._requests:
            self._verify(request)
        blocks = {
            place: [
                block
                for request in self._requests
                if request.place is place
                for block in request.blocks
            ]
            for place in Place
        }
        count = sum(map(len, blocks.values()))
        text = (
            f"The end: every byte of what is left, {counted(count, 'block')}, is right"
        )
        return self._step(
            Kind.VERIFY,
            "",
            text,
            self._grids(),
            blocks[Place.GPU],
            blocks[Place.HOST],
        )

    # Parts of steps ------------------------------------------------------------

    def _swap(
        self,
        swap: Callable[..., kvswap.Ticket],
        source: kvswap.BlockPool,
        destination: kvswap.BlockPool,
        pairs: list[tuple[int, int]],
    ) -> Swap:
        array = self._make_pairs(pairs)
        begin = time.perf_counter()
        ticket = swap(
            source, destination, array, stream=self._caches.stream, engine=self._engine
        )
        ticket.wait()
        seconds = time.perf_counter() - begin
        self._totals = replace(
            self._totals,
            bytes_moved=self._totals.bytes_moved + ticket.result.submitted_bytes,
        )
        return Swap(ticket.result, seconds)

    def _verify(self, request: _Request) -> None:
        for index, block in enumerate(request.blocks):
            on_gpu = request.place is Place.GPU
            actual = (
                self._caches.read_gpu(block)
                if on_gpu
                else read_host(self._caches.host, block)
            )
            check_content(
                actual,
                self._content(request, index),
                f"block {index} of request {request.letter}, which is "
                f"{'GPU' if on_gpu else 'host'} block {block} after "
                f"{request.swaps} swaps",
            )
        self._totals = replace(
            self._totals, verified=self._totals.verified + len(request.blocks)
        )

    def _content(self, request: _Request, index: int) -> bytes:
        return content_of(self._seed, request.serial, index, self._block_bytes)

    def _resident(self) -> list[_Request]:
        """Requests on the GPU, that which was used least recently first."""
        resident = [one for one in self._requests if one.place is Place.GPU]
        return sorted(resident, key=lambda one: one.used)

    def _take(self, owners: list[str], size: int, letter: str) -> list[int]:
        free = [block for block, owner in enumerate(owners) if not owner]
        taken = self._random.sample(free, size)
        for block in taken:
            owners[block] = letter
        return taken

    def _tick(self) -> int:
        self._clock += 1
        return self._clock

    def _grids(self) -> Grids:
        return Grids(tuple(self._gpu), tuple(self._host))

    def _step(
        self,
        kind: Kind,
        letter: str,
        text: str,
        before: Grids,
        gpu_blocks: list[int],
        host_blocks: list[int] | None = None,
        swap: Swap | None = None,
    ) -> Step:
        self._number += 1
        return Step(
            self._number,
            kind,
            letter,
            text,
            before,
            self._grids(),
            tuple(gpu_blocks),
            tuple(host_blocks or ()),
            swap,
            tuple(
                RequestState(
                    one.letter, one.prompt, one.place, len(one.blocks), one.swaps
                )
                for one in self._requests
            ),
            self._totals,
        )


def _blocks_are(count: int) -> str:
    return f"{counted(count, 'block')} {'is' if count == 1 else 'are'}"
