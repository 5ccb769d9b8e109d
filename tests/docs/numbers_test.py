"""Numbers on pages are those of what they are taken from."""

from __future__ import annotations

import re

import pytest

import kvswap
from kvswap.benchmark.method_words import LIMIT, METHOD_WORDS
from kvswap.benchmark.model_blocks import ModelBlocks
from kvswap.benchmark.models import find
from tests.docs.pages import ROOT

_PICTURE = "docs/pictures/speed_h200.svg"
# The table's columns of GB/s, by the labels of the picture's curves.
_COLUMNS = {
    f"`{name}`": METHOD_WORDS[name].label
    for name in ("auto", "batch", "one_batch_call", "copy_loop", "cuda_core")
}
_SIZES = ["2 KiB", "4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "256 KiB", "1 MiB"]


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _table() -> dict[tuple[str, str, str], float]:
    """The README's: direction, size of blocks and column to the number."""
    lines = _text("README.md").splitlines()
    (start,) = (i for i, line in enumerate(lines) if line.startswith("| direction |"))
    columns = _cells(lines[start])
    assert set(_COLUMNS) | {"share"} <= set(columns)
    numbers, direction = {}, ""
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        cells = _cells(line)
        direction = cells[0] or direction
        size = cells[1].partition(" x ")[0]
        for column, cell in zip(columns[2:], cells[2:], strict=True):
            numbers[direction, size, column] = float(cell)
    assert len(numbers) == 2 * 6 * 6
    return numbers


def _axis(axes: str) -> tuple[float, float]:
    """Where 0 GB/s is in the picture, and how many units of it are one GB/s."""
    ticks = dict(
        (text, float(y))
        for y, text in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>(\d+)</text>', axes)
    )
    unit = (ticks["0"] - ticks["60"]) / 60 if "60" in ticks else 0.0
    bottom = re.search(r'id="patch_\d+">\s*<path d="M [\d.]+ ([\d.]+)', axes)
    assert bottom
    return float(bottom[1]), unit


def _curves() -> dict[tuple[str, str, str], float]:
    """The picture's: direction, size of blocks and caption to GB/s."""
    picture = _text(_PICTURE)
    parts = re.split(r'<g id="axes_\d+">', picture)[1:]
    assert len(parts) == 2
    labels = {words.label for name, words in METHOD_WORDS.items() if name != LIMIT}
    captions = [
        text
        for text in re.findall(r"<text[^>]*>([^<]+)</text>", parts[-1])
        if text in labels
    ]
    _, unit = _axis(parts[0])
    numbers = {}
    for direction, axes in zip(
        ("host to device", "device to host"), parts, strict=True
    ):
        bottom, _ = _axis(axes)
        paths = re.findall(r'<g id="line2d_\d+">\s*<path d="([^"]+)"', axes)
        points = [re.findall(r"[ML] [\d.]+ ([\d.]+)", path) for path in paths]
        curves = [heights for heights in points if len(heights) == len(_SIZES)]
        for caption, heights in zip(captions, curves, strict=False):
            for size, height in zip(_SIZES, heights, strict=True):
                numbers[direction, size, caption] = (bottom - float(height)) / unit
    return numbers


def test_the_table_is_the_picture() -> None:
    table, curves = _table(), _curves()
    wrong = {
        (direction, size, column): (value, curves[direction, size, _COLUMNS[column]])
        for (direction, size, column), value in table.items()
        if column in _COLUMNS
        and abs(value - curves[direction, size, _COLUMNS[column]]) > 0.06
    }
    assert not wrong


def test_shares_are_of_the_limit() -> None:
    table = _table()
    limits = [
        float(text) for text in re.findall(r">([\d.]+) GB/s</text>", _text(_PICTURE))
    ]
    for (direction, size, column), share in table.items():
        if column == "share":
            limit = limits[direction == "device to host"]
            assert share == pytest.approx(
                table[direction, size, "`auto`"] / limit, abs=0.006
            )


def test_the_guide_has_the_numbers_of_the_model() -> None:
    blocks = ModelBlocks(find("llama-3-70b"), tensor_parallel=4, tokens=8192)
    text = " ".join(_text("docs/connector.md").split())
    assert "kvswap bench --model llama-3-70b --tensor-parallel 4 --tokens 8192" in text
    assert (
        f"here a block of {blocks.block_tokens} tokens is, for each of "
        f"{blocks.copies_per_block} layers, one copy of {blocks.copy_bytes // 1024} KiB, "
        f"and a request of {blocks.tokens:,} tokens {blocks.request_copies:,} of them"
    ) in text


def _shape(rule: kvswap.PolicyRule) -> str:
    if rule.kernel == "bulk":
        return f"bulk {rule.ctas}x{rule.stages}x{rule.stage_bytes}"
    return f"plain {rule.ctas}x{rule.threads}"


def test_shapes_that_were_kept_are_in_the_policy() -> None:
    kept = set(re.findall(r"^\| \*\*([^*]+)\*\* \|", _text("docs/engines.md"), re.M))
    assert len(kept) == 3
    assert kept == {
        _shape(rule)
        for rule in kvswap.get_policy((9, 0))
        if rule.priority == "compute" and rule.engine == "kernel"
    }
