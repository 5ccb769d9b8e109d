"""Puts a report together. Each section is guarded: what fails is said, and the rest goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import kvswap
from kvswap.doctor import (
    advice,
    driver,
    entries,
    environment,
    gpus,
    limits,
    privacy,
    stages,
    torch_report,
    versions,
)
from kvswap.doctor.schema import SCHEMA, Finding, Machine, Report, Torch
from kvswap.doctor.system import System
from kvswap.terminal import Status

EXIT_STATUSES = {Status.OK: 0, Status.WARNING: 3, Status.PROBLEM: 4}
"""Apart from 1, a failure of the program itself, and 2, a wrong command line."""

_LIMIT_SECONDS = 60.0

_Section = TypeVar("_Section")
_Instead = TypeVar("_Instead")


class _Sections:
    """Makes sections, and keeps what failed."""

    def __init__(self) -> None:
        self.failures: dict[str, str] = {}

    def make(
        self, name: str, make: Callable[[], _Section], instead: _Instead
    ) -> _Section | _Instead:
        try:
            return make()
        except Exception as error:
            self.failures[name] = f"{type(error).__name__}: {error}"
            return instead


def collect(
    system: System,
    *,
    gpu: int | None = None,
    torch: bool = True,
    limit_seconds: float = _LIMIT_SECONDS,
) -> Report:
    """Looks at everything.

    Args:
        system: the machine.
        gpu: the one to look at; None: all of them.
        torch: whether to import torch, in a child process, which takes seconds.
        limit_seconds: for what the driver is asked.
    """
    sections = _Sections()
    probe, (torch_found, torch_failures) = _ask(
        system, sections, gpu, torch and torch_report.is_installed(), limit_seconds
    )
    sections.failures |= probe.failures | torch_failures
    report = _assemble(system, sections, probe.found, gpu, torch_found)
    report = sections.make("privacy", lambda: privacy.cleaner(system)(report), report)
    return conclude(report)


def _ask(
    system: System, sections: _Sections, gpu: int | None, torch: bool, limit: float
) -> tuple[stages.Outcome, tuple[Torch, dict[str, str]]]:
    """Asks the driver and torch, in two children at the same time."""
    with contextlib.ExitStack() as children:
        driver_child = sections.make(
            "start",
            lambda: children.enter_context(
                stages.Child(
                    "kvswap.doctor.driver_probe",
                    ("all" if gpu is None else str(gpu),),
                    system.environment,
                )
            ),
            None,
        )
        torch_child = (
            sections.make(
                "torch",
                lambda: children.enter_context(torch_report.child(system)),
                None,
            )
            if torch
            else None
        )
        outcome = stages.Outcome()
        if driver_child is not None:
            started = driver_child
            outcome = sections.make("start", lambda: started.outcome(limit), outcome)
        nothing: tuple[Torch, dict[str, str]] = (torch_report.NO_TORCH.copy(), {})
        return outcome, sections.make(
            "torch", lambda: torch_report.torch_report(torch_child), nothing
        )


_NO_MACHINE = Machine(
    wsl=False,
    container=False,
    nvidia_pci_devices=0,
    locked_memory_limit=None,
    memory_bytes=None,
    cgroup_limit=None,
    cgroup_used=None,
    numa_nodes=[],
    cpu_nodes=[],
    memory_nodes=[],
)


def _assemble(
    system: System,
    sections: _Sections,
    found: dict[str, Any],
    gpu: int | None,
    torch: Torch,
) -> Report:
    info = found.get("driver")
    management = found.get("management") or {}
    return Report(
        schema=SCHEMA,
        kvswap=kvswap.__version__,
        verdict=Status.OK.value,
        exit_status=0,
        versions=versions.versions(system, (info or {}).get("toolkit_version", 0)),
        machine=sections.make("machine", lambda: limits.machine(system), _NO_MACHINE),
        driver=driver.driver(system, info, found.get("initialization"), management),
        entries=entries.entries(info),
        gpu_asked_for=gpu,
        gpus=sections.make(
            "gpus",
            lambda: gpus.gpus(
                system,
                found.get("gpus") or [],
                found.get("kernels") or {},
                management,
            ),
            [],
        ),
        engines=found.get("engines"),
        environment=environment.variables(system),
        torch=torch,
        findings=[],
        failures=sections.failures,
    )


def conclude(report: Report) -> Report:
    """Fills in findings, verdict and exit status."""
    found: list[Finding] = advice.findings(report)
    severities = {finding["severity"] for finding in found}
    verdict = next(
        (
            status
            for status in (Status.PROBLEM, Status.WARNING)
            if status.value in severities
        ),
        Status.OK,
    )
    report["findings"] = found
    report["verdict"] = verdict.value
    report["exit_status"] = EXIT_STATUSES[verdict]
    return report
