"""Blocks that lie in thousands of mappings, as a cache of torch's expandable segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvswap.benchmark.c_abi import CAbi
from kvswap.benchmark.cells import CREATED, H2D, Cell
from kvswap.benchmark.contenders import TimedMethod, WrongBytesError
from kvswap.benchmark.methods import CAbiCall
from kvswap.benchmark.output import Row
from kvswap.benchmark.pools import Pools
from kvswap.benchmark.session import Session
from kvswap.benchmark.streams import Stopwatch
from kvswap.testing.cuda_driver import VirtualMemory

RANGES = 3000
_BLOCK = 4096
_ENGINES = ("auto", "kernel", "batch")
_LOOKED_AT = 16  # blocks whose bytes are compared


@dataclass
class RangeBlocks:
    """A block of each mapping, as kvswap takes them."""

    src_ptrs: Any
    dst_ptrs: Any
    sizes: Any
    count: int


def run(session: Session, library: CAbi) -> list[Row]:
    """Measures calls over RANGES mappings; rows go to the session."""
    ranges = RANGES
    gpu, pools = session.workshop.gpu, session.workshop.pools
    cell = Cell(H2D, _BLOCK, ranges)
    driver = gpu.driver
    granularity = driver.mapping_granularity(gpu.device)
    with driver.virtual_memory(ranges * granularity) as memory:
        for number in range(ranges):
            memory.map(number * granularity, granularity, gpu.device)
        numbers = gpu.torch.arange(ranges)
        blocks = RangeBlocks(
            pools.host_source.data_ptr() + numbers * _BLOCK,
            memory.address + numbers * granularity,
            gpu.torch.full((ranges,), _BLOCK),
            ranges,
        )
        stream = session.workshop.stream(CREATED)
        contenders = []
        for engine in _ENGINES:
            label = f"C ABI, {engine}, {ranges:,} mappings"

            def make(engine: str = engine, label: str = label) -> TimedMethod:
                call = CAbiCall(library, blocks, stream, engine=engine)
                stopwatch = Stopwatch(gpu, [stream], events=False)
                contender = TimedMethod(label, [call], [], stopwatch)
                contender.check()
                _compare(pools, memory, granularity, ranges)
                return contender

            contenders.append(session.attempt(label, cell, make))
        rows = session.measure(
            cell,
            [each for each in contenders if each is not None],
            session.budget.deadline(8),
        )
        gpu.synchronize()
    return rows


def _compare(
    pools: Pools, memory: VirtualMemory, granularity: int, ranges: int
) -> None:
    for number in range(0, ranges, max(1, ranges // _LOOKED_AT)):
        actual = memory.driver.read(memory.address + number * granularity, _BLOCK)
        begin = number * _BLOCK
        expected = bytes(pools.host_source[begin : begin + _BLOCK].tolist())
        if actual != expected:
            raise WrongBytesError(f"the block of mapping {number} is wrong")
