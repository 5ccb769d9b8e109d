"""What the tests of signals run, each in a process of its own."""

from __future__ import annotations

import builtins
import faulthandler
import logging
import os
import signal
import sys
import tempfile
import threading
from typing import Any

import kvswap
from kvswap.testing.cuda_driver import CudaDriver
from kvswap_sim import Simulator
from tests.faults.thread_bodies import Offload


def _driver() -> tuple[CudaDriver, Simulator]:
    path = os.environ["SLOW_DRIVER_OF"]
    return CudaDriver(path), Simulator(path=path)


def raise_in_handler(kind: str, logs: bool) -> Any:
    """The driver sends a signal in two calls, whose handler raises.

    Args:
        kind: the exception's name.
        logs: whether what the library logs is handled by Python code.
    """
    driver, simulator = _driver()
    unraisable: list[Any] = []
    sys.unraisablehook = unraisable.append
    if logs:
        logging.getLogger("kvswap").setLevel(logging.INFO)
        logging.getLogger("kvswap").addHandler(logging.StreamHandler(sys.stderr))
        kvswap.driver_info()  # waits for a call that hands it over

    def handle(number: int, frame: object) -> None:
        raise getattr(builtins, kind)

    signal.signal(int(os.environ["SLOW_DRIVER_SIGNAL"]), handle)
    raised = []
    with driver.primary_context():
        offload = Offload(driver, 1)
        offload.reset()
        # Modules are loaded by the first, the bridge is opened by the second.
        for step, engine in ((offload.into, "kernel"), (offload.out_of, "bridge")):
            try:
                step(0, engine)
            except BaseException as error:
                raised.append(type(error).__name__)
        driver.synchronize()
        is_back = offload.is_back()
        offload.reset()
        offload.into(0, "bridge")
        offload.out_of(0, "kernel")
        driver.synchronize()
        return {
            "raised": raised,
            "is_back": is_back,
            "later": offload.is_back(),
            "unraisable": len(unraisable),
            "violations": simulator.violations(),
        }


def dump_inside() -> Any:
    """A signal of the driver's, in a call, lets faulthandler write where the thread is."""
    driver, _ = _driver()
    with tempfile.TemporaryFile() as file:
        faulthandler.register(int(os.environ["SLOW_DRIVER_SIGNAL"]), file=file)
        with driver.primary_context():
            offload = Offload(driver, 1)
            offload.reset()
            offload.into(0, "kernel")
            offload.out_of(0, "bridge")
            driver.synchronize()
            is_back = offload.is_back()
        file.seek(0)
        return {"dump": file.read().decode(), "is_back": is_back}


def dump_beside(threads: int) -> Any:
    """faulthandler writes where all threads are, again and again, while they swap."""
    driver, _ = _driver()
    wrong: list[int] = []
    with tempfile.TemporaryFile() as file, driver.primary_context() as context:
        offloads = [Offload(driver, number) for number in range(threads)]
        stop = threading.Event()

        def work(number: int) -> None:
            offload = offloads[number]
            with context.current():
                while not stop.is_set():
                    offload.reset()
                    offload.into(2, "auto")
                    offload.out_of(2, "kernel")
                    driver.synchronize_stream(2)
                    if not offload.is_back():
                        wrong.append(number)

        running = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
        for thread in running:
            thread.start()
        for _ in range(50):
            faulthandler.dump_traceback(file=file)
        stop.set()
        for thread in running:
            thread.join()
        file.seek(0)
        dumps = file.read().count(b"in work")
    return {"wrong": len(wrong), "dumps": dumps}
