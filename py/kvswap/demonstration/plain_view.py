"""The steps as plain lines, for pipes, files, and terminals without rich."""

from __future__ import annotations

import math
from collections.abc import Iterable

from kvswap.demonstration.steps import Kind, Step
from kvswap.demonstration.words import describe_speed, describe_swap

_GRID_WIDTH = 56
_INDENT = "    "


def grid_lines(step: Step) -> list[str]:
    """Both pools after a step, a letter for each block.

    Blocks that the step wrote are in lower case; "." is a free block.
    """
    gpu, host = list(step.after.gpu), list(step.after.host)
    for letters, blocks in ((gpu, step.gpu_blocks), (host, step.host_blocks)):
        if step.kind not in (Kind.FINISH, Kind.VERIFY):
            for block in blocks:
                letters[block] = letters[block].lower()
    rows = math.ceil((len(gpu) + len(host)) / _GRID_WIDTH)
    columns = math.ceil(len(gpu) / rows), math.ceil(len(host) / rows)
    lines = [f"{'GPU'.ljust(columns[0])}   host".rstrip()]
    for row in range(rows):
        parts = []
        for letters, width in zip((gpu, host), columns, strict=True):
            part = letters[row * width : (row + 1) * width]
            parts.append("".join(letter or "." for letter in part).ljust(width))
        lines.append("   ".join(parts).rstrip())
    return lines


class PlainView:
    """Prints each step when it has happened."""

    def __init__(self, simulated: bool, reproducible: bool) -> None:
        """`reproducible`: leave out what differs from run to run."""
        self._simulated = simulated
        self._reproducible = reproducible

    def show(self, steps: Iterable[Step]) -> Step:
        """Prints all steps; the last of them."""
        print("A letter is a block of that request, in lower case one just written.")
        last = None
        for step in steps:
            last = step
            print(f"\n{step.number:2}. {step.text}.")
            if step.swap is not None:
                print(_INDENT + describe_swap(step.swap, step))
                if not self._reproducible:
                    print(_INDENT + describe_speed(step.swap, self._simulated))
            for line in grid_lines(step):
                print(_INDENT + line)
        assert last is not None, "a story ends with a step that verifies"
        return last
