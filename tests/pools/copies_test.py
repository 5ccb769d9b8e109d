"""Every byte of copies between pools, compared with a slow model."""

from __future__ import annotations

import ctypes
import mmap
import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests.pools.model import (
    KINDS,
    LAYOUTS,
    Memory,
    ModelPool,
    expected,
    make_pool,
)


def round_of(
    driver: CudaDriver,
    generator: random.Random,
    kinds: tuple[str, str],
    layouts: tuple[str, str],
    factors: tuple[int, int],
    **options: Any,
) -> kvswap.SwapResult:
    """Copies random pairs between random pools, and compares."""
    regions = generator.randint(1, 5)
    sizes = [generator.randint(1, 60) for _ in range(regions)]
    layers = sorted(generator.randrange(3) for _ in range(regions))
    generator.shuffle(layers)
    blocks = [generator.randint(1, 12), generator.randint(1, 12)]
    source, destination = (
        make_pool(
            driver,
            kinds[side],
            layouts[side],
            [size * factors[side] for size in sizes],
            layers,
            blocks[side],
            generator,
            content=side == 0,
        )
        for side in range(2)
    )
    ids = [blocks[side] * factors[side] for side in range(2)]
    count = generator.randint(0, ids[1])
    pairs = [
        (generator.randrange(ids[0]), to)
        for to in generator.sample(range(ids[1]), count)
    ]
    ticket = kvswap.copy_blocks(source.pool, destination.pool, pairs, **options)
    ticket.wait()
    assert ticket.done()
    assert destination.memory.read() == expected(
        source, destination, pairs, factors[0], factors[1]
    )
    assert source.memory.read() == source.memory.content
    assert ticket.result.submitted == regions * count
    assert ticket.result.submitted_bytes == sum(sizes) * count
    return ticket.result


@pytest.mark.parametrize("factors", [(1, 1), (1, 3), (4, 1), (1, 2)])
@pytest.mark.parametrize("source_layout", LAYOUTS)
@pytest.mark.parametrize("destination_layout", LAYOUTS)
def test_layouts_and_factors(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    context: None,
    source_layout: str,
    destination_layout: str,
    factors: tuple[int, int],
) -> None:
    generator = random.Random(f"{source_layout} {destination_layout} {factors}")
    with driver.stream(non_blocking=True) as stream:
        for seed in range(6):
            simulator.seed = seed
            round_of(
                driver,
                generator,
                (generator.choice(KINDS), generator.choice(KINDS)),
                (source_layout, destination_layout),
                factors,
                stream=stream,
                layers=generator.random() < 0.5,
                max_batch=generator.choice([None, 1, 3, 5000]),
            )


# The engines that can run where one is asked for, on the legacy stream and others.
_CAN_RUN = {
    "auto": ({"loop", "kernel", "bridge"}, {"loop", "kernel", "batch"}),
    "batch": ({"loop"}, {"batch"}),
    "loop": ({"loop"}, {"loop"}),
    "kernel": ({"kernel"}, {"kernel"}),
    "bridge": ({"bridge"}, {"batch"}),
}


@pytest.mark.parametrize("handle", [0, 1, 2])
@pytest.mark.parametrize("engine", _CAN_RUN)
def test_streams_and_engines(
    driver: CudaDriver, context: None, handle: int, engine: str
) -> None:
    generator = random.Random(f"{handle} {engine}")
    ran = set()
    for _ in range(5):
        result = round_of(
            driver,
            generator,
            ("gpu", "pinned"),
            ("tensors", "pages"),
            (1, 2),
            stream=handle,
            engine=engine,
        )
        if result.submitted:
            ran.add(result.engine)
    assert ran
    assert ran <= _CAN_RUN[engine][handle == 2]


def test_auto_sends_many_small_copies_by_a_kernel(
    driver: CudaDriver, context: None
) -> None:
    generator = random.Random(4)
    source, destination = (
        make_pool(driver, kind, "gaps", [4096], [0], 64, generator, content=content)
        for kind, content in (("pinned", True), ("gpu", False))
    )
    pairs = list(zip(range(64), reversed(range(64)), strict=True))
    ticket = kvswap.swap_in(source.pool, destination.pool, pairs, stream=2)
    ticket.wait()
    assert ticket.result.copies["kernel"] == 64
    assert ticket.result.unavailable == {}
    assert destination.memory.read() == expected(source, destination, pairs, 1, 1)


