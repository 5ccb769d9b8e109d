"""Which driver the demo runs on: the machine's, or the simulated one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass

from kvswap import install_words
from kvswap.testing.cuda_driver import CudaDriver, CudaError

_DESCRIBE_DRIVER = """
import json, kvswap
info = kvswap.driver_info()
print(json.dumps([info.usable, info.path, info.message]))
"""


class NoDriverError(Exception):
    """There is neither a GPU nor a simulated driver; what to do is in the message."""


def _no_driver(reason: str, error: Exception) -> str:
    return f"""\
kvswap demo: there is no simulated driver, and the demo needs one here.
  needed because:  {reason}
  missing because: {error}
  to do:           {install_words.simulated_driver()}
                   kvswap doctor   says what is the matter with a GPU that is there"""


@dataclass(frozen=True)
class DemoDriver:
    """The driver that kvswap uses in this process.

    Attributes:
        client: makes contexts, memory and streams on it.
        simulated: whether it is the simulated one.
        reason: why it is simulated; empty for a real one.
    """

    client: CudaDriver
    simulated: bool
    reason: str


def _find_driver() -> tuple[str, str]:
    """The driver that kvswap finds, and why it is of no use if it is not.

    It is looked for in another process: each process looks once, and this one may have
    to be told to take the simulated driver.
    """
    child = subprocess.run(
        [sys.executable, "-c", _DESCRIBE_DRIVER],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C is this process's to answer, not the child's as well.
        start_new_session=True,
        check=True,
    )
    usable, path, message = json.loads(child.stdout)
    # Its first sentence; what follows is advice, and what was tried.
    return path, "" if usable else message.partition(". ")[0]


def _has_simulator_controls(client: CudaDriver) -> bool:
    return hasattr(client.library, "cuda_sim_control_version")


def _machine_driver(device: int) -> DemoDriver | str:
    """The driver that kvswap finds by itself, or why no GPU can be used through it."""
    path, problem = _find_driver()
    if problem:
        return problem
    try:
        client = CudaDriver(path)
        count = client.device_count()
    except CudaError as error:
        return f"the driver {path} answers {error}"
    if device >= count:
        return f"there is no GPU {device}: the driver has {count}"
    if _has_simulator_controls(client):
        return DemoDriver(client, True, "KVSWAP_LIBCUDA names it")
    return DemoDriver(client, False, "")


def choose_driver(device: int, simulate: bool, simulated_version: str) -> DemoDriver:
    """Settles the driver of this process, before kvswap looks for one.

    Args:
        device: ordinal of the GPU that is wanted.
        simulate: takes the simulated driver even if there is a GPU.
        simulated_version: as what driver the simulated one is to pose.

    Raises:
        NoDriverError: a simulated driver is needed and is not installed.
        ValueError: there is no simulated driver of that version.
    """
    reason = "--simulate asks for it"
    if not simulate:
        found = _machine_driver(device)
        if isinstance(found, DemoDriver):
            return found
        reason = found
    try:
        import kvswap_sim

        environment = kvswap_sim.environment(simulated_version, devices=device + 1)
    except (ImportError, FileNotFoundError) as error:
        raise NoDriverError(_no_driver(reason, error)) from error
    os.environ.update(environment)
    return DemoDriver(CudaDriver(environment["KVSWAP_LIBCUDA"]), True, reason)
