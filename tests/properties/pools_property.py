"""Bodies of pools_property_test, run in child processes: one driver in each."""

from __future__ import annotations

import random
import re
from typing import Any

import hypothesis
import numpy
from hypothesis import strategies as st

import kvswap
from kvswap.testing.cuda_driver import CudaDriver
from kvswap_sim import Simulator
from tests.engine.calls import COPY_CALLS
from tests.pools.model import KINDS, LAYOUTS, expected, make_pool
from tests.properties.bounds import bounded

_ENGINES = ("auto", "batch", "loop", "kernel", "bridge")
_BLANK = 0xEE

_OPTIONS = st.fixed_dictionaries(
    {
        "engine": st.sampled_from(_ENGINES),
        "stream": st.sampled_from([0, 1, 2]),
        "layers": st.booleans(),
        "max_batch": st.sampled_from([None, 1, 3, 5000]),
        "priority": st.sampled_from(["throughput", "compute"]),
    }
)


def _copy_is_refused(
    simulator: Simulator,
    pools: tuple[kvswap.BlockPool, kvswap.BlockPool],
    pairs: list[tuple[int, int]],
    index: int,
    **options: Any,
) -> None:
    """A call that must name the pair at `index`, and submit nothing."""
    simulator.clear_trace()
    try:
        kvswap.copy_blocks(*pools, pairs, **options)
    except ValueError as error:
        # Of a block that is written twice, the second pair.
        named = [int(number) for number in re.findall(r"pairs\[(\d+)\]", str(error))]
        assert index in named, (index, str(error))
    else:
        raise AssertionError(f"pair {index} was not refused")
    assert not COPY_CALLS & {call.name for call in simulator.trace()}


def _first_bad(pairs: list[tuple[int, int]], ids: list[int]) -> int | None:
    """The first pair with an id that a pool does not have, source before destination.

    With `check`, else the first pair that writes what one before it wrote.
    """
    for side in (0, 1):
        for index, pair in enumerate(pairs):
            if not 0 <= pair[side] < ids[side]:
                return index
    written: set[int] = set()
    for index, (_, to) in enumerate(pairs):
        if to in written:
            return index
        written.add(to)
    return None


def try_regions(examples: int) -> int:
    """Pools of random regions; how many calls."""
    simulator = Simulator()
    driver = CudaDriver(simulator.path)
    tried = 0

    @bounded(examples)
    @hypothesis.given(
        seed=st.integers(0, 1 << 30),
        kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
        layouts=st.tuples(st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS)),
        factors=st.sampled_from([(1, 1), (1, 1), (1, 2), (1, 3), (4, 1)]),
        sizes=st.lists(st.integers(1, 70) | st.just(256), min_size=1, max_size=4),
        blocks=st.tuples(st.integers(1, 14), st.integers(1, 14)),
        bad=st.integers(0, 4),
        options=_OPTIONS,
    )
    def pools_are_copied_as_the_model_says(
        seed: int,
        kinds: tuple[str, str],
        layouts: tuple[str, str],
        factors: tuple[int, int],
        sizes: list[int],
        blocks: tuple[int, int],
        bad: int,
        options: dict[str, Any],
    ) -> None:
        nonlocal tried
        tried += 1
        generator = random.Random(seed)
        layers = [generator.randrange(3) for _ in sizes]
        made = [
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
            for side in (0, 1)
        ]
        source, destination = made
        ids = [blocks[side] * factors[side] for side in (0, 1)]
        count = generator.randint(0, ids[1])
        pairs = [
            (generator.randrange(ids[0]), to)
            for to in generator.sample(range(ids[1]), count)
        ]
        if bad == 0 and pairs:
            position = generator.randrange(len(pairs))
            from_, to = pairs[position]
            pairs[position] = generator.choice(
                [(ids[0], to), (-1, to), (from_, ids[1]), (from_, -7), (1 << 62, to)]
            )
        elif bad == 1 and len(pairs) > 1:
            first, second = generator.sample(range(len(pairs)), 2)
            pairs[second] = (pairs[second][0], pairs[first][1])
        simulator.seed = seed
        fault = _first_bad(pairs, ids)
        try:
            if fault is not None:
                both = source.pool, destination.pool
                _copy_is_refused(simulator, both, pairs, fault, **options)
                wanted = destination.memory.content
            else:
                ticket = kvswap.copy_blocks(
                    source.pool, destination.pool, pairs, **options
                )
                result = ticket.result
                assert result.submitted == len(sizes) * len(pairs)
                assert result.submitted_bytes == sum(sizes) * len(pairs)
                assert sum(result.copies.values()) == result.submitted
                ticket.wait()
                assert ticket.done()
                wanted = expected(source, destination, pairs, *factors)
            assert destination.memory.read() == wanted
            assert source.memory.read() == source.memory.content
            assert simulator.violations() == []
        finally:
            driver.synchronize()
            for pool in made:
                pool.memory.owner.close()
            simulator.clear_trace()

    with driver.primary_context():
        pools_are_copied_as_the_model_says()
    return tried


