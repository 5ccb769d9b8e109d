"""Tickets: when copies are done, layer by layer, and what is kept until then."""

from __future__ import annotations

import gc
import os
import pathlib
import random
import subprocess
import sys
import threading
import weakref

import pytest

import kvswap
import kvswap_sim
from kvswap import in_flight
from kvswap.testing import cuda_driver
from kvswap.testing.cuda_driver import CudaDriver, Stream
from tests.pools.model import ModelPool, expected, make_pool

_PAIRS = [(0, 3), (2, 1)]


@pytest.fixture
def pools(driver: CudaDriver, context: None) -> tuple[ModelPool, ModelPool]:
    """Host to GPU, three layers of two regions each."""
    generator = random.Random(1)
    source, destination = (
        make_pool(
            driver,
            kind,
            "tensors",
            [16, 8, 16, 8, 16, 8],
            [2, 2, 0, 0, 7, 7],
            4,
            generator,
            content=kind == "pinned",
        )
        for kind in ("pinned", "gpu")
    )
    return source, destination


@pytest.fixture
def stream(driver: CudaDriver, context: None) -> Stream:
    """A created stream."""
    return driver.stream(non_blocking=True)


def test_done_and_wait(
    simulator: kvswap_sim.Simulator,
    pools: tuple[ModelPool, ModelPool],
    stream: Stream,
) -> None:
    simulator.hold()
    ticket = kvswap.swap_in(pools[0].pool, pools[1].pool, _PAIRS, stream=stream)
    assert not ticket.done()
    assert "not known to be done" in repr(ticket)
    ticket.wait()
    assert ticket.done()
    assert repr(ticket) == "<Ticket of 12 copies, done>"
    assert pools[1].memory.read() == expected(*pools, _PAIRS, 1, 1)
    simulator.clear_trace()
    assert ticket.done()  # what is known is not asked again
    ticket.wait()
    assert simulator.trace() == []


def test_layers_arrive_in_order(
    simulator: kvswap_sim.Simulator,
    pools: tuple[ModelPool, ModelPool],
    stream: Stream,
) -> None:
    source, destination = pools
    simulator.hold()
    ticket = kvswap.swap_in(
        source.pool, destination.pool, _PAIRS, stream=stream, layers=True
    )
    final = expected(source, destination, _PAIRS, 1, 1)
    order = [0, 2, 7]
    regions = {0: (2, 3), 2: (0, 1), 7: (4, 5)}
    for position, layer in enumerate(order):
        assert not ticket.layer(layer).done()
        ticket.layer(layer).wait()
        done = [ticket.layer(other).done() for other in order]
        assert done == [index <= position for index in range(3)]
        content = simulator.peek(
            destination.memory.address, len(destination.memory.content)
        )
        for region in regions[layer]:
            span = destination.span(region, 0, 0, 1)
            span = slice(span.start, span.start + 4 * (span.stop - span.start))
            assert content[span] == final[span]
        assert ticket.done() == (position == 2)
    with pytest.raises(ValueError, match="there is no layer 1"):
        ticket.layer(1)


def test_layers_have_to_be_asked_for(
    pools: tuple[ModelPool, ModelPool], stream: Stream
) -> None:
    ticket = kvswap.swap_in(pools[0].pool, pools[1].pool, _PAIRS, stream=stream)
    with pytest.raises(ValueError, match="layers=True"):
        ticket.layer(0)


def test_a_stream_waits(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    pools: tuple[ModelPool, ModelPool],
    stream: Stream,
) -> None:
    """Without the wait, the reader would see the old bytes with some seed."""
    source, destination = pools
    other = driver.stream(non_blocking=True)
    size = len(destination.memory.content)
    seen = driver.pinned_memory(size)

    def round_of(wait: bool, seed: int) -> bool:
        simulator.seed = seed
        driver.fill_async(destination.memory.address, 0xEE, size, stream)
        stream.synchronize()
        ticket = kvswap.swap_in(
            source.pool, destination.pool, _PAIRS, stream=stream, layers=seed % 2 == 0
        )
        if wait:
            ticket.wait_stream(other)
        driver.copy_async(seen.address, destination.memory.address, size, other)
        other.synchronize()
        stream.synchronize()
        return bytes(seen.view) == expected(source, destination, _PAIRS, 1, 1)

    assert all(round_of(True, seed) for seed in range(20))
    assert not all(round_of(False, seed) for seed in range(20))


@pytest.mark.parametrize("handle", [0, 1, 2])
def test_a_special_stream_waits(
    driver: CudaDriver,
    pools: tuple[ModelPool, ModelPool],
    stream: Stream,
    handle: int,
) -> None:
    ticket = kvswap.swap_in(pools[0].pool, pools[1].pool, _PAIRS, stream=stream)
    ticket.wait_stream(handle)
    driver.synchronize_stream(handle)
    assert ticket.done()


