"""Launch shapes and engines to try, as text: "plain:4x1024", "bulk:2x8x8192", "batch:64".

"auto" and "auto:throughput" are the policy in force for either priority. "batch:64" is
the batch engine in chunks of 64, "overlap" the batch engine with prefer_overlap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import kvswap
from kvswap.benchmark.cells import (
    COMPUTE,
    D2D,
    DIRECTION_NAMES,
    PRIORITIES,
)
from kvswap.benchmark.methods import KvswapCall, Method
from kvswap.benchmark.pools import Blocks
from kvswap.close_names import did_you_mean

# Dynamic shared memory that the bulk kernel's ring may take of a multiprocessor.
_MOST_RING_BYTES = 224 * 1024


@dataclass(frozen=True)
class Shape:
    """What submits copies, and how.

    Attributes:
        text: as above.
        engine: as kvswap takes it.
        priority: as kvswap takes it.
        kernel: "plain", "bulk", or "none" where the engine is no kernel.
        ctas: of the kernel.
        threads: of a CTA.
        stages: of the bulk kernel's ring.
        stage_bytes: of a stage.
        max_batch: of the batch engine; None: the default.
        prefer_overlap: of the batch engine.
    """

    text: str
    engine: str
    priority: str = COMPUTE
    kernel: str = "none"
    ctas: int = 0
    threads: int = 0
    stages: int = 0
    stage_bytes: int = 0
    max_batch: int | None = None
    prefer_overlap: bool = False

    def columns(self) -> dict[str, Any]:
        """For a row of results."""
        return {
            "method": self.text,
            "kernel": self.kernel,
            "ctas": self.ctas,
            "threads": self.threads,
            "stages": self.stages,
            "stage_bytes": self.stage_bytes,
        }

    def method(self, blocks: Blocks, stream: int, _priority: str) -> Method:
        """Copies of this shape."""
        options: dict[str, Any] = {"priority": self.priority}
        if self.kernel != "none":
            options["policy"] = self.policy(blocks.direction)
        if self.max_batch is not None:
            options["max_batch"] = self.max_batch
        if self.prefer_overlap:
            options["prefer_overlap"] = True
        return KvswapCall(blocks, stream, self.engine, options)

    def policy(self, direction: str) -> Any:
        """The policy of one rule that has the kernel launched in this shape."""
        rule = kvswap.PolicyRule(
            direction=DIRECTION_NAMES[direction],
            engine="kernel",
            kernel=self.kernel,
            ctas=self.ctas,
            threads=self.threads,
            stages=self.stages or None,
            stage_bytes=self.stage_bytes or None,
        )
        return kvswap.Policy([rule])


_ENGINES = ("auto", "kernel", "batch", "loop")


def parse_shape(text: str) -> Shape:
    """A shape from its text.

    Raises:
        ValueError: it is none.
    """
    if match := re.fullmatch(r"plain:(\d+)x(\d+)", text):
        ctas, threads = map(int, match.groups())
        return Shape(text, "kernel", kernel="plain", ctas=ctas, threads=threads)
    if match := re.fullmatch(r"bulk:(\d+)x(\d+)x(\d+)", text):
        ctas, stages, stage_bytes = map(int, match.groups())
        return Shape(
            text,
            "kernel",
            kernel="bulk",
            ctas=ctas,
            threads=32,
            stages=stages,
            stage_bytes=stage_bytes,
        )
    if match := re.fullmatch(r"batch:(\d+)", text):
        return Shape(text, "batch", max_batch=int(match[1]))
    if match := re.fullmatch(r"auto:(\w+)", text):
        if match[1] in PRIORITIES:
            return Shape(text, "auto", priority=match[1])
    if text == "overlap":
        return Shape(text, "batch", prefer_overlap=True)
    if text in _ENGINES:
        return Shape(text, text)
    words = [*_ENGINES, "overlap", *(f"auto:{name}" for name in PRIORITIES)]
    raise ValueError(
        f"{text!r} is no shape: write plain:CTASxTHREADS, bulk:CTASxSTAGESxBYTES, "
        "batch:CHUNK, overlap, auto, auto:throughput, kernel, batch or loop"
        f"{did_you_mean(text, words)}"
    )


COMPARED = ("auto", "auto:throughput", "batch", "overlap")


def to_sweep(direction: str) -> list[str]:
    """The shapes that --tune tries for a direction."""
    if direction == D2D:
        return [
            "auto:throughput",
            "batch",
            *(f"plain:{c}x{t}" for c in (66, 132, 264, 528, 1056) for t in (256, 1024)),
        ]
    plain = [
        f"plain:{ctas}x{threads}"
        for ctas in (1, 2, 4, 8, 16, 32)
        for threads in (128, 256, 512, 1024)
    ]
    bulk = [
        f"bulk:{ctas}x{stages}x{stage_bytes}"
        for ctas in (1, 2, 4, 8)
        for stages in (2, 4, 8, 16)
        for stage_bytes in (2048, 4096, 8192, 16384)
        # Less in flight does not fill the link, whatever the rest.
        if 16384 <= ctas * stages * stage_bytes
        and stages * stage_bytes <= _MOST_RING_BYTES
    ]
    return [*COMPARED, "batch:32", "batch:64", "batch:256", *plain, *bulk]
