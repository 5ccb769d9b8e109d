"""What each method of the benchmark is, in words: for tables, plots and help."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class MethodWords:
    """Of one method.

    Attributes:
        label: of its curve; begins with its name, or with kvswap and its name.
        text: what it does, to follow its name and a colon.
    """

    label: str
    text: str


ENGINE_WORDS = {
    "auto": MethodWords("kvswap auto", "kvswap, which picks by its policy"),
    "kernel": MethodWords("kvswap kernel", "kvswap's copy kernel"),
    "batch": MethodWords(
        "kvswap batch", "kvswap's cuMemcpyBatchAsync, in chunks of blocks"
    ),
    "bridge": MethodWords(
        "kvswap bridge", "kvswap's batch on a stream of its own, joined to this one"
    ),
    "loop": MethodWords("kvswap loop", "kvswap's call of cuMemcpyAsync for each block"),
}
"""kvswap's engines, in the order of tables."""

ALTERNATIVE_WORDS = {
    "one_batch_call": MethodWords(
        "one_batch_call", "one cuMemcpyBatchAsync over all blocks"
    ),
    "copy_loop": MethodWords(
        "copy_loop, in C", "a cuMemcpyAsync for each block, from C"
    ),
    "cuda_core": MethodWords(
        "cuda_core's copy_batch",
        "cuda.core's copy_batch, where that package is installed",
    ),
    "torch_copy": MethodWords(
        "torch_copy, in Python", "tensor.copy_ for each block, from Python"
    ),
    "gather": MethodWords(
        "gather, copy, scatter",
        "torch gathers all blocks into one piece, copies that, and scatters it",
    ),
}
"""What people do without kvswap, in the order of tables."""

LIMIT = "limit"
LIMIT_WORDS = MethodWords(
    "limit: one large copy", "one large copy, of --limit-bytes: what the link can do"
)

METHOD_WORDS = {**ENGINE_WORDS, **ALTERNATIVE_WORDS, LIMIT: LIMIT_WORDS}
"""Of every column of the speed table."""


def explain(names: Collection[str]) -> list[str]:
    """A line for each of the names that are methods, "name: what it does"."""
    known = [name for name in METHOD_WORDS if name in names]
    width = max((len(name) for name in known), default=0) + 1
    return [f"{name + ':':{width}} {METHOD_WORDS[name].text}" for name in known]