def try_arrays(examples: int) -> int:
    """Pools of NumPy arrays with random shapes and strides; how many calls."""
    simulator = Simulator()
    driver = CudaDriver(simulator.path)
    tried = 0

    @bounded(examples)
    @hypothesis.given(
        shape=st.lists(st.integers(1, 4), min_size=1, max_size=4),
        block_dim=st.integers(0, 3),
        dtype=st.sampled_from(["u1", "i2", "f4", "i8"]),
        stored=st.permutations(range(5)),
        gaps=st.tuples(st.integers(0, 2), st.integers(0, 2)),
        blocks=st.tuples(st.integers(1, 9), st.integers(1, 9)),
        seed=st.integers(0, 1 << 30),
        tensors=st.integers(1, 3),
        options=_OPTIONS,
    )
    def arrays_are_copied_as_numpy_says(
        shape: list[int],
        block_dim: int,
        dtype: str,
        stored: list[int],
        gaps: tuple[int, int],
        blocks: tuple[int, int],
        seed: int,
        tensors: int,
        options: dict[str, Any],
    ) -> None:
        nonlocal tried
        block_dim %= len(shape) + 1
        order = [axis for axis in stored if axis <= len(shape)]
        generator = numpy.random.default_rng(seed)
        sides = [
            [
                _array(shape, block_dim, dtype, order, gaps[side], blocks[side])
                for _ in range(tensors)
            ]
            for side in (0, 1)
        ]
        for array in sides[0]:
            content = generator.integers(0, 200, array.shape)
            array[...] = content.astype(array.dtype)
        for array in sides[1]:
            array[...] = 77
        try:
            pools = [kvswap.BlockPool(side, block_dim=block_dim) for side in sides]
        except ValueError:
            # Bytes of a block that lie apart in more ways than regions have.
            hypothesis.reject()
        count = int(generator.integers(0, blocks[1] + 1))
        to = generator.permutation(blocks[1])[:count]
        from_ = generator.integers(0, blocks[0], count)
        wanted = [array.copy() for array in sides[1]]
        for before, after in zip(sides[0], wanted, strict=True):
            taken = numpy.moveaxis(before, block_dim, 0)[from_]
            numpy.moveaxis(after, block_dim, 0)[to] = taken
        simulator.seed = seed
        pairs = numpy.stack([from_, to], axis=1).astype(numpy.int64)
        try:
            ticket = kvswap.copy_blocks(pools[0], pools[1], pairs, **options)
        except ValueError as error:
            # Of an array with one block, parts of it that lie apart elsewhere can be
            # one region.
            assert blocks[0] == 1 or blocks[1] == 1, error
            assert "region" in str(error), error
            hypothesis.reject()
        ticket.wait()
        for array, want in zip(sides[1], wanted, strict=True):
            assert numpy.array_equal(array, want)
            assert (_around(array) == _BLANK).all()
        assert simulator.violations() == []
        simulator.clear_trace()
        tried += 1

    with driver.primary_context():
        arrays_are_copied_as_numpy_says()
    return tried


def _array(
    shape: list[int],
    block_dim: int,
    dtype: str,
    order: list[int],
    gap: int,
    blocks: int,
) -> Any:
    """An array whose axes are stored in an order, with blocks `gap` apart."""
    full = [*shape[:block_dim], blocks, *shape[block_dim:]]
    # Every (gap + 1)-th of so many.
    full[block_dim] = blocks * (gap + 1)
    memory = numpy.empty([full[axis] for axis in order], dtype)
    memory.view("u1")[...] = _BLANK
    view = memory.transpose([order.index(axis) for axis in range(len(order))])
    step = [slice(None)] * len(full)
    step[block_dim] = slice(None, None, gap + 1)
    return view[tuple(step)]


def _around(array: Any) -> Any:
    """The bytes of an array's memory that are not the array's."""
    memory = array
    while memory.base is not None:
        memory = memory.base
    mask = numpy.ones(memory.nbytes, bool)
    start = memory.__array_interface__["data"][0]
    offset = array.__array_interface__["data"][0] - start
    offsets = numpy.full(array.shape, offset)
    for axis, stride in enumerate(array.strides):
        steps = [1] * array.ndim
        steps[axis] = -1
        offsets = offsets + numpy.arange(array.shape[axis]).reshape(steps) * stride
    for byte in range(array.itemsize):
        mask[offsets.ravel() + byte] = False
    return memory.reshape(-1).view("u1")[mask]
