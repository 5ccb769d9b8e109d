"""What is put right after a failure of the driver: cases by name."""

from __future__ import annotations

import pytest

import kvswap
import kvswap_sim
from kvswap import in_flight
from tests.faults import operations
from tests.faults.world import World


@pytest.mark.parametrize(
    ("entry", "after"),
    [("cuEventRecord", False), ("cuEventRecord", True), ("cuStreamWaitEvent", False)],
)
def test_a_bridge_that_cannot_join_waits(
    simulator: kvswap_sim.Simulator, entry: str, after: bool
) -> None:
    """On the host, so that the legacy stream is past the copies all the same; and without
    invalidating a capture of another thread."""
    world = World(simulator, "null", "current")
    with world.calling_thread():
        world.begin_captures()
        simulator.fail(entry, 719, call=2, after=after)
        outcome = operations.swap(world, "bridge")
        simulator.clear_faults()
        assert world.end_captures() == []
        # Nothing has been synchronised: the copies are done.
        assert len(world.look().written) == world.copy_count
    assert outcome.error is not None
    assert outcome.error.cuda_error == 719
    assert outcome.submitted[0] == world.copy_count


def test_a_bridge_that_can_neither_join_nor_wait_says_so(
    simulator: kvswap_sim.Simulator,
) -> None:
    world = World(simulator, "null", "current")
    with world.calling_thread():
        simulator.fail("cuStreamWaitEvent", 719, call=2)
        simulator.fail("cuStreamSynchronize", 719)
        outcome = operations.swap(world, "bridge")
        simulator.clear_faults()
        world.driver.synchronize()
    assert "synchronise with the context" in str(outcome.error)


@pytest.mark.parametrize("code", [1, 2, 900, 998])
def test_what_copies_need_is_kept_while_the_driver_does_not_tell(
    simulator: kvswap_sim.Simulator, code: int
) -> None:
    """An error of a question about copies does not say that they are done."""
    world = World(simulator, "non_blocking", "current")
    in_flight._calls.clear()
    with world.calling_thread():
        host, device = (
            kvswap.BlockPool.from_regions([(memory.address, 4096, 4096)], 2)
            for memory in (world.host, world.device)
        )
        ticket = kvswap.copy_blocks(host, device, [(0, 0)], stream=world.stream)
        simulator.fail("cuEventQuery", code, every=True)
        in_flight.release_done()
        assert in_flight.count() == 1
        simulator.clear_faults()
        ticket.wait()
        in_flight.release_done()
        assert in_flight.count() == 0


def test_what_copies_need_is_let_go_of_with_their_context(
    simulator: kvswap_sim.Simulator,
) -> None:
    world = World(simulator, "non_blocking", "current")
    in_flight._calls.clear()
    with world.calling_thread():
        host, device = (
            kvswap.BlockPool.from_regions([(memory.address, 4096, 4096)], 2)
            for memory in (world.host, world.device)
        )
        kvswap.copy_blocks(host, device, [(0, 0)], stream=world.stream)
        simulator.fail("cuEventQuery", 709)
        in_flight.release_done()
        assert in_flight.count() == 0
        simulator.clear_faults()
        world.driver.synchronize()


@pytest.mark.parametrize("entry", ["cuCtxGetCurrent", "cuCtxGetDevice"])
def test_memory_is_unregistered_though_its_context_cannot_be_entered(
    simulator: kvswap_sim.Simulator, entry: str
) -> None:
    world = World(simulator, "non_blocking", "current")
    with world.calling_thread():
        like = kvswap.BlockPool.from_regions(
            [(world.device.address, 4096, 4096)], 4, device=0
        )
        pool = kvswap.pinned_pool(like, 12, max_chunk_bytes=4 * 4096)
        assert simulator.live()["registrations"] == 3
        simulator.fail(entry, 999)
        del pool
        simulator.clear_faults()
        assert simulator.live()["registrations"] == 0


def test_memory_that_stays_registered_stays_mapped(
    simulator: kvswap_sim.Simulator,
) -> None:
    """Else the system would hand out its addresses again, which the driver then refuses
    to register, or takes for what they were."""
    world = World(simulator, "non_blocking", "current")
    with world.calling_thread():
        like = kvswap.BlockPool.from_regions(
            [(world.device.address, 4096, 4096)], 4, device=0
        )
        pool = kvswap.pinned_pool(like, 12)
        address = pool.regions[0].address
        simulator.fail("cuMemHostUnregister", 719)
        del pool
        simulator.clear_faults()
        with open("/proc/self/maps", encoding="ascii") as maps:
            ranges = [line.split()[0].split("-") for line in maps]
        assert any(int(a, 16) <= address < int(b, 16) for a, b in ranges)
        # And new memory can be registered.
        assert kvswap.pinned_pool(like, 12).block_count == 12


def test_a_question_about_the_kernels_has_no_side_effect_when_it_fails(
    simulator: kvswap_sim.Simulator,
) -> None:
    """An image that ran out of memory is tried again; the copies go on meanwhile."""
    world = World(simulator, "non_blocking", "current")
    with world.calling_thread():
        simulator.fail("cuModuleLoadData", 2, every=True)
        outcome = operations.swap(world, "kernel")
        simulator.clear_faults()
        assert outcome.results[0].unavailable["kernel"] == "no_kernel_image"
        world.synchronize()
        assert len(world.look().written) == world.copy_count
        assert not operations.swap(world, "kernel").results[0].unavailable
        world.synchronize()