@pytest.mark.parametrize("engine", ["auto", "batch", "loop", "kernel"])
def test_more_copies_than_are_made_at_a_time(
    driver: CudaDriver, context: None, engine: str
) -> None:
    """Descriptors are made some thousands at a time, across regions."""
    generator = random.Random(5)
    blocks, regions = 700, 13
    sizes, layers = [8] * regions, [0] * regions
    source = make_pool(
        driver, "pinned", "pages", sizes, layers, blocks, generator, content=True
    )
    destination = make_pool(
        driver, "gpu", "gaps", sizes, layers, blocks, generator, content=False
    )
    order = list(range(blocks))
    generator.shuffle(order)
    pairs = list(enumerate(order))
    ticket = kvswap.swap_in(
        source.pool, destination.pool, pairs, stream=2, engine=engine
    )
    ticket.wait()
    assert ticket.result.submitted == blocks * regions
    assert destination.memory.read() == expected(source, destination, pairs, 1, 1)


def test_batches_span_regions(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, context: None
) -> None:
    """Few blocks of many layers are few driver calls."""
    generator = random.Random(6)
    sizes, layers = [16] * 100, list(range(100))
    pools = [
        make_pool(driver, kind, "tensors", sizes, layers, 4, generator, content=True)
        for kind in KINDS
    ]
    # Not in order: blocks that continue others on both sides would be put together.
    pairs = [(0, 3), (1, 2), (2, 1)]
    simulator.clear_trace()
    kvswap.swap_out(
        pools[0].pool, pools[1].pool, pairs, stream=2, engine="batch", max_batch=128
    )
    counts = [call.arguments["count"] for call in simulator.trace("cuMemcpyBatchAsync")]
    assert counts == [128, 128, 44]


def test_memory_is_looked_at_once_a_region(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, context: None
) -> None:
    generator = random.Random(7)
    sizes, layers = [16] * 10, list(range(10))
    source, destination = (
        make_pool(driver, kind, "tensors", sizes, layers, 64, generator, content=True)
        for kind in KINDS
    )
    simulator.clear_trace()
    pairs = [(block, block) for block in range(64)]
    kvswap.swap_out(source.pool, destination.pool, pairs, stream=2)
    # Each side is one allocation here, in which all regions lie.
    assert len(simulator.trace("cuPointerGetAttributes")) == 2


def test_pairs_of_every_kind(driver: CudaDriver, context: None) -> None:
    torch = pytest.importorskip("torch")
    kinds: list[Any] = [
        [(3, 1), (0, 0)],
        ((3, 1), [0, 0]),
        [(numpy.int64(3), numpy.int32(1)), (0, 0)],
        numpy.array([[3, 1], [0, 0]]),
        numpy.array([[3, 1], [0, 0]], dtype=numpy.uint64),
        torch.tensor([[3, 1], [0, 0]]),
    ]
    for pairs in kinds:
        generator = random.Random(8)
        source, destination = (
            make_pool(driver, kind, "tensors", [16], [0], 4, generator, content=True)
            for kind in KINDS
        )
        kvswap.swap_out(source.pool, destination.pool, pairs, stream=2).wait()
        assert destination.memory.read() == expected(
            source, destination, [(3, 1), (0, 0)], 1, 1
        )


