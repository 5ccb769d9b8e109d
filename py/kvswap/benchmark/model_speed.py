"""How long a request of a model takes out of the GPU and in again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvswap.benchmark import speed_table
from kvswap.benchmark.cells import D2H, DIRECTION_TEXTS, H2D, Cell, size_text
from kvswap.benchmark.method_words import LIMIT
from kvswap.benchmark.model_blocks import ModelBlocks
from kvswap.benchmark.models import LAYOUTS, MODELS
from kvswap.benchmark.output import Row, percent_text, table_lines
from kvswap.benchmark.session import Session, prepared

DEFAULT_METHODS = (
    "auto",
    "kernel",
    "batch",
    "loop",
    "one_batch_call",
    "copy_loop",
)
# Whichever is there: the loop of an engine that copies blocks one by one.
_LOOPS = ("copy_loop", "loop")
_WORDS = {D2H: "out of the GPU", H2D: "into the GPU"}


@dataclass(frozen=True)
class ModelCell:
    """A request's blocks in one direction.

    Attributes:
        blocks: of the model.
        cell: as it is measured: of a long request, a part of the copies.
    """

    blocks: ModelBlocks
    cell: Cell

    def describe(self) -> str:
        """In a few words."""
        return f"{self.blocks.model.name}: {self.cell.describe()}"


def cells(
    models: Sequence[ModelBlocks],
    directions: Sequence[str],
    streams: Sequence[str],
    priorities: Sequence[str],
    most_bytes: int,
) -> list[ModelCell]:
    """Every model in every direction, in cells of so many bytes at most."""
    found = []
    for blocks in models:
        count = max(1, min(blocks.request_copies, most_bytes // blocks.copy_bytes))
        for cell in speed_table.cells(
            [blocks.copy_bytes], [count], directions, streams, priorities
        ):
            found.append(ModelCell(blocks, cell))
    return found


def run(session: Session, places: Sequence[ModelCell], methods: Sequence[str]) -> None:
    """Measures; rows go to the session."""
    for place, deadline in session.in_time(places):
        before = len(session.rows)
        names = speed_table.methods_for(place.cell, methods)
        contenders, _ = prepared(session, place.cell, names, with_limit=True)
        if contenders:
            session.measure(place.cell, contenders, deadline, keep=(LIMIT, "auto"))
        for row in session.rows[before:]:
            row.update(model_columns(place.blocks))
            rate = row.get("gb_per_s")
            row["request_ms"] = (
                round(place.blocks.request_bytes / rate / 1e6, 4)
                if rate and row["method"] != LIMIT
                else None
            )


def model_columns(blocks: ModelBlocks) -> Row:
    """The columns that say what blocks they are."""
    return {
        "model": blocks.model.name,
        "tensor_parallel": blocks.tensor_parallel,
        "block_tokens": blocks.block_tokens,
        "dtype": blocks.dtype,
        "layout": blocks.layout,
        "tokens": blocks.tokens,
        "token_bytes": blocks.token_bytes,
        "copies_per_block": blocks.copies_per_block,
        "request_copies": blocks.request_copies,
        "request_bytes": blocks.request_bytes,
        "window_copies": blocks.window_copies,
    }


def lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each model what moves and how long it takes, then GB/s of every method."""
    keys = ("model", "tensor_parallel", "block_tokens", "dtype", "layout", "tokens")
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    found: list[str] = []
    for its_rows in groups.values():
        found += [*_request_lines(its_rows), ""]
    return [*found, *speed_table.lines(rows)]


def block_lines(blocks: ModelBlocks) -> list[str]:
    """What blocks a model has on a GPU, and a request of it: without measuring."""
    return _block_lines({**model_columns(blocks), "size": blocks.copy_bytes})


def _block_lines(row: Mapping[str, Any]) -> list[str]:
    gpus = row["tensor_parallel"]
    block_bytes = row["size"] * row["copies_per_block"]
    in_a_gib = (1 << 30) // block_bytes
    found = [
        f"{row['model']}, {row['dtype']}"
        + (f", on each of {gpus} GPUs" if gpus > 1 else "")
        + f": {LAYOUTS[row['layout']]}",
        *_heads_lines(row),
        f"  a block of {row['block_tokens']} tokens is {row['copies_per_block']:,} "
        f"x {size_text(row['size'])}, {bytes_text(block_bytes)} together: "
        f"{in_a_gib:,} blocks, {in_a_gib * row['block_tokens']:,} tokens in 1 GiB",
        f"  a request of {row['tokens']:,} tokens is {row['request_copies']:,} copies, "
        f"{bytes_text(row['request_bytes'])}",
    ]
    if row["window_copies"] < row["request_copies"]:
        found.append(
            f"  an engine that keeps of layers with a sliding window the window alone "
            f"moves {row['window_copies']:,} copies"
        )
    return found