def test_no_capture_is_disturbed(
    driver: CudaDriver, pools: tuple[ModelPool, ModelPool], stream: Stream
) -> None:
    """Not even one in global mode, by whichever thread asks."""
    ticket = kvswap.swap_in(
        pools[0].pool, pools[1].pool, _PAIRS, stream=stream, layers=True
    )
    capturing = driver.stream(non_blocking=True)
    capturing.begin_capture(cuda_driver.CAPTURE_GLOBAL)
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            with driver.retain_primary(0).current():
                ticket.layer(0).wait()
                ticket.done()
                ticket.wait()
                kvswap.swap_in(
                    pools[0].pool, pools[1].pool, _PAIRS, stream=stream
                ).wait()
        except BaseException as error:
            failures.append(error)

    ask()
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert failures == []
    assert capturing.capture_status() == cuda_driver.CAPTURE_STATUS_ACTIVE
    capturing.end_capture()
    # The control: asking an event plainly does disturb it.
    event = driver.event()
    event.record(stream)
    capturing.begin_capture(cuda_driver.CAPTURE_GLOBAL)
    with pytest.raises(cuda_driver.CudaError):
        event.query()
    assert capturing.capture_status() == cuda_driver.CAPTURE_STATUS_INVALIDATED
    event.close()
    with pytest.raises(cuda_driver.CudaError):
        capturing.end_capture()


def test_a_capturing_stream_cannot_wait(
    driver: CudaDriver, pools: tuple[ModelPool, ModelPool], stream: Stream
) -> None:
    ticket = kvswap.swap_in(pools[0].pool, pools[1].pool, _PAIRS, stream=stream)
    capturing = driver.stream(non_blocking=True)
    capturing.begin_capture()
    with pytest.raises(kvswap.SwapError, match="captures a graph") as raised:
        ticket.wait_stream(capturing)
    assert raised.value.status == "capture"
    assert capturing.capture_status() == cuda_driver.CAPTURE_STATUS_ACTIVE
    capturing.end_capture()


def test_the_legacy_stream_cannot_wait_during_a_capture(
    driver: CudaDriver, pools: tuple[ModelPool, ModelPool], stream: Stream
) -> None:
    ticket = kvswap.swap_in(pools[0].pool, pools[1].pool, _PAIRS, stream=stream)
    capturing = driver.stream()
    capturing.begin_capture()
    with pytest.raises(kvswap.SwapError) as raised:
        ticket.wait_stream(0)
    assert raised.value.status == "capture"
    assert capturing.capture_status() == cuda_driver.CAPTURE_STATUS_ACTIVE
    capturing.end_capture()


def test_a_thread_without_a_context(
    pools: tuple[ModelPool, ModelPool], stream: Stream
) -> None:
    outcome: list[bool] = []

    def body() -> None:
        ticket = kvswap.swap_in(pools[0].pool, pools[1].pool, _PAIRS, stream=stream)
        ticket.wait_stream(0)
        ticket.wait()
        outcome.append(ticket.done())

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert outcome == [True]


def test_an_error_of_the_driver(
    simulator: kvswap_sim.Simulator,
    pools: tuple[ModelPool, ModelPool],
    stream: Stream,
) -> None:
    ticket = kvswap.swap_in(pools[0].pool, pools[1].pool, _PAIRS, stream=stream)
    for function, call in [
        ("cuEventQuery", ticket.done),
        ("cuEventSynchronize", ticket.wait),
        ("cuStreamWaitEvent", ticket.wait_stream),
        ("cuThreadExchangeStreamCaptureMode", ticket.done),
    ]:
        simulator.fail(function, 719)
        with pytest.raises(kvswap.SwapError, match="LAUNCH_FAILED") as raised:
            call()
        assert raised.value.cuda_error == 719
        assert "submitted" not in str(raised.value)
    ticket.wait()


def test_a_driver_that_misses_a_context(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    pools: tuple[ModelPool, ModelPool],
    stream: Stream,
) -> None:
    """Error 201 on a thread without a context: asked again with the device's."""
    outcome: list[bool] = []

    def body() -> None:
        ticket = kvswap.swap_in(
            pools[0].pool, pools[1].pool, _PAIRS, stream=stream, layers=True
        )
        for function in ("cuEventSynchronize", "cuEventQuery", "cuEventDestroy"):
            simulator.fail(function, 201)
        ticket.layer(2).wait()
        ticket.wait()
        outcome.append(ticket.layer(0).done())
        outcome.append(driver.current_context() == 0)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert outcome == [True, True]


class Owner:
    """Stands for a tensor."""


def test_memory_is_kept_until_the_copies_are_done(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    pools: tuple[ModelPool, ModelPool],
    stream: Stream,
) -> None:
    owner = Owner()
    alive = weakref.ref(owner)
    temporary = kvswap.BlockPool.from_regions(pools[0].pool.regions, 4, owner=owner)
    simulator.hold()
    kvswap.swap_in(temporary, pools[1].pool, _PAIRS, stream=stream)
    del owner, temporary
    gc.collect()
    assert alive() is not None
    simulator.hold(False)
    stream.synchronize()
    kvswap.swap_in(pools[0].pool, pools[1].pool, _PAIRS, stream=stream)
    gc.collect()
    assert alive() is None


