"""The pictures of ``kvswap demo``, at given times and sizes."""

from __future__ import annotations

import contextlib
import io
from collections import Counter

import pytest
from rich.console import Console

from kvswap.demonstration.caches import DriverCaches
from kvswap.demonstration.cells import Cell, Frame, Look, frame_at
from kvswap.demonstration.layout import choose_layout
from kvswap.demonstration.picture import Caption, Picture
from kvswap.demonstration.scheduler import Scheduler
from kvswap.demonstration.steps import Kind, Step
from kvswap.testing.cuda_driver import CudaDriver

TIMES = [number / 20 for number in range(21)]
SWAPS = (Kind.SWAP_OUT, Kind.SWAP_IN)


@pytest.fixture
def steps(driver: CudaDriver, context: None) -> list[Step]:
    """A whole story."""
    with contextlib.ExitStack() as resources:
        caches = DriverCaches(driver, (48, 96), 64, 0, False, resources)
        return list(Scheduler(caches, list, "auto", seed=1).run(21))


def draw(frame: Frame, width: int, height: int) -> list[str]:
    """The lines of a picture."""
    console = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    caption = Caption("headline", "swap", "speed", "totals", "note")
    with console.capture() as capture:
        console.print(Picture(frame, caption, whole_screen=True))
    return capture.get().rstrip("\n").split("\n")


def test_a_story_has_every_kind_of_step(steps: list[Step]) -> None:
    assert {step.kind for step in steps} == set(Kind)


def held(cells: tuple[Cell, ...], look: Look) -> Counter[str]:
    """How many blocks of each request look so."""
    return Counter(cell.letter for cell in cells if cell.look is look)


def test_no_block_is_lost_on_its_way(steps: list[Step]) -> None:
    """Each is at its source, on its way, or at its destination."""
    for step in steps:
        if step.kind not in SWAPS:
            continue
        blocks = Counter(letter for letter in step.before.gpu if letter)
        blocks += Counter(letter for letter in step.before.host if letter)
        for time in TIMES:
            frame = frame_at(step, time)
            on_way = held(frame.gpu, Look.LEAVING) + held(frame.host, Look.LEAVING)
            arriving = held(frame.gpu, Look.ARRIVING) + held(frame.host, Look.ARRIVING)
            assert on_way == arriving
            assert sum(on_way.values()) == len(frame.flights)
            still = held(frame.gpu, Look.HELD) + held(frame.host, Look.HELD)
            assert still + on_way == blocks


def test_a_step_begins_and_ends_as_it_was(steps: list[Step]) -> None:
    for step in steps:
        end = frame_at(step, 1)
        assert tuple(cell.letter for cell in end.gpu) == step.after.gpu
        assert tuple(cell.letter for cell in end.host) == step.after.host
        # What is seen before the rest is what is seen at it, but for what is freed.
        if step.kind in (*SWAPS, Kind.ARRIVE, Kind.APPEND):
            late = frame_at(step, 0.999)
            assert [cell.letter for cell in late.gpu] == list(step.after.gpu)
            assert late.flights == ()


def test_verified_blocks_are_marked(steps: list[Step]) -> None:
    for step in steps:
        if step.kind in (Kind.FINISH, Kind.VERIFY):
            frame = frame_at(step, 0.6)
            right = held(frame.gpu, Look.RIGHT) + held(frame.host, Look.RIGHT)
            assert sum(right.values()) == len(step.gpu_blocks + step.host_blocks)


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (140, 40), (250, 70)])
def test_pictures_fit(steps: list[Step], size: tuple[int, int]) -> None:
    for step in steps:
        for time in (0.0, 0.5, 1.0):
            lines = draw(frame_at(step, time), *size)
            assert len(lines) <= size[1]
            assert max(map(len, lines)) <= size[0]
            picture = "\n".join(lines)
            for text in ("headline", "GPU, 48", "host memory, 96", "speed", "note"):
                assert text in picture


def test_blocks_fly_both_ways(steps: list[Step]) -> None:
    for kind, flying in ((Kind.SWAP_OUT, "─{}→"), (Kind.SWAP_IN, "←{}─")):
        step = next(step for step in steps if step.kind is kind)
        picture = "\n".join(draw(frame_at(step, 0.5), 80, 24))
        assert flying.format(step.letter) in picture


def test_too_small(steps: list[Step]) -> None:
    assert "too small" in "\n".join(draw(frame_at(steps[0], 1), 40, 12))


@pytest.mark.parametrize(
    ("gpu", "width", "height", "cell"),
    [
        (48, 80, 12, (3, 1)),
        (48, 140, 28, (5, 2)),
        (256, 120, 18, (2, 1)),
        (256, 80, 24, (1, 1)),
        (256, 80, 10, None),
        (1, 80, 12, (5, 2)),
    ],
)
def test_layouts(
    gpu: int, width: int, height: int, cell: tuple[int, int] | None
) -> None:
    layout = choose_layout(gpu, 2 * gpu, width, height)
    if cell is None:
        assert layout is None
        return
    assert layout is not None
    assert (layout.cell_width, layout.cell_height) == cell
    assert layout.width <= width
    assert layout.height <= height
    assert layout.rows * layout.gpu_columns >= gpu
    assert layout.rows * layout.host_columns >= 2 * gpu
