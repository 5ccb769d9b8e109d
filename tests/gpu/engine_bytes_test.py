"""Every engine copies every size at every alignment, and not a byte more."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

import pytest
from block_layout import Block, Layout
from gpu_support import (
    SMALL,
    assert_ran,
    bulk_policy,
    copies_by_engine,
    options_of,
    plain_policy,
    stream_of_kind,
)

KIB, MIB = 1 << 10, 1 << 20
DIRECTIONS = ("h2d", "d2h", "d2d")
SHIFTS = tuple(range(17))
TINY = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128)
SMALL_SIZES = (255, 256, 257, 511, 512, 513, 1000, 1024, 2047, 2048, 2049)
MIDDLE = (4 * KIB - 1, 4 * KIB, 4 * KIB + 16, 10_007, 32 * KIB, 64 * KIB + 1, 100_000)
LARGE = (MIB - 1, MIB, MIB + 17, 3 * MIB + 5, 16 * MIB + 8)
HUGE = (64 * MIB - 3, 64 * MIB)
WAYS = ("auto", "kernel", "plain", "bulk", "batch", "loop")


def at_shifts(sizes: Iterable[int], shifts: Iterable[tuple[int, int]]) -> list[Block]:
    """Each size at each pair of shifts."""
    return [Block(size, *pair) for size, pair in itertools.product(sizes, list(shifts))]


def all_shifts() -> list[tuple[int, int]]:
    """All pairs of shifts; under compute-sanitizer some."""
    pairs = list(itertools.product(SHIFTS, SHIFTS))
    return random.Random(1).sample(pairs, 20) if SMALL else pairs


def some_shifts(count: int, seed: int) -> list[tuple[int, int]]:
    """Pairs of shifts, equal ones among them: those can go by whole words."""
    shuffler = random.Random(seed)
    drawn = [(shuffler.choice(SHIFTS), shuffler.choice(SHIFTS)) for _ in range(count)]
    return [(0, 0), (8, 8), (3, 3), *drawn]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_tiny_sizes_at_all_shifts_in_one_call(direction: str, way: str) -> None:
    sizes = list(TINY[::5] if SMALL else TINY)
    if way == "loop":
        sizes = sizes[::4]
    layout = Layout(at_shifts(sizes, all_shifts()), direction)
    with stream_of_kind("created") as stream:
        result = layout.copy(stream=stream, **options_of(way))
    layout.check()
    assert_ran(result, way, len(layout.blocks))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_mixed_sizes_and_alignments_in_one_call(direction: str, way: str) -> None:
    blocks = [
        *at_shifts(SMALL_SIZES, some_shifts(12, seed=1)),
        *at_shifts(MIDDLE, some_shifts(5, seed=2)),
        *([] if SMALL else at_shifts(LARGE, some_shifts(1, seed=3))),
    ]
    layout = Layout(blocks, direction)
    with stream_of_kind("created") as stream:
        result = layout.copy(stream=stream, **options_of(way))
    layout.check()
    assert_ran(result, way, len(blocks))


@pytest.mark.parametrize("size", [1, 3, 16, 24, 100, 1000, 4 * KIB, 4 * KIB + 1])
@pytest.mark.parametrize("way", ["plain", "bulk"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_blocks_of_one_size(direction: str, way: str, size: int) -> None:
    """They are launched without a size for each."""
    layout = Layout(at_shifts([size], all_shifts()), direction)
    with stream_of_kind("created") as stream:
        result = layout.copy(stream=stream, **options_of(way))
    layout.check()
    assert_ran(result, way, len(layout.blocks))


@pytest.mark.skipif(SMALL, reason="takes long under compute-sanitizer")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_huge_blocks(direction: str, way: str) -> None:
    layout = Layout([Block(HUGE[0], 5, 11), Block(HUGE[1]), Block(7, 1, 2)], direction)
    with stream_of_kind("created") as stream:
        result = layout.copy(stream=stream, **options_of(way))
    layout.check()
    assert_ran(result, way, 3)


@pytest.mark.parametrize("shape", [(1, 32), (1, 1024), (4, 64), (16, 1024), (528, 256)])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_shapes_of_the_plain_kernel(direction: str, shape: tuple[int, int]) -> None:
    blocks = [
        *at_shifts(TINY[::3], some_shifts(6, seed=4)),
        *at_shifts(MIDDLE, some_shifts(2, seed=5)),
    ]
    layout = Layout(blocks, direction)
    with stream_of_kind("created") as stream:
        result = layout.copy(
            stream=stream, engine="kernel", strict=True, policy=plain_policy(*shape)
        )
    layout.check()
    assert_ran(result, "kernel", len(blocks))


@pytest.mark.parametrize(
    "shape", [(1, 2, 128), (1, 4, 8192), (2, 8, 8192), (3, 32, 1024), (16, 16, 8192)]
)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_shapes_of_the_bulk_kernel(direction: str, shape: tuple[int, int, int]) -> None:
    """With sizes and addresses that it takes, below and above a stage and a ring."""
    sizes = [16, 32, 112, 128, 144, 1024, 4096, 8176, 8192, 8208, 65_536, 131_088]
    if not SMALL:
        sizes += [MIB, 5 * MIB + 16]
    shifts = [(0, 0), (16, 0), (0, 48), (32, 16)]
    blocks = at_shifts(sizes, shifts)
    layout = Layout(blocks, direction)
    with stream_of_kind("created") as stream:
        result = layout.copy(
            stream=stream, engine="kernel", strict=True, policy=bulk_policy(*shape)
        )
    layout.check()
    assert_ran(result, "kernel", len(blocks))


@pytest.mark.parametrize("count", [1, 2, 2039, 2040, 2041, 5000])
@pytest.mark.parametrize("way", ["plain", "bulk"])
def test_more_blocks_than_fit_into_a_launch(way: str, count: int) -> None:
    layout = Layout([Block(48, 16, 0)] * count, "h2d")
    with stream_of_kind("created") as stream:
        result = layout.copy(stream=stream, **options_of(way))
    layout.check()
    assert_ran(result, way, count)


@pytest.mark.parametrize("stream_kind", ["legacy", "torch_default"])
@pytest.mark.parametrize("way", ["auto", "kernel", "bridge", "loop"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_legacy_stream(direction: str, way: str, stream_kind: str) -> None:
    blocks = [
        *at_shifts(TINY[::4], some_shifts(8, seed=6)),
        *at_shifts(MIDDLE, some_shifts(3, seed=7)),
        *at_shifts(LARGE[:2], [(0, 0), (3, 5)]),
    ]
    layout = Layout(blocks, direction)
    with stream_of_kind(stream_kind) as stream:
        result = layout.copy(stream=stream, **options_of(way))
    layout.check()
    assert_ran(result, way, len(blocks))
    assert "batch" not in copies_by_engine(result)


@pytest.mark.parametrize("way", ["auto", "kernel", "batch", "loop"])
def test_host_to_host(way: str) -> None:
    """Which engine does it is its own affair; the bytes are not."""
    layout = Layout(at_shifts(SMALL_SIZES, some_shifts(5, seed=8)), "h2h")
    with stream_of_kind("created") as stream:
        result = layout.copy(stream=stream, engine=way)
    layout.check()
    assert sum(result.copies.values()) == len(layout.blocks)


@pytest.mark.parametrize("priority", ["throughput", "compute"])
@pytest.mark.parametrize("stream_kind", ["created", "legacy", "per_thread", "blocking"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_auto_by_priority(direction: str, stream_kind: str, priority: str) -> None:
    blocks = [
        *[Block(8 * KIB)] * 200,
        *at_shifts(SMALL_SIZES, some_shifts(3, seed=9)),
        *at_shifts(LARGE[:2], [(0, 0)]),
    ]
    layout = Layout(blocks, direction)
    with stream_of_kind(stream_kind) as stream:
        result = layout.copy(stream=stream, priority=priority)
    layout.check()
    assert sum(result.copies.values()) == len(blocks)
