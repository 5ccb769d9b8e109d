"""The steps on a terminal, the blocks seen moving. Needs rich."""

from __future__ import annotations

import time
from collections.abc import Iterable

from rich.console import Console
from rich.live import Live

import kvswap
from kvswap.demonstration.cells import frame_at
from kvswap.demonstration.driver import DemoDriver
from kvswap.demonstration.picture import Caption, Picture
from kvswap.demonstration.steps import Kind, Step
from kvswap.demonstration.words import (
    describe_speed,
    describe_swap,
    describe_totals,
    driver_version,
)

_FRAMES_A_SECOND = 20

# How long a step is seen, in seconds.
_SECONDS = {
    Kind.ARRIVE: 0.5,
    Kind.APPEND: 0.3,
    Kind.SWAP_OUT: 0.9,
    Kind.SWAP_IN: 0.9,
    Kind.FINISH: 0.6,
    Kind.VERIFY: 1.6,
}


class LiveView:
    """Plays the steps on a screen of their own, which leaves the terminal as it was."""

    def __init__(
        self,
        console: Console,
        headline: str,
        simulated: bool,
        speed: float,
    ) -> None:
        """`speed`: 2 is twice as fast."""
        self._console = console
        self._headline = headline
        self._simulated = simulated
        self._speed = speed

    @classmethod
    def on_terminal(
        cls, driver: DemoDriver, device: int, speed: float
    ) -> LiveView | None:
        """The view on standard output; None if that cannot be drawn on."""
        console = Console(highlight=False)
        if not console.is_terminal or console.is_dumb_terminal:
            return None
        # The cells are no ASCII.
        if not console.encoding.lower().startswith("utf"):
            return None
        name = driver.client.device_name(device)
        kind = "SIMULATED driver" if driver.simulated else "driver"
        headline = (
            f"kvswap {kvswap.__version__} · {kind} for CUDA {driver_version()} · {name}"
        )
        return cls(console, headline, driver.simulated, speed)

    def show(self, steps: Iterable[Step]) -> Step:
        """Plays all steps, and leaves the last picture; the last step."""
        last, swap, speed = None, "No block has been swapped yet.", ""
        with Live(console=self._console, screen=True, auto_refresh=False) as live:
            for step in steps:
                last = step
                if step.swap is not None:
                    swap = describe_swap(step.swap, step)
                    speed = describe_speed(step.swap, self._simulated)
                self._play(live, step, self._caption(step, swap, speed))
        assert last is not None, "a story ends with a step that verifies"
        picture = Picture(frame_at(last, 1), self._caption(last, swap, speed))
        self._console.print(picture)
        return last

    def _caption(self, step: Step, swap: str, speed: str) -> Caption:
        return Caption(
            self._headline,
            swap,
            speed,
            describe_totals(step.totals),
            "Each copy is done before it is shown, and shown slowed down. Ctrl-C ends.",
        )

    def _play(self, live: Live, step: Step, caption: Caption) -> None:
        # By the clock: a slow terminal sees fewer frames, not a longer story.
        duration = _SECONDS[step.kind] / self._speed
        begin = time.monotonic()
        elapsed = 0.0
        while elapsed < duration:
            frame = frame_at(step, elapsed / duration)
            live.update(Picture(frame, caption, whole_screen=True), refresh=True)
            time.sleep(1 / _FRAMES_A_SECOND)
            elapsed = time.monotonic() - begin
        live.update(
            Picture(frame_at(step, 1), caption, whole_screen=True), refresh=True
        )