class _Meddler:
    """The id 1, whose own code does something else as well."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action

    def __index__(self) -> int:
        self._action()
        return 1


def test_pairs_that_change_while_they_are_read(
    driver: CudaDriver, context: None
) -> None:
    """What has been read counts, and nothing is read that is no longer there."""
    inner: list[Any] = [None, 2]
    inner[0] = _Meddler(inner.clear)
    outer: list[Any] = [None, (0, 0)]
    outer[0] = (_Meddler(outer.clear), 2)
    given: list[Any] = [[inner], outer]
    for pairs in given:
        generator = random.Random(8)
        source, destination = (
            make_pool(driver, kind, "tensors", [16], [0], 4, generator, content=True)
            for kind in KINDS
        )
        ticket = kvswap.swap_out(source.pool, destination.pool, pairs, stream=2)
        ticket.wait()
        assert ticket.result.submitted == 1
        assert destination.memory.read() == expected(
            source, destination, [(1, 2)], 1, 1
        )


@pytest.mark.parametrize(
    "pairs",
    [[], (), numpy.empty((0, 2), dtype=numpy.int64)],
    ids=["list", "tuple", "array"],
)
def test_no_pairs(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, context: None, pairs: Any
) -> None:
    generator = random.Random(9)
    source, destination = (
        make_pool(driver, kind, "tensors", [16], [0], 4, generator, content=True)
        for kind in KINDS
    )
    simulator.clear_trace()
    ticket = kvswap.swap_out(
        source.pool, destination.pool, pairs, stream=2, layers=True
    )
    assert ticket.done()
    assert ticket.layer(0).done()
    ticket.wait()
    ticket.wait_stream(2)
    assert ticket.result.submitted == 0
    assert simulator.trace() == []


def test_inside_one_pool(driver: CudaDriver, context: None) -> None:
    generator = random.Random(10)
    pool = make_pool(driver, "gpu", "gaps", [24], [0], 6, generator, content=True)
    pairs = [(0, 3), (1, 5)]
    kvswap.copy_blocks(pool.pool, pool.pool, pairs, stream=2).wait()
    assert pool.memory.read() == expected(pool, pool, pairs, 1, 1)


def test_pageable_memory_works_and_is_said_once(
    driver: CudaDriver, context: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvswap.pool_swaps._warned_of_pageable", False)
    array = numpy.arange(64, dtype=numpy.uint8).reshape(4, 16)
    host = kvswap.BlockPool(array)
    gpu = make_pool(
        driver, "gpu", "tensors", [16], [0], 4, random.Random(11), content=False
    )
    with pytest.warns(UserWarning, match="not pinned") as warned:
        ticket = kvswap.swap_in(host, gpu.pool, [(0, 2), (3, 1)], stream=2)
        kvswap.swap_in(host, gpu.pool, [(1, 0)], stream=2).wait()
    assert len(warned) == 1
    assert warned[0].filename.endswith("pool_swaps.py") is False
    assert ticket.result.pageable == 2
    content = gpu.memory.read()
    assert content[32:48] == array[0].tobytes()
    assert content[16:32] == array[3].tobytes()
    back = numpy.zeros((4, 16), dtype=numpy.uint8)
    kvswap.swap_out(gpu.pool, kvswap.BlockPool(back), [(2, 1)], stream=2).wait()
    assert back[1].tobytes() == array[0].tobytes()


@pytest.mark.parametrize("engine", ["batch", "loop", "kernel"])
@pytest.mark.parametrize("into_gpu", [False, True])
def test_a_seam_between_registrations(
    driver: CudaDriver, context: None, engine: str, into_gpu: bool
) -> None:
    """A block across a seam is two copies for the driver, which refuses one."""
    sizes, layers, blocks = [32, 16, 48], [0, 1, 2], 2 * mmap.PAGESIZE // 96
    gpu = make_pool(
        driver, "gpu", "gaps", sizes, layers, 8, random.Random(13), content=True
    )
    memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    halves = [
        driver.register(address + offset, mmap.PAGESIZE)
        for offset in (0, mmap.PAGESIZE)
    ]
    pool = kvswap.BlockPool.from_regions(
        [(address, 96, 32, 0), (address + 32, 96, 16, 1), (address + 48, 96, 48, 2)],
        blocks,
    )
    host = ModelPool(
        pool,
        Memory("pinned", memory, random.Random(14).randbytes(len(memory))),
        [0, 32, 48],
    )
    memory[:] = host.memory.content
    # The block that the seam goes through, its third region above all.
    seam = mmap.PAGESIZE // 96
    source, destination = (host, gpu) if into_gpu else (gpu, host)
    pairs = [(0, 0), (1, 7), (seam, 2)] if into_gpu else [(0, 0), (1, 7), (2, seam)]
    ticket = kvswap.copy_blocks(
        source.pool, destination.pool, pairs, stream=2, engine=engine
    )
    ticket.wait()
    wanted = expected(source, destination, pairs, 1, 1)
    assert (gpu.memory.read() if into_gpu else memory[:]) == wanted
    assert ticket.result.copies[engine] == ticket.result.submitted == 9
    assert ticket.result.submitted_bytes == 3 * 96
    for half in halves:
        half.close()


@pytest.mark.parametrize("engine", ["batch", "kernel"])
def test_capture(driver: CudaDriver, context: None, engine: str) -> None:
    """Copies become nodes of the graph, and no ticket can tell when they run."""
    generator = random.Random(12)
    source, destination = (
        make_pool(driver, kind, "tensors", [16, 8], [0, 1], 4, generator, content=side)
        for kind, side in (("pinned", True), ("gpu", False))
    )
    pairs = [(0, 1), (3, 2)]
    stream = driver.stream(non_blocking=True)
    stream.begin_capture()
    with pytest.raises(kvswap.UnsupportedError, match="ticket=False"):
        kvswap.swap_in(source.pool, destination.pool, pairs, stream=stream)
    ticket = kvswap.swap_in(
        source.pool,
        destination.pool,
        pairs,
        stream=stream,
        engine=engine,
        ticket=False,
    )
    graph = stream.end_capture()
    # A node for each copy, or for the launch of each size.
    assert graph.node_count() == (4 if engine == "batch" else 2)
    assert ticket.result.unavailable == (
        {"batch": "capturing"} if engine == "batch" else {}
    )
    for call in (ticket.done, ticket.wait, ticket.wait_stream):
        with pytest.raises(RuntimeError, match="ticket=False"):
            call()
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert destination.memory.read() == expected(source, destination, pairs, 1, 1)
