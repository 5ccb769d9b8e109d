"""Models and their blocks, against what is worked out by hand; what --model says."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest

from kvswap import bench
from kvswap.benchmark import model_speed, models
from kvswap.benchmark.arguments import parse_arguments
from kvswap.benchmark.cells import Cell
from kvswap.benchmark.model_blocks import ModelBlocks
from tests.python import bench_results

KIB = 1024


def blocks(name: str, **options: Any) -> ModelBlocks:
    return ModelBlocks(models.find(name), **options)


# Name, options, and by hand: bytes of a token in a layer, bytes of a copy, copies of a
# block, bytes of a token in all layers.
BY_HAND: list[tuple[str, dict[str, Any], int, int, int, int]] = [
    # 2 (keys, values) x 8 heads x 128 x 2 bytes; x 16 tokens; 32 layers.
    ("llama-3-8b", {}, 4096, 65536, 32, 131072),
    ("llama-3-8b", {"dtype": "fp8"}, 2048, 32768, 32, 65536),
    ("llama-3-8b", {"layout": "split"}, 4096, 32768, 64, 131072),
    ("llama-3-8b", {"layout": "one"}, 4096, 2097152, 1, 131072),
    ("llama-3-8b", {"block_tokens": 64}, 4096, 262144, 32, 131072),
    # 8 heads over 4 GPUs are 2 of each.
    ("llama-3-70b", {"tensor_parallel": 4}, 1024, 16384, 80, 81920),
    # More GPUs than heads: one head of each, replicated.
    ("llama-3-70b", {"tensor_parallel": 16}, 512, 8192, 80, 40960),
    ("qwen3-8b", {}, 4096, 65536, 36, 147456),
    ("qwen3-14b", {}, 4096, 65536, 40, 163840),
    ("qwen3-32b", {}, 4096, 65536, 64, 262144),
    ("qwen3-30b-a3b", {}, 2048, 32768, 48, 98304),
    ("qwen3-235b-a22b", {}, 2048, 32768, 94, 192512),
    ("qwen3-235b-a22b", {"tensor_parallel": 8}, 512, 8192, 94, 48128),
    # 2 x 8 heads x 64 x 2 bytes.
    ("gpt-oss-20b", {}, 2048, 32768, 24, 49152),
    ("gpt-oss-120b", {}, 2048, 32768, 36, 73728),
    # Latent: (512 + 64) x 2 bytes, on every GPU all of it, and nothing to split.
    ("deepseek-v3", {}, 1152, 18432, 61, 70272),
    ("deepseek-v3", {"tensor_parallel": 8}, 1152, 18432, 61, 70272),
    ("deepseek-v3", {"layout": "split", "dtype": "fp8"}, 576, 9216, 61, 35136),
    ("deepseek-r1", {"block_tokens": 64}, 1152, 73728, 61, 70272),
]


@pytest.mark.parametrize(
    ("name", "options", "layer_token", "copy", "copies", "token"), BY_HAND
)
def test_sizes_by_hand(
    name: str,
    options: dict[str, Any],
    layer_token: int,
    copy: int,
    copies: int,
    token: int,
) -> None:
    found = blocks(name, **options)
    assert found.layer_token_bytes == layer_token
    assert found.copy_bytes == copy
    assert found.copies_per_block == copies
    assert found.token_bytes == token


def test_every_model_is_worked_out_by_hand() -> None:
    assert {model.name for model in models.MODELS} == {case[0] for case in BY_HAND}
    for model in models.MODELS:
        assert bool(model.latent_dim) != bool(model.kv_heads and model.head_dim)
        assert bool(model.window) == bool(model.window_layers)
        assert re.fullmatch(r"[\w-]+/[\w.-]+", model.source)


def test_requests() -> None:
    found = blocks("llama-3-8b", tokens=4096)
    assert (found.request_blocks, found.request_copies) == (256, 8192)
    assert found.request_bytes == 512 << 20
    # The last block is full on the way, whatever is in it.
    assert blocks("llama-3-8b", tokens=4097).request_blocks == 257
    assert blocks("llama-3-8b", tokens=1).request_copies == 32
    assert blocks("llama-3-8b", tokens=4096, layout="one").request_copies == 256


def test_layers_with_a_window() -> None:
    # 256 blocks x 36 layers; 18 of these keep 128 tokens: 8 blocks, and one more that the
    # window begins in.
    found = blocks("gpt-oss-120b", tokens=4096)
    assert found.request_copies == 256 * 36 == 9216
    assert found.window_copies == 256 * 18 + 9 * 18 == 4770
    split = blocks("gpt-oss-120b", tokens=4096, layout="split")
    assert split.window_copies == 2 * 4770
    # No longer than the window: nothing to spare.
    short = blocks("gpt-oss-20b", tokens=128)
    assert short.window_copies == short.request_copies == 8 * 24
    assert blocks("llama-3-8b").window_copies == blocks("llama-3-8b").request_copies
    one = blocks("gpt-oss-20b", layout="one")
    assert one.window_copies == one.request_copies


def test_heads_that_cannot_be_shared() -> None:
    for parts in (3, 12):
        with pytest.raises(ValueError, match="8 KV heads, which"):
            blocks("llama-3-8b", tensor_parallel=parts)
    assert blocks("deepseek-v3", tensor_parallel=3).copy_bytes == 18 * KIB


def test_unknown_models() -> None:
    assert models.find("Llama-3-8B").name == "llama-3-8b"
    with pytest.raises(ValueError, match="'gpt-2' is no model that .*llama-3-8b"):
        models.find("gpt-2")


def test_cells_of_models() -> None:
    options = parse_arguments(
        [
            "--model",
            "llama-3-8b,deepseek-v3",
            "--block-tokens",
            "16,32",
            "--tokens=2000",
        ]
    )
    assert options.preset == "model"
    assert options.directions == ["d2h", "h2d"]
    places = model_speed.cells(
        options.model_blocks,
        options.directions,
        options.stream,
        options.priority,
        1 << 30,
    )
    assert [place.cell for place in places[::2]] == [
        Cell("d2h", 64 * KIB, 125 * 32),
        Cell("d2h", 128 * KIB, 63 * 32),
        Cell("d2h", 18 * KIB, 125 * 61),
        Cell("d2h", 36 * KIB, 63 * 61),
    ]
    assert [place.cell.direction for place in places[1::2]] == ["h2d"] * 4
    assert places[0].describe().startswith("llama-3-8b: d2h 4,000 x 64 KiB")


def test_a_long_request_is_measured_in_part() -> None:
    long = blocks("llama-3-70b", tokens=100_000)
    (place,) = model_speed.cells([long], ["h2d"], ["created"], ["throughput"], 1 << 30)
    assert place.cell.count == (1 << 30) // (64 * KIB) < long.request_copies
    one = blocks("llama-3-70b", tokens=100_000, layout="one", block_tokens=4096)
    (place,) = model_speed.cells([one], ["h2d"], ["created"], ["throughput"], 1 << 30)
    assert place.cell.count == 1, "one at least"


def rows_of(found: ModelBlocks, count: int, loop: bool = True) -> list[dict[str, Any]]:
    rates = {"limit": 55.0, "auto": 50.0, "kernel": 49.0, "batch": 51.0}
    if loop:
        rates["copy_loop"] = 12.5
    return [
        {
            **bench_results.row(
                method, rate, found.copy_bytes, count, direction=direction
            ),
            **model_speed.model_columns(found),
            "request_ms": None
            if method == "limit"
            else found.request_bytes / rate / 1e6,
        }
        for direction in ("d2h", "h2d")
        for method, rate in rates.items()
    ]


def test_what_is_said_of_a_request() -> None:
    found = blocks("llama-3-8b", tokens=4096)
    text = "\n".join(model_speed.lines(rows_of(found, found.request_copies)))
    assert (
        "  32 layers, 8 KV heads of 128: a token takes 128 KiB\n"
        "  a block of 16 tokens is 32 x 64 KiB, 2 MiB together: 512 blocks, 8,192 tokens in "
        "1 GiB\n"
        "  a request of 4,096 tokens is 8,192 copies, 512 MiB\n" in text
    )
    # 536.87 MB at 50 GB/s; the loop at a quarter of that.
    assert re.search(
        r"out of the GPU +auto +10.7 ms +50.00 +91 % +42.9 ms +4.00\n", text
    ), text
    assert re.search(r"into the GPU +auto +10.7 ms +50.00 +90 % +42.9 ms +4.00\n", text)
    assert "of them" not in text and "sliding" not in text


def test_what_is_said_of_a_part_and_of_windows() -> None:
    found = blocks("gpt-oss-120b", tokens=4096, tensor_parallel=2)
    text = "\n".join(model_speed.lines(rows_of(found, 1000, loop=False)))
    assert "gpt-oss-120b, bf16, on each of 2 GPUs" in text
    assert "measured on 1,000 of them; times are scaled to all" in text
    assert "the window alone moves 4,770 copies" in text
    assert re.search(r"out of the GPU +auto +3.02 ms +50.00 +91 % +- +-\n", text), text


def test_blocks_of_a_model_need_no_gpu() -> None:
    text = "\n".join(
        model_speed.block_lines(blocks("qwen3-30b-a3b", tensor_parallel=8))
    )
    assert "48 layers, 4 KV heads of 128, 1 of them here: a token takes 24 KiB" in text
    latent = "\n".join(
        model_speed.block_lines(blocks("deepseek-v3", tensor_parallel=8))
    )
    assert (
        "61 layers, latent attention of 576 numbers: a token takes 68.62 KiB" in latent
    )


def test_a_saved_run_of_a_model_that_is_not_known_here() -> None:
    rows = rows_of(blocks("qwen3-8b"), 100)
    text = "\n".join(model_speed.lines([{**row, "model": "newer"} for row in rows]))
    assert "newer, bf16" in text and "KV heads" not in text


def test_milliseconds() -> None:
    assert [model_speed.milliseconds_text(each) for each in (0.1234, 1.234, 12.34)] == [
        "0.123 ms",
        "1.23 ms",
        "12.3 ms",
    ]
    assert model_speed.milliseconds_text(123.4) == "123 ms"
    assert model_speed.milliseconds_text(1234) == "1.23 s"


def test_list_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--list-models"]) == 0
    text = capsys.readouterr().out
    assert re.search(
        r"llama-3-8b +32 +8 x 128 +128 KiB +64 KiB +- +meta-llama/Meta-Llama-3-8B", text
    )
    assert re.search(r"gpt-oss-20b +24 .*128 in 12 layers +openai/gpt-oss-20b", text)
    assert re.search(r"deepseek-v3 +61 +latent, 576 +68.62 KiB +18 KiB", text)


def test_a_saved_run_of_a_model(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = blocks("qwen3-8b")
    path = tmp_path / "model.json"
    document = bench_results.document("model", rows_of(found, found.request_copies))
    path.write_text(json.dumps(document), encoding="utf-8")
    assert bench.main(["--from", str(path)]) == 0
    assert "36 x 64 KiB" in capsys.readouterr().out
