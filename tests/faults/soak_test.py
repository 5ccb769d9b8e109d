"""A short soak on the simulated driver, and that it finds what is wrong."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import kvswap_sim
from tests import child_process

# A soak of its own length: SOAK_SECONDS.
_SECONDS = float(os.environ.get("SOAK_SECONDS", "12"))


def test_a_short_soak(tmp_path: pathlib.Path) -> None:
    """The program, as it is documented."""
    report = tmp_path / "soak.json"
    program = subprocess.run(
        [sys.executable, "-m", "kvswap.testing.soak", "--device", "simulated"]
        + ["--seconds", str(_SECONDS), "--seed", "3", "--json", str(report)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        capture_output=True,
        text=True,
        timeout=_SECONDS * 2 + 60,
        check=False,
    )
    assert program.returncode == 0, program.stdout + program.stderr
    print(program.stdout)
    numbers = json.loads(report.read_text(encoding="utf-8"))
    assert numbers["problems"] == []
    for name in ("copies", "blocks_checked", "launches", "faults", "errors"):
        assert numbers[name] > 0, name
    assert {"kernel", "batch", "loop"} <= numbers["copies_by_engine"].keys()


def soak_with_a_flaw(flaw: str) -> dict[str, Any]:
    """A soak of a device that has a flaw."""
    import kvswap
    from kvswap.testing import soak
    from kvswap.testing.soak_devices import SimulatedDevice

    device = SimulatedDevice(1)
    if flaw == "leak":
        synchronize, kept = device.synchronize, []

        def leak() -> None:
            synchronize()
            kept.append(device.stream())

        device.synchronize = leak  # type: ignore[method-assign]
    if flaw == "lost bytes":
        swap = kvswap.swap_blocks_batch

        def lose(sources: Any, destinations: Any, sizes: Any, **options: Any) -> Any:
            result = swap(sources, destinations, sizes, **options)
            # The last copy's first byte is another one.
            swap(sources[:1], destinations[-1:], sizes[-1:].clip(max=1), **options)
            return result

        kvswap.swap_blocks_batch = lose  # type: ignore[assignment]
    if flaw == "unasked error":
        device.can_fail = False
        device._simulator.fail("cuPointerGetAttributes", 2, every=True)
    return soak.run(device, seconds=1)


def test_a_soak_finds_flaws() -> None:
    """Its own control: what it is there to find, it finds."""
    for flaw, text in (
        ("leak", "objects grew"),
        ("lost bytes", "is wrong"),
        ("unasked error", "unexpected"),
    ):
        numbers = child_process.run(
            "tests.faults.soak_test",
            "soak_with_a_flaw",
            flaw,
            environment=kvswap_sim.environment("13.0"),
        )
        assert any(text in problem for problem in numbers["problems"]), (flaw, numbers)
