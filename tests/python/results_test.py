"""What calls return: fields, equality, text, immutability, pickles."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from typing import Any

import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver
from tests.python.descriptors import BLOCK_BYTES, BLOCKS, Blocks, integers

SIZE = BLOCKS * BLOCK_BYTES


def by_engine(**counts: int) -> dict[str, int]:
    """A count for every engine, zero where none is given."""
    return dict.fromkeys(("batch", "loop", "kernel", "bridge"), 0) | counts


def swap(blocks: Blocks, **options: Any) -> kvswap.SwapResult:
    """All blocks into the GPU: the batch engine and stream 2, unless told otherwise."""
    arguments: dict[str, Any] = {"stream": 2, "engine": "batch"}
    arguments |= blocks.swap_in_arguments() | options
    return kvswap.swap_blocks_batch(**arguments)


class TestSwapResult:
    """SwapResult"""

    def test_of_the_batch_engine(self, blocks: Blocks) -> None:
        result = swap(blocks)
        assert result.engine == "batch"
        assert result.device == 0
        assert result.submitted == BLOCKS
        assert result.submitted_bytes == SIZE
        assert result.dropped == 0
        assert result.copies == by_engine(batch=BLOCKS)
        assert result.unavailable == {}

    def test_of_a_fallback(self, blocks: Blocks) -> None:
        result = swap(blocks, stream=0)
        assert result.engine == "loop"
        assert result.copies == by_engine(loop=BLOCKS)
        assert result.unavailable == {"batch": "legacy_stream"}

    def test_of_an_engine_that_was_asked_for(self, blocks: Blocks) -> None:
        result = swap(blocks, engine="loop")
        assert (result.engine, result.unavailable) == ("loop", {})

    def test_sizes_of_zero(self, blocks: Blocks) -> None:
        sizes = integers([0, BLOCK_BYTES, 0, 5])
        result = swap(blocks, sizes=sizes)
        assert (result.submitted, result.dropped) == (2, 2)
        assert result.submitted_bytes == BLOCK_BYTES + 5

    def test_device(self, driver: CudaDriver, simulator: kvswap_sim.Simulator) -> None:
        with driver.primary_context(1), driver.device_memory(64) as memory:
            result = kvswap.swap_blocks_batch(
                integers([memory.address]),
                integers([memory.address + 32]),
                integers([32]),
                stream=0,
            )
            driver.synchronize()
        assert result.device == 1

    def test_device_of_nothing(self, simulator: kvswap_sim.Simulator) -> None:
        nothing = integers([])
        assert kvswap.swap_blocks_batch(nothing, nothing, nothing).device is None

    def test_repr_names_every_field(self, blocks: Blocks) -> None:
        assert repr(swap(blocks, stream=0)) == (
            "SwapResult(engine='loop', device=0, submitted=4, submitted_bytes=256, "
            "dropped=0, copies={'batch': 0, 'loop': 4, 'kernel': 0, 'bridge': 0}, "
            "unavailable={'batch': 'legacy_stream'}, pageable=0)"
        )

    def test_equality_is_by_value(self, blocks: Blocks) -> None:
        assert swap(blocks) == swap(blocks)
        different = [
            swap(blocks),
            swap(blocks, engine="loop"),
            swap(blocks, stream=0),
            swap(blocks, sizes=integers([1, 2, 3, 4])),
            swap(blocks, sizes=integers([0, 1, 1, 1])),
        ]
        for index, result in enumerate(different):
            assert [result == other for other in different] == [
                index == position for position in range(len(different))
            ]
        assert swap(blocks) != "batch"
        with pytest.raises(TypeError, match="unhashable"):
            hash(swap(blocks))

    def test_is_immutable(self, blocks: Blocks) -> None:
        result = swap(blocks)
        for field in ("engine", "submitted", "copies", "anything"):
            with pytest.raises(AttributeError):
                setattr(result, field, 5)
        result.copies["batch"] = 1000
        assert result.copies["batch"] == BLOCKS

    def test_is_made_by_calls_alone(self) -> None:
        with pytest.raises(TypeError, match="constructor"):
            kvswap.SwapResult()

    @pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
    def test_pickle(self, blocks: Blocks, protocol: int) -> None:
        for result in (swap(blocks), swap(blocks, stream=0)):
            pickled = pickle.dumps(result, protocol)
            assert pickle.loads(pickled) == result
            assert b"_core" not in pickled

    def test_copy(self, blocks: Blocks) -> None:
        result = swap(blocks, stream=0)
        assert copy.deepcopy(result) == copy.copy(result) == result


class TestPlan:
    """plan"""

    def test_submits_nothing(
        self, blocks: Blocks, simulator: kvswap_sim.Simulator
    ) -> None:
        simulator.clear_trace()
        kvswap.plan(**blocks.swap_in_arguments(), stream=2)
        called = {call.name for call in simulator.trace()}
        assert called and not called & {"cuMemcpyBatchAsync", "cuMemcpyAsync"}
        assert not blocks.arrived()

    def test_of_the_batch_engine(self, blocks: Blocks) -> None:
        arguments = blocks.swap_in_arguments()
        # So that no block is contiguous with a neighbour on both sides.
        arguments["dst_ptrs"] = integers(reversed(blocks.gpu_addresses))
        plan = kvswap.plan(**arguments, stream=2, engine="batch", max_batch=3)
        assert plan == kvswap.Plan(
            engine="batch",
            stream_kind="per_thread",
            capturing=False,
            device=0,
            copies=BLOCKS,
            dropped=0,
            bytes=SIZE,
            driver_calls=2,
            max_batch=3,
            unavailable={},
            explanations={},
            engine_copies=by_engine(batch=BLOCKS),
            coalesced=0,
        )

    def test_contiguous_blocks(self, blocks: Blocks) -> None:
        plan = kvswap.plan(**blocks.swap_in_arguments(), stream=2, engine="batch")
        assert (plan.copies, plan.coalesced, plan.driver_calls) == (BLOCKS, 3, 1)
        assert plan.engine_copies == by_engine(batch=BLOCKS)

    def test_of_a_fallback_explains_it(self, blocks: Blocks) -> None:
        plan = kvswap.plan(**blocks.swap_in_arguments(), stream=0, engine="batch")
        assert plan.engine == "loop"
        assert plan.engine_copies == by_engine(loop=BLOCKS)
        assert plan.unavailable == {"batch": "legacy_stream"}
        assert plan.explanations.keys() == {"batch"}
        assert "default stream" in plan.explanations["batch"]

    def test_of_a_capturing_stream(self, blocks: Blocks, driver: CudaDriver) -> None:
        with driver.stream() as stream:
            stream.begin_capture()
            plan = kvswap.plan(
                **blocks.swap_in_arguments(), stream=stream, engine="batch"
            )
            stream.end_capture().close()
        assert plan.capturing is True
        assert plan.stream_kind == "created"
        assert plan.unavailable == {"batch": "capturing"}

    def test_counts_sizes_of_zero(self, blocks: Blocks) -> None:
        arguments = blocks.swap_in_arguments() | {"sizes": integers([0, 1, 0, 2])}
        plan = kvswap.plan(**arguments, stream=2)
        assert (plan.copies, plan.dropped, plan.bytes) == (2, 2, 3)


class TestDriverInfo:
    """driver_info"""

    def test_describes_the_driver(self, simulator: kvswap_sim.Simulator) -> None:
        info = kvswap.driver_info()
        assert info.usable is True
        assert info.batch_available is True
        assert info.driver_version == 13000
        assert info.path == simulator.path
        assert info.message == ""
        assert len(info.tried) == 1 and simulator.path in info.tried[0]

    def test_lists_the_functions_that_were_looked_up(self) -> None:
        entries = {entry.name: entry for entry in kvswap.driver_info().entries}
        assert entries["cuMemcpyBatchAsync"] == kvswap.DriverEntry(
            name="cuMemcpyBatchAsync",
            version=12080,
            required=False,
            present=True,
            cuda_error=0,
            query_status=0,
            message="",
        )
        assert entries["cuMemcpyAsync"].required is True
        assert all(entry.present for entry in entries.values())


class TestKernelInfo:
    """kernel_info"""

    def test_of_a_context(self, context: None) -> None:
        info = kvswap.kernel_info()
        assert info.device == 0
        assert info.available is (info.reason is None) is (info.message == "")
        assert info.available is (info.image != "")
        assert info.parameter_bytes in ((4096, 32764) if info.available else (0,))

    def test_without_a_context(self, simulator: kvswap_sim.Simulator) -> None:
        info = kvswap.kernel_info()
        assert (info.available, info.device, info.compute_capability) == (
            False,
            None,
            0,
        )
        assert "context" in info.message


class TestStatistics:
    """stats"""

    def test_counts(self, blocks: Blocks) -> None:
        before = kvswap.stats()
        swap(blocks, sizes=integers([0, 1, 2, 3]))
        swap(blocks, stream=0)
        with pytest.raises(kvswap.SwapError):
            swap(blocks, src_ptrs=integers([8] * BLOCKS))
        after = kvswap.stats()

        assert after.calls - before.calls == 3
        assert after.errors - before.errors == 1
        assert after.dropped - before.dropped == 1
        for name, batch, loop in (("copies", 3, BLOCKS), ("bytes", 6, SIZE)):
            counted, counted_before = getattr(after, name), getattr(before, name)
            assert counted.keys() == by_engine().keys()
            assert counted["batch"] - counted_before["batch"] == batch
            assert counted["loop"] - counted_before["loop"] == loop
        fallbacks = {
            reason: count - before.fallbacks[reason]
            for reason, count in after.fallbacks.items()
        }
        assert fallbacks.pop("legacy_stream") == 1
        assert set(fallbacks.values()) == {0}


@pytest.mark.parametrize("name", ["plan", "driver_info", "kernel_info", "stats"])
def test_records_are_values(blocks: Blocks, name: str) -> None:
    """The Python classes among the results: frozen, equal by value, picklable."""
    arguments = {"plan": blocks.swap_in_arguments() | {"stream": 2}}.get(name, {})
    record, again = (getattr(kvswap, name)(**arguments) for _ in range(2))
    assert record == again
    assert pickle.loads(pickle.dumps(record)) == record
    field = dataclasses.fields(record)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(record, field, None)
    with pytest.raises((AttributeError, TypeError)):
        record.anything = 5
    assert record.__class__.__module__ == "kvswap.records"


def test_version() -> None:
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", kvswap.__version__)
