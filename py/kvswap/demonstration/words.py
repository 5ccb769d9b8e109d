"""Sentences that both views have."""

from __future__ import annotations

import kvswap
from kvswap.demonstration.driver import DemoDriver
from kvswap.demonstration.steps import Step, Swap, Totals


def counted(number: int, noun: str) -> str:
    """As "1 block" and "1,200 blocks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def driver_version() -> str:
    """Of the driver that this process uses, as "13.0"."""
    version = kvswap.driver_info().driver_version
    return f"{version // 1000}.{version % 1000 // 10}"


def describe_driver(driver: DemoDriver, device: int, reproducible: bool) -> list[str]:
    """Lines that say which driver and GPU these are.

    Args:
        driver: the driver.
        device: ordinal of the GPU.
        reproducible: leave out what differs between machines.
    """
    kind = "SIMULATED driver" if driver.simulated else "driver"
    path = "" if reproducible else f": {kvswap.driver_info().path}"
    lines = [f"{kind} for CUDA {driver_version()}{path}"]
    lines.append(f"GPU {device}: {driver.client.device_name(device)}")
    if driver.simulated and not reproducible:
        lines.append(f"Simulated, because {driver.reason}.")
    if driver.simulated:
        lines.append("The times below are the simulation's, not a GPU's.")
    return lines


def describe_swap(swap: Swap, step: Step) -> str:
    """What one call submitted, and how."""
    result = swap.result
    text = (
        f"{step.kind.value}: engine {result.engine}, "
        f"{counted(result.submitted, 'block')}, "
        f"{counted(result.submitted_bytes, 'byte')}"
    )
    refused = ", ".join(
        f"{engine} ({reason})" for engine, reason in result.unavailable.items()
    )
    return f"{text}; did not run: {refused}" if refused else text


def describe_speed(swap: Swap, simulated: bool) -> str:
    """How fast it was. A rate of the simulation would be read as a GPU's."""
    text = f"{swap.seconds * 1e3:.3f} ms"
    if simulated:
        return f"{text} (the simulation's time, not a GPU's)"
    return f"{text}, {swap.result.submitted_bytes / swap.seconds / 1e9:.1f} GB/s"


def describe_totals(totals: Totals) -> str:
    """The counters."""
    return (
        f"{counted(totals.blocks_out, 'block')} out, {totals.blocks_in:,} in, "
        f"{counted(totals.bytes_moved, 'byte')} moved, "
        f"{counted(totals.verified, 'block')} verified"
    )


def describe_end(totals: Totals) -> str:
    """The last line of a story without a mistake."""
    return f"Every byte of {counted(totals.verified, 'block')} came back as it was."