def _heads_lines(row: Mapping[str, Any]) -> list[str]:
    """Layers and heads, of a model that is known here: saved runs may have others."""
    model = next((model for model in MODELS if model.name == row["model"]), None)
    if model is None:
        return []
    if model.latent_dim:
        heads = f"latent attention of {model.latent_dim} numbers"
    else:
        here = ModelBlocks(model, row["tensor_parallel"]).heads_per_gpu
        heads = f"{model.kv_heads} KV heads of {model.head_dim}"
        heads += f", {here} of them here" if here != model.kv_heads else ""
    return [
        f"  {model.layers} layers, {heads}: a token takes "
        f"{bytes_text(row['token_bytes'])}"
    ]


def _request_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    first = rows[0]
    found = _block_lines(first)
    if first["count"] < first["request_copies"]:
        found.append(
            f"  measured on {first['count']:,} of them; times are scaled to all"
        )
    shown = _times(rows)
    if shown:
        found += ["", *("  " + line for line in table_lines(shown, list(shown[0])))]
    return found


def _times(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    places = dict.fromkeys(
        (row["direction"], row["stream"], row["priority"]) for row in rows
    )
    many = len({place[1:] for place in places}) > 1
    shown = []
    for place in places:
        by_method = {
            row["method"]: row
            for row in rows
            if (row["direction"], row["stream"], row["priority"]) == place
            and row.get("request_ms") is not None
        }
        if not by_method:
            continue
        direction = place[0]
        line: Row = {"": _WORDS.get(direction, DIRECTION_TEXTS[direction])}
        if many:
            line.update(stream=place[1], priority=place[2])
        # Without kvswap's choice, its best engine by name speaks for it.
        row = by_method.get("auto") or max(
            by_method.values(), key=lambda row: float(row["gb_per_s"])
        )
        loop = next((by_method[name] for name in _LOOPS if name in by_method), None)
        line.update(
            {
                "method": row["method"],
                "time": milliseconds_text(row["request_ms"]),
                "GB/s": row["gb_per_s"],
                "of limit": percent_text(row["share_of_limit"]),
                "a loop takes": milliseconds_text(loop["request_ms"]) if loop else None,
                "times as long": (
                    loop["request_ms"] / row["request_ms"] if loop else None
                ),
            }
        )
        shown.append(line)
    return shown


def milliseconds_text(milliseconds: float) -> str:
    """With three digits that count: "0.123 ms", "12.3 ms", "1.23 s"."""
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.2f} s"
    for limit, digits in ((100, 0), (10, 1), (1, 2)):
        if milliseconds >= limit:
            return f"{milliseconds:.{digits}f} ms"
    return f"{milliseconds:.3f} ms"


def bytes_text(size: int) -> str:
    """Bytes, rounded, in the largest unit of which there is one."""
    for unit, suffix in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {suffix}"
    return f"{size} B"


def list_lines() -> list[str]:
    """The models, with the sizes of their blocks."""
    rows = []
    for model in MODELS:
        blocks = ModelBlocks(model)
        attention = (
            f"latent, {model.latent_dim}"
            if model.latent_dim
            else f"{model.kv_heads} x {model.head_dim}"
        )
        rows.append(
            {
                "model": model.name,
                "layers": model.layers,
                "KV heads x size": attention,
                "a token": bytes_text(blocks.token_bytes),
                "a layer's block": size_text(blocks.copy_bytes),
                "window": (
                    f"{model.window} in {model.window_layers} layers"
                    if model.window
                    else "-"
                ),
                "config.json of": model.source,
            }
        )
    return [
        "Models for --model. A token in all layers, and a layer's block of 16 tokens, keys "
        "and values,",
        "in bf16 on one GPU; --tensor-parallel, --block-tokens, --dtype and --layout change "
        "them.",
        "",
        *table_lines(rows, list(rows[0])),
    ]