def test_what_is_kept_does_not_grow(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    pools: tuple[ModelPool, ModelPool],
    stream: Stream,
) -> None:
    """Not even where one stream never gets on."""
    blocked = driver.stream(non_blocking=True)
    for _ in range(300):
        ticket = kvswap.swap_in(pools[0].pool, pools[1].pool, _PAIRS, stream=blocked)
        ticket.wait()
        assert in_flight.count() < 10
    assert simulator.live()["events"] < 12


def test_invalidate_waits(
    simulator: kvswap_sim.Simulator,
    pools: tuple[ModelPool, ModelPool],
    stream: Stream,
) -> None:
    owner = Owner()
    alive = weakref.ref(owner)
    pool = kvswap.BlockPool.from_regions(pools[1].pool.regions, 4, owner=owner)
    del owner
    simulator.hold()
    ticket = kvswap.swap_in(pools[0].pool, pool, _PAIRS, stream=stream)
    pool.invalidate()
    assert simulator.pending() == 0
    assert ticket.done()
    del ticket
    gc.collect()
    assert alive() is None
    assert pools[1].memory.read() == expected(*pools, _PAIRS, 1, 1)


def test_a_number_that_is_no_stream(
    pools: tuple[ModelPool, ModelPool], stream: Stream
) -> None:
    ticket = kvswap.swap_in(pools[0].pool, pools[1].pool, _PAIRS, stream=stream)
    with pytest.raises(ValueError, match="stream 35 is no stream's handle"):
        ticket.wait_stream(35)
    ticket.wait_stream(stream)
    ticket.wait()


@pytest.mark.parametrize("kind", [kvswap.Ticket, kvswap.Completion])
def test_tickets_are_made_by_calls_alone(kind: type[kvswap.Completion]) -> None:
    with pytest.raises(TypeError, match="copies between block pools"):
        kind()


_EXIT_WITH_COPIES_UNDER_WAY = """
import kvswap, kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver

driver = CudaDriver()
context = driver.retain_primary(0)
with context.current():
    memory = driver.device_memory(64)
    gpu = kvswap.BlockPool.from_regions([(memory.address, 16, 16)], 4, device=0)
    host = kvswap.pinned_pool(gpu, 4)
    kvswap_sim.Simulator().hold()
    ticket = kvswap.swap_out(gpu, host, [(0, 1)], stream=2)
    other = kvswap.swap_out(gpu, host, [(0, 2)], stream=2)
    del other
"""


def test_nothing_is_given_back_at_exit(tmp_path: pathlib.Path) -> None:
    """The driver may be gone before the interpreter's last objects are."""
    trace = tmp_path / "calls"
    child = subprocess.run(
        [sys.executable, "-c", _EXIT_WITH_COPIES_UNDER_WAY],
        env={
            **os.environ,
            **kvswap_sim.environment("13.0", trace=str(trace)),
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (child.returncode, child.stderr) == (0, "")
    names = [call.name for call in kvswap_sim.read_trace(str(trace))]
    assert names.count("cuEventCreate") == 2
    assert names.count("cuMemHostRegister") == 1
    assert "cuEventDestroy" not in names
    assert "cuMemHostUnregister" not in names


def test_a_driver_without_events() -> None:
    """Copies without a ticket go on; a ticket is refused with the reason."""
    from tests import child_process

    outcome = child_process.run(
        "tests.pools.tickets_test",
        "swap_without_events",
        environment=kvswap_sim.environment("12.4", without=["cuEventQuery"]),
    )
    assert outcome["usable"]
    assert outcome["plain"] == 1
    assert "lacks functions of events" in outcome["error"]
    assert outcome["copies"] == 0


def swap_without_events() -> dict[str, object]:
    """What pool calls come to where a function of events is missing."""
    driver = CudaDriver()
    simulator = kvswap_sim.Simulator()
    with driver.primary_context():
        source, destination = (
            make_pool(
                driver, kind, "tensors", [8], [0], 2, random.Random(1), content=True
            )
            for kind in ("gpu", "pinned")
        )
        error = ""
        try:
            kvswap.swap_out(source.pool, destination.pool, [(0, 1)], stream=0)
        except kvswap.UnsupportedError as refused:
            error = str(refused)
        copies = len(simulator.trace("cuMemcpyAsync"))
        plain = kvswap.swap_out(
            source.pool, destination.pool, [(0, 1)], stream=0, ticket=False
        )
        driver.synchronize()
    return {
        "usable": kvswap.driver_info().usable,
        "error": error,
        "copies": copies,
        "plain": plain.result.submitted,
    }
