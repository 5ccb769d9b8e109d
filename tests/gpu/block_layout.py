"""Blocks of given sizes and alignments, laid out at random, and what they have to become."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpu_support import copy_blocks, random_bytes, torch

# Larger than any shift; between blocks, so that a byte too many is seen.
_LINE = 64


@dataclass(frozen=True)
class Block:
    """A block: its size, and how far its addresses are from a multiple of 64."""

    size: int
    source_shift: int = 0
    destination_shift: int = 0


class Layout:
    """Blocks in two memories, in a random order on either side."""

    def __init__(self, blocks: Iterable[Block], direction: str, seed: int = 1) -> None:
        """Allocates and fills both memories.

        Args:
            blocks: what to copy.
            direction: "h2d", "d2h", "d2d" or "h2h"; host memory is pinned.
            seed: of the orders.
        """
        shuffler = random.Random(seed)
        self.blocks = list(blocks)
        self.source_offsets = self._place(shuffler, source=True)
        self.destination_offsets = self._place(shuffler, source=False)
        size = sum(self._room(block) for block in self.blocks) + _LINE
        self.source = self._memory(size, direction[0])
        self.destination = self._memory(size, direction[-1])
        torch.cuda.synchronize()
        self._expected = self._compute()

    @staticmethod
    def _room(block: Block) -> int:
        return (block.size + 2 * _LINE - 1) // _LINE * _LINE

    @staticmethod
    def _memory(size: int, side: str) -> Any:
        if side == "h":
            return random_bytes(size, pinned=True)
        return random_bytes(size, device="cuda")

    def _place(self, shuffler: random.Random, source: bool) -> list[int]:
        order = list(range(len(self.blocks)))
        shuffler.shuffle(order)
        offsets = [0] * len(order)
        position = 0
        for number in order:
            block = self.blocks[number]
            shift = block.source_shift if source else block.destination_shift
            offsets[number] = position + shift
            position += self._room(block)
        return offsets

    def _compute(self) -> Any:
        expected, source = self.destination.cpu().clone(), self.source.cpu()
        for block, from_, to in zip(
            self.blocks, self.source_offsets, self.destination_offsets, strict=True
        ):
            expected[to : to + block.size] = source[from_ : from_ + block.size]
        return expected

    def copy(self, **options: Any) -> Any:
        """Submits all blocks in one call; the result."""
        return copy_blocks(
            self.source,
            self.source_offsets,
            self.destination,
            self.destination_offsets,
            [block.size for block in self.blocks],
            **options,
        )

    def check(self) -> None:
        """Compares the whole destination: beside the blocks nothing may have changed."""
        torch.cuda.synchronize()
        actual = self.destination.cpu()
        if torch.equal(actual, self._expected):
            return
        wrong = int((actual != self._expected).nonzero()[0])
        for block, to in zip(self.blocks, self.destination_offsets, strict=True):
            if to <= wrong < to + block.size:
                raise AssertionError(f"byte {wrong - to} of {block} is wrong")
        raise AssertionError(f"byte {wrong}, which belongs to no block, was written")
