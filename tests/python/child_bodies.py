"""Bodies of tests that need a process of their own, run by tests.child_process.

At the top they import the standard library only: what kvswap's import does is what
some of them are about.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from typing import Any


class Blocked(MetaPathFinder):
    """Makes packages look as if they were not installed."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = packages

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Refuses the packages, and leaves all others to the next finder."""
        if fullname.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def swap_without(packages: Sequence[str], import_too: Sequence[str]) -> dict[str, Any]:
    """A round of copies where `packages` cannot be imported.

    Args:
        packages: those that are missing.
        import_too: those that the program has imported itself.
    """
    sys.meta_path.insert(0, Blocked(packages))
    missing = []
    for package in packages:
        try:
            __import__(package)
        except ModuleNotFoundError:
            missing.append(package)
    for package in import_too:
        __import__(package)

    import kvswap
    from kvswap.testing.cuda_driver import CudaDriver
    from tests.python.descriptors import make_blocks

    driver = CudaDriver()
    with driver.primary_context(), make_blocks(driver) as blocks:
        arguments = blocks.swap_in_arguments()
        plan = kvswap.plan(**arguments)
        result = kvswap.swap_blocks_batch(**arguments)
        errors = []
        for name in arguments:
            try:
                kvswap.swap_blocks_batch(**(arguments | {name: [1, 2]}))
            except TypeError as error:
                errors.append(str(error))
        arrived = blocks.arrived()
    return {
        "missing": missing,
        "arrived": arrived,
        "engine": [plan.engine, result.engine],
        "errors": errors,
        "loaded": sorted({"numpy", "torch"} & set(sys.modules)),
    }


def driver_libraries_after(*calls: str) -> list[bool]:
    """Whether a driver library is mapped: after the import, and after each call."""

    def is_mapped() -> bool:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            return "libcuda" in maps.read()

    import kvswap

    mapped = [is_mapped()]
    for name in calls:
        getattr(kvswap, name)()
        mapped.append(is_mapped())
    return mapped


def stop_in_driver(function: str, pipe: str) -> dict[str, Any]:
    """Runs another Python thread while a call of kvswap's cannot go on.

    The driver writes its trace to a named pipe that is full, so a call that reaches
    the driver stops until somebody reads. The other thread reads, which takes the GIL:
    if the stopped call held it, both would wait for ever.
    """
    import kvswap
    from kvswap.testing.cuda_driver import CudaDriver
    from tests.python.descriptors import make_blocks

    os.mkfifo(pipe)
    # For reading and writing, so that neither this nor the driver's open waits.
    descriptor = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    main_thread_calls = threading.Event()
    done = threading.Event()
    read_in_call = 0

    def drain() -> int:
        count = 0
        while True:
            try:
                count += len(os.read(descriptor, 1 << 16))
            except BlockingIOError:
                return count

    def read_while_it_waits() -> None:
        nonlocal read_in_call
        main_thread_calls.wait()
        while not done.is_set():
            read_in_call += drain()
            done.wait(0.001)

    driver = CudaDriver()
    with driver.primary_context(), make_blocks(driver) as blocks:
        arguments = blocks.swap_in_arguments()
        # Looks the driver's functions up, so that the call below is like any other.
        kvswap.driver_info()
        drain()
        reader = threading.Thread(target=read_while_it_waits, daemon=True)
        reader.start()
        filled = 0
        while True:
            try:
                filled += os.write(descriptor, b" " * 4096)
            except BlockingIOError:
                break
        # From here on only a thread that gives the GIL up lets another run.
        sys.setswitchinterval(3600)
        main_thread_calls.set()
        getattr(kvswap, function)(**arguments, stream=2)
        sys.setswitchinterval(0.005)
        done.set()
        reader.join()
        drain()
        arrived = blocks.arrived()
        drain()
    return {"filled": filled, "read_in_call": read_in_call, "arrived": arrived}


def run_program(
    arguments: Sequence[str], missing: Sequence[str], spoilt_call: int | None = None
) -> dict[str, Any]:
    """Runs ``python -m kvswap`` in this process.

    Args:
        arguments: of the command line.
        missing: packages that cannot be imported.
        spoilt_call: number of the swap, from 0, after which byte 1000 of its sixth
            block is wrong; None: none.

    Returns:
        Its status, and what it printed.
    """
    import contextlib
    import io
    import runpy

    sys.meta_path.insert(0, Blocked(missing))
    if spoilt_call is not None:
        spoil(spoilt_call)
    sys.argv = ["kvswap", *arguments]
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            runpy.run_module("kvswap", run_name="__main__", alter_sys=True)
            status: Any = 0
        except SystemExit as end:
            status = end.code
    return {"status": status, "output": output.getvalue(), "errors": errors.getvalue()}


def spoil(number: int) -> None:
    """After a swap of that number, from 0, byte 1000 of the sixth block is another."""
    import kvswap
    import kvswap_sim

    calls = 0

    def spoilt(swap: Any, source: Any, target: Any, pairs: Any, **options: Any) -> Any:
        nonlocal calls
        ticket = swap(source, target, pairs, **options)
        if calls == number:
            ticket.wait()
            region = target.regions[0]
            address = region.address + int(pairs[5][1]) * region.stride + 1000
            simulator = kvswap_sim.Simulator()
            byte = simulator.peek(address, 1)[0]
            simulator.poke(address, bytes([byte ^ 0xFF]))
        calls += 1
        return ticket

    kvswap.swap_out = functools.partial(spoilt, kvswap.swap_out)
    kvswap.swap_in = functools.partial(spoilt, kvswap.swap_in)


def swap_on_each_stream() -> dict[str, Any]:
    """What the driver is said to be, and a round of copies on each kind of stream."""
    import kvswap
    import kvswap_sim
    from kvswap.testing.cuda_driver import CudaDriver
    from tests.python.descriptors import make_blocks

    driver = CudaDriver()
    info = kvswap.driver_info()
    outcome: dict[str, Any] = {
        "usable": info.usable,
        "driver_version": info.driver_version,
        "batch_available": info.batch_available,
        "missing": [entry.name for entry in info.entries if not entry.present],
    }
    with driver.primary_context(), driver.stream() as created:
        for name, stream in (("legacy", 1), ("per_thread", 2), ("created", created)):
            with make_blocks(driver) as blocks:
                arguments: dict[str, Any] = blocks.swap_in_arguments()
                arguments |= {"stream": stream, "engine": "batch"}
                plan = kvswap.plan(**arguments)
                result = kvswap.swap_blocks_batch(**arguments)
                outcome[name] = {
                    "engine": [plan.engine, result.engine],
                    "unavailable": [plan.unavailable, result.unavailable],
                    "copies": result.copies,
                    "arrived": blocks.arrived(),
                }
    outcome["violations"] = kvswap_sim.Simulator().violations()
    return outcome


def error_without_driver() -> dict[str, Any]:
    """What calls come to where no driver is usable."""
    import array

    import kvswap

    content = array.array("q", range(4))
    address, _ = content.buffer_info()
    pointers = array.array("q", [address, address + 8])
    info = kvswap.driver_info()
    outcome: dict[str, Any] = {
        "usable": info.usable,
        "path": info.path,
        "message": info.message,
        "tried": list(info.tried),
    }
    try:
        kvswap.swap_blocks_batch(pointers, pointers, array.array("q", [8, 8]))
    except kvswap.SwapError as error:
        outcome |= {"status": error.status, "error": str(error)}
    try:
        kvswap.swap_blocks_batch(pointers, pointers, array.array("q", [8, -1]))
    except ValueError as error:
        outcome["negative"] = str(error)
    nothing = array.array("q", [0, 0])
    outcome["dropped"] = kvswap.swap_blocks_batch(pointers, pointers, nothing).dropped
    return outcome


def error_of_strict_engine(engine: str) -> str:
    """What is said of an engine that is asked for strictly and cannot run."""
    import kvswap
    from kvswap.testing.cuda_driver import CudaDriver
    from tests.python.descriptors import make_blocks

    driver = CudaDriver()
    with driver.primary_context(), make_blocks(driver) as blocks:
        try:
            kvswap.swap_blocks_batch(
                **blocks.swap_in_arguments(), stream=2, engine=engine, strict=True
            )
        except kvswap.UnsupportedError as error:
            return str(error)
    return "it ran"
