"""What the tests of processes run: each a program of its own."""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from typing import Any

import kvswap
from kvswap import in_flight
from kvswap.testing.cuda_driver import CudaDriver
from kvswap_sim import Simulator
from tests.faults.thread_bodies import Offload

_kept: list[kvswap.Ticket] = []
# After which a child that hangs is ended, by a signal that tells so.
_SECONDS = 20


def _swap(driver: CudaDriver, stream: Any = 0) -> bool:
    with driver.primary_context():
        offload = Offload(driver, 1)
        offload.reset()
        offload.into(stream, "auto")
        offload.out_of(stream, "auto")
        driver.synchronize()
        return offload.is_back()


def swap_as_target() -> bool:
    """A round in a process that multiprocessing started."""
    return _swap(CudaDriver())


def _in_fork(body: Any) -> Any:
    """What the body returns or raises in a forked child; None if it hangs or dies."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(_SECONDS)
        try:
            text = str(body())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    return text if status == 0 else f"ended by signal {os.WTERMSIG(status)}"


def fork_before_first_use() -> Any:
    """A child of a process that has imported kvswap, and no more."""
    return {
        "child": _in_fork(lambda: _swap(CudaDriver())),
        "parent": _swap(CudaDriver()),
    }


def fork_after_look() -> Any:
    """A child of a process that has looked at the driver, which is not initialised."""
    kvswap.driver_info()
    return fork_before_first_use()


def fork_after_first_use() -> Any:
    """A child of a process that has copied; the process goes on."""
    driver = CudaDriver()
    with driver.primary_context():
        offload = Offload(driver, 2)
        offload.reset()
        offload.into(0, "auto")
        child = _in_fork(lambda: offload.into(0, "auto"))
        other_engine = _in_fork(lambda: offload.out_of(2, "kernel"))
        offload.out_of(0, "auto")
        driver.synchronize()
        return {
            "child": child,
            "other_engine": other_engine,
            "parent": offload.is_back(),
        }


def _in_fork_to_its_end(body: Any) -> dict[str, Any]:
    """What the body returns in a forked child that then ends as programs do: exit handlers
    run, and what is left is let go of. With what it said on standard error."""
    with tempfile.TemporaryFile() as outcome, tempfile.TemporaryFile() as error:
        pid = os.fork()
        if pid == 0:
            signal.alarm(_SECONDS)
            os.dup2(error.fileno(), 2)
            outcome.write(json.dumps(body()).encode())
            outcome.flush()
            sys.exit(0)
        _, status = os.waitpid(pid, 0)
        outcome.seek(0)
        error.seek(0)
        text = outcome.read().decode()
        return {
            "status": status,
            "error": error.read().decode(),
            "outcome": json.loads(text) if text else None,
        }


def _name_of(call: Any) -> str:
    """What a call comes to: its value, or the name of its error and the CUresult."""
    try:
        return repr(call())
    except kvswap.SwapError as error:
        return f"SwapError {error.cuda_error}"


def fork_with_pools_alive(lets_go: bool) -> Any:
    """A child of a process with pools, pinned pools and tickets of copies under way.

    Args:
        lets_go: whether the child lets go of all of them by itself, ahead of its end.
    """
    driver, simulator = CudaDriver(), Simulator()
    # No `with`: the child does not give back what is the parent's.
    context = driver.retain_primary(0)
    driver.call("cuCtxPushCurrent_v2", ctypes.c_void_p(context.handle))
    device = driver.device_memory(1 << 16)
    gpu = kvswap.BlockPool.from_regions([(device.address, 4096, 4096)], 16, device=0)
    host = kvswap.pinned_pool(gpu, 16, max_chunk_bytes=4 * 4096)
    content = bytes(range(256)) * 256
    simulator.poke(device.address, content)
    simulator.hold()
    pairs = [(n, 15 - n) for n in range(16)]
    tickets = [kvswap.swap_out(gpu, host, pairs, stream=2)]
    address = host.regions[0].address
    # All references to them: a child that lets go of these lets go of all.
    pools = [gpu, host]
    del gpu, host
    before = simulator.live()

    def child() -> Any:
        seen = {
            "done": _name_of(tickets[0].done),
            "wait": _name_of(tickets[0].wait),
            "wait_stream": _name_of(lambda: tickets[0].wait_stream(2)),
            "copy": _name_of(
                lambda: kvswap.swap_in(pools[1], pools[0], pairs, stream=2)
            ),
            "pinned_pool": _name_of(lambda: kvswap.pinned_pool(pools[0], 1)),
            "invalidate": _name_of(pools[1].invalidate),
        }
        if lets_go:
            tickets.clear()
            pools.clear()
            in_flight._calls.clear()
            gc.collect()
        return seen

    seen = _in_fork_to_its_end(child)
    live = simulator.live()
    tickets[0].wait()
    size = len(content)
    blocks = [content[n : n + 4096] for n in range(0, size, 4096)]
    is_right = ctypes.string_at(address, size) == b"".join(reversed(blocks))
    return {
        "child": seen,
        "is_alive": live == before,
        "registrations": live["registrations"],
        "right": is_right,
        "violations": simulator.violations(),
        "later": _swap(driver),
    }


def fork_while_threads_swap(forks: int) -> Any:
    """Children of a process whose other threads are in the middle of calls."""
    driver = CudaDriver()
    stop = threading.Event()
    with driver.primary_context() as context:
        offloads = [Offload(driver, number) for number in range(4)]

        def work(number: int) -> None:
            engines = ("auto", "batch", "kernel", "bridge")
            with context.current():
                while not stop.is_set():
                    offloads[number].reset()
                    offloads[number].into(0 if number == 3 else 2, engines[number])

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        children = [_in_fork(lambda: offloads[0].into(0, "auto")) for _ in range(forks)]
        stop.set()
        for thread in threads:
            thread.join()
        driver.synchronize()
    return {"children": sorted(set(children)), "parent": _swap(driver)}


def exit_with_work_in_flight() -> None:
    """The interpreter ends while copies, tickets and pools are alive."""
    driver = CudaDriver()
    context = driver.retain_primary(0)
    driver.call("cuCtxPushCurrent_v2", ctypes.c_void_p(context.handle))
    device = driver.device_memory(1 << 16)
    gpu = kvswap.BlockPool.from_regions([(device.address, 4096, 4096)], 16, device=0)
    host = kvswap.pinned_pool(gpu, 16)
    global _kept
    _kept = [
        kvswap.swap_out(gpu, host, [(n, 15 - n)], stream=2, layers=True)
        for n in range(16)
    ]
    print("submitted", flush=True)


def exit_with_daemon_threads() -> None:
    """The interpreter ends while daemon threads are inside of calls."""
    driver = CudaDriver()
    context = driver.retain_primary(0)
    driver.call("cuCtxPushCurrent_v2", ctypes.c_void_p(context.handle))
    started = threading.Semaphore(0)

    def work(number: int) -> None:
        with context.current():
            offload = Offload(driver, number)
            offload.reset()
            started.release()
            while True:
                offload.into(2, "auto")
                offload.out_of(2, "kernel")

    for number in range(6):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    for _ in range(6):
        started.acquire()
    time.sleep(0.2)
    print("submitted", flush=True)


def exit_handler_that_swaps() -> None:
    """A swap from an exit handler, registered before kvswap was used."""
    atexit.register(lambda: print("submitted", _swap(CudaDriver()), flush=True))


def replace_the_process() -> None:
    """exec after first use: the new program begins anew."""
    if not _swap(CudaDriver()):
        raise AssertionError("wrong bytes before")
    code = (
        "from tests.faults.process_bodies import swap_as_target\n"
        "print('submitted', swap_as_target(), flush=True)"
    )
    os.execve(sys.executable, [sys.executable, "-c", code], dict(os.environ))


def swap_of_parent() -> bool:
    """A call in a process that multiprocessing forked."""
    import numpy

    sizes = numpy.array([64])
    memory = bytearray(128)
    address = numpy.frombuffer(memory, dtype=numpy.uint8).ctypes.data
    kvswap.swap_blocks_batch(
        numpy.array([address]), numpy.array([address + 64]), sizes, stream=2
    )
    return True


def start_process(method: str) -> Any:
    """A process by each of multiprocessing's methods, after first use here."""
    parent = _swap(CudaDriver())
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        target = swap_of_parent if method == "fork" else swap_as_target
        try:
            child: Any = pool.apply(target)
        except kvswap.SwapError as error:
            child = str(error)
        return {"parent": parent, "child": child}
