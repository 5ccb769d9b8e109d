"""``python -m kvswap demo`` on a terminal: pictures, or plain lines where it must."""

from __future__ import annotations

import re

import pytest

from tests.python.pseudo_terminal import KvswapOnTerminal

FAST = ("demo", "--speed=8", "--block_bytes=1001")


def assert_restored(terminal: KvswapOnTerminal) -> None:
    """The screen of its own is left, and the cursor seen again."""
    output = terminal.output
    assert output.count("\x1b[?1049h") == output.count("\x1b[?1049l") == 1
    assert output.rindex("\x1b[?25h") > output.rindex("\x1b[?25l")


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
def test_pictures(size: tuple[int, int]) -> None:
    terminal = KvswapOnTerminal(FAST, size=size)
    assert terminal.wait() == 0
    assert_restored(terminal)
    frames = terminal.frames()
    assert len(frames) > 22
    for frame in frames[2:]:
        lines = frame.split("\n")
        assert len(lines) <= size[1]
        assert max(map(len, lines)) <= size[0]
        assert "SIMULATED driver for CUDA 13.0" in frame
        assert "GPU, 48 blocks" in frame
        assert "pinned host memory, 96 blocks" in frame
    story = "".join(frames)
    # Blocks leave one side for the other, in both directions. On a slow machine the
    # first picture of a step and the last are seen alone: demo_picture_test has more.
    for text in ("A→", "→A", "A←", "←A", "✓", "moving out", "moving in"):
        assert text in story, text
    assert "The end: every byte of what is left" in frames[-1]
    assert "(the simulation's time, not a GPU's)" in frames[-1]
    assert "GB/s" not in story
    # The last picture and the outcome stay.
    assert "pinned host memory, 96 blocks" in terminal.after()
    assert re.search(r"Every byte of \d+ blocks came back as it was", terminal.after())


def test_requests_are_told_apart_without_colour() -> None:
    terminal = KvswapOnTerminal(FAST, environment={"NO_COLOR": "1"})
    assert terminal.wait() == 0
    assert not re.search(r"\x1b\[[0-9;]*(38|48);", terminal.output)
    grids = [frame[: frame.index("in use")] for frame in terminal.frames()[2:]]
    assert any({"A", "B", "C"} <= set(re.findall(r"▐([A-Z])▌", one)) for one in grids)


def test_ctrl_c() -> None:
    terminal = KvswapOnTerminal(("demo",))
    terminal.read_until("B comes")
    terminal.type("\x03")
    assert terminal.wait() == 130
    assert_restored(terminal)
    assert terminal.after().strip() == "interrupted"


def test_other_sizes_while_it_runs() -> None:
    terminal = KvswapOnTerminal(("demo", "--speed=3"))
    terminal.read_until("A comes")
    terminal.resize(40, 10)
    terminal.read_until("The terminal is too small")
    terminal.resize(200, 60)
    assert terminal.wait() == 0
    assert_restored(terminal)
    assert "pinned host memory, 96 blocks" in terminal.frames()[-1]


def test_many_blocks() -> None:
    """Where cells with a gap between them do not fit, narrower ones do."""
    terminal = KvswapOnTerminal((*FAST, "--blocks=256", "--steps=6"), size=(120, 30))
    assert terminal.wait() == 0
    assert "GPU, 256 blocks" in terminal.frames()[-1]


def test_wrong_byte() -> None:
    terminal = KvswapOnTerminal(FAST, spoilt_call=0)
    assert terminal.wait() == 1
    assert_restored(terminal)
    assert "WRONG BYTES in block 5 of request A" in terminal.after()
    assert "Every byte of" not in terminal.after()


@pytest.mark.parametrize(
    ("arguments", "missing", "environment", "advice"),
    [
        ((), ("torch", "rich"), {}, True),
        ((), ("torch",), {"TERM": "dumb"}, False),
        ((), ("torch",), {"PYTHONIOENCODING": "latin-1"}, False),
        (("--plain",), ("torch",), {}, False),
        (("--once",), ("torch",), {}, False),
    ],
)
def test_plain_lines(
    arguments: tuple[str, ...],
    missing: tuple[str, ...],
    environment: dict[str, str],
    advice: bool,
) -> None:
    terminal = KvswapOnTerminal(
        ("demo", *arguments), missing=missing, environment=environment
    )
    assert terminal.wait() == 0
    assert "\x1b" not in terminal.output
    assert re.search(r"Every byte of \d+ blocks came back as it was", terminal.output)
    assert ("pip install 'kvswap[terminal]'" in terminal.output) is advice
