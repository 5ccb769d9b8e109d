"""The kernel engine: when it runs, what it launches, what happens where it cannot."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator

import pytest

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver, DeviceMemory, PinnedMemory, Stream
from tests import child_process
from tests.engine.calls import arrays, swap

_BLOCK = 512
_COUNT = 600
_REGISTERED_MEMORY_ATTRIBUTE = 91
_SHARED_MEMORY_ATTRIBUTE = 97
# Two stages of 128 bytes, beside what the kernels and the driver need.
_SHARED_BYTES_OF_SMALLEST_RING = 2048 + 256
_LAUNCH_OUT_OF_RESOURCES = 701
_NO_BINARY = 209
_OUT_OF_MEMORY = 2
# How many copies of one size a launch holds: in 32 KB of parameters, and in 4 KB.
_LARGE, _SMALL = 4089, 506
_KERNEL_RULE = kvswap.PolicyRule(engine="kernel", kernel="plain", ctas=4, threads=128)
_BULK_RULE = kvswap.PolicyRule(
    engine="kernel", kernel="bulk", ctas=3, threads=32, stages=4, stage_bytes=256
)


class Pair:
    """Blocks in pinned memory and on the GPU, in orders of which none is contiguous."""

    def __init__(self, driver: CudaDriver, count: int, block: int = _BLOCK) -> None:
        self.host: PinnedMemory = driver.pinned_memory(count * block)
        self.device: DeviceMemory = driver.device_memory(count * block)
        self.content = b"".join(
            number.to_bytes(4, "little") * (block // 4) for number in range(count)
        )
        self.host.view[:] = self.content
        self.device.write(bytes(count * block))
        driver.synchronize()
        self.sources = [self.host.address + n * block for n in range(count)]
        self.destinations = [
            self.device.address + (count - 1 - n) * block for n in range(count)
        ]
        self.sizes = [block] * count
        blocks = [
            self.content[n * block : (n + 1) * block] for n in reversed(range(count))
        ]
        self.expected = b"".join(blocks)

    def swap(self, stream: Stream | int, **options: object) -> kvswap.SwapResult:
        """Host to device."""
        return swap(
            self.sources, self.destinations, self.sizes, stream=stream, **options
        )

    def is_copied(self) -> bool:
        """Whether the device has every block."""
        return self.device.read() == self.expected


@pytest.fixture
def stream(driver: CudaDriver) -> Iterator[Stream]:
    """A created stream in the current context of GPU 0."""
    with driver.primary_context():
        yield driver.stream(non_blocking=True)


def launches(simulator: kvswap_sim.Simulator) -> list[kvswap_sim.Call]:
    """The kernel launches since the trace was cleared."""
    return simulator.trace("cuLaunchKernel")


@pytest.mark.parametrize(
    ("count", "kernels"),
    [
        (1, ["4k"]),
        (_SMALL, ["4k"]),
        (_SMALL + 1, ["32k"]),
        (_LARGE, ["32k"]),
        # A small one first, for the GPU to begin with.
        (_LARGE + 1, ["4k", "32k"]),
        (_SMALL + 2 * _LARGE + 1, ["4k", "32k", "32k", "4k"]),
    ],
)
def test_launches_hold_as_many_copies_as_fit(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    stream: Stream,
    count: int,
    kernels: list[str],
) -> None:
    pair = Pair(driver, count, 16)
    simulator.clear_trace()
    result = pair.swap(stream, engine="kernel")
    names = [call.arguments["kernel"] for call in launches(simulator)]
    assert names == [f"kvswap_plain_compact_{form}" for form in kernels]
    assert result.copies == {**result.copies, "kernel": count}
    driver.synchronize()
    assert pair.is_copied()


def test_drivers_before_12_1_pass_4_kb() -> None:
    launched = child_process.run(
        "tests.engine.kernel_test",
        "launch_two_small_and_a_rest",
        environment=kvswap_sim.environment("12.0"),
    )
    assert launched == ["kvswap_plain_compact_4k"] * 3


def launch_two_small_and_a_rest() -> list[str]:
    """The kernels of a call with more copies than two small launches hold."""
    simulator, driver = kvswap_sim.Simulator(), CudaDriver()
    with driver.primary_context():
        pair = Pair(driver, 2 * _SMALL + 1, 16)
        with driver.stream() as stream:
            pair.swap(stream, engine="kernel")
            driver.synchronize()
        assert pair.is_copied()
    return [call.arguments["kernel"] for call in launches(simulator)]


def test_the_callers_arrays_are_read_before_the_call_returns(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    pair = Pair(driver, _COUNT)
    columns = arrays(pair.sources, pair.destinations, pair.sizes)
    simulator.hold()
    kvswap.swap_blocks_batch(*columns, stream=stream, engine="kernel")
    for column in columns:
        column[:] = 0
    simulator.hold(False)
    driver.synchronize()
    assert pair.is_copied()


@pytest.mark.parametrize("rule", [_KERNEL_RULE, _BULK_RULE])
def test_a_captured_launch_keeps_its_copies(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    stream: Stream,
    rule: kvswap.PolicyRule,
) -> None:
    pair = Pair(driver, _COUNT)
    columns = arrays(pair.sources, pair.destinations, pair.sizes)
    stream.begin_capture()
    result = kvswap.swap_blocks_batch(
        *columns, stream=stream, policy=kvswap.Policy([rule])
    )
    graph = stream.end_capture()
    assert result.copies["kernel"] == _COUNT
    assert graph.node_count() == 1
    for column in columns:
        column[:] = 0
    executable = graph.instantiate()
    for _ in range(2):
        pair.device.write(bytes(pair.device.size))
        driver.synchronize()
        executable.launch(stream)
        driver.synchronize()
        assert pair.is_copied()


@pytest.mark.parametrize("failed_launch", [1, 2])
@pytest.mark.parametrize("engine", ["auto", "kernel"])
def test_a_refused_launch_leaves_its_copies_to_the_copy_engine(
    simulator: kvswap_sim.Simulator,
    driver: CudaDriver,
    stream: Stream,
    engine: str,
    failed_launch: int,
) -> None:
    count = _LARGE + 100
    pair = Pair(driver, count, 16)
    policy = kvswap.Policy([_KERNEL_RULE])
    pair.swap(stream, engine=engine, policy=policy)
    driver.synchronize()
    pair.device.write(bytes(pair.device.size))
    driver.synchronize()
    simulator.fail("cuLaunchKernel", _LAUNCH_OUT_OF_RESOURCES, failed_launch)
    result = pair.swap(stream, engine=engine, policy=policy)
    by_kernel = 0 if failed_launch == 1 else _SMALL
    assert result.copies["kernel"] == by_kernel
    assert result.copies["batch"] == count - by_kernel
    assert result.submitted == count
    assert result.submitted_bytes == count * 16
    assert result.unavailable["kernel"] == "launch_failed"
    driver.synchronize()
    assert pair.is_copied()
    assert simulator.violations() == []


def test_a_launch_refused_with_a_sticky_error_is_reported(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    pair = Pair(driver, _COUNT)
    pair.swap(stream, engine="kernel")
    driver.synchronize()
    simulator.fail("cuLaunchKernel", 719)
    simulator.fail("cuMemcpyBatchAsync", 719, every=True)
    with pytest.raises(kvswap.SwapError) as raised:
        pair.swap(stream, engine="kernel")
    assert raised.value.cuda_error == 719
    assert raised.value.submitted == 0


def test_a_launch_that_ended_a_capture_is_reported(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    pair = Pair(driver, _COUNT)
    pair.swap(stream, engine="kernel")
    driver.synchronize()
    stream.begin_capture()
    # Together, what a real driver answers to a refused launch in a capture.
    simulator.fail("cuLaunchKernel", 1)
    simulator.fail("cuMemcpyAsync", 901, every=True)
    with pytest.raises(kvswap.SwapError, match="cuLaunchKernel") as raised:
        pair.swap(stream, engine="kernel")
    assert raised.value.cuda_error == 1
    assert raised.value.submitted == 0
    assert raised.value.index is None


@pytest.mark.parametrize("code", [_NO_BINARY, _OUT_OF_MEMORY])
def test_images_that_the_driver_refuses(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream, code: int
) -> None:
    pair = Pair(driver, _COUNT)
    simulator.fail("cuModuleLoadData", code, every=True)
    result = pair.swap(stream, engine="kernel")
    assert result.copies["batch"] == _COUNT
    assert result.unavailable["kernel"] == "no_kernel_image"
    info = kvswap.kernel_info()
    assert not info.available
    assert info.reason == "no_kernel_image"
    assert "sm_90" in info.message
    assert str(code) in info.message
    with pytest.raises(kvswap.UnsupportedError) as raised:
        pair.swap(stream, engine="kernel", strict=True)
    assert "kvswap_get_kernel_info" in str(raised.value)
    driver.synchronize()
    assert pair.is_copied()
    # A refused image is refused for good; memory may be free later.
    simulator.clear_faults()
    copies = [pair.swap(stream, engine="kernel").copies["kernel"] for _ in range(4)]
    assert (copies[-1] == _COUNT) == (code == _OUT_OF_MEMORY)


def test_another_image_where_the_first_is_refused(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    simulator.fail("cuModuleLoadData", _NO_BINARY, 1)
    pair = Pair(driver, 10)
    assert pair.swap(stream, engine="kernel").copies["kernel"] == 10
    driver.synchronize()
    assert pair.is_copied()


@pytest.mark.parametrize("bytes_of_shared_memory", [0, 2048, 2303, 2304, 49152])
def test_a_device_with_little_shared_memory(bytes_of_shared_memory: int) -> None:
    """Where no ring fits, the plain kernel runs in place of the bulk one."""
    fits = bytes_of_shared_memory >= _SHARED_BYTES_OF_SMALLEST_RING
    assert child_process.run(
        "tests.engine.kernel_test",
        "swap_by_the_bulk_kernel",
        environment=kvswap_sim.environment(
            "13.0",
            device_attributes={_SHARED_MEMORY_ATTRIBUTE: bytes_of_shared_memory},
        ),
    ) == [fits, True, ["kvswap_bulk_compact_4k" if fits else "kvswap_plain_compact_4k"]]


def swap_by_the_bulk_kernel() -> list[object]:
    """Whether it is there, whether all arrived, and the kernels that ran."""
    simulator, driver = kvswap_sim.Simulator(), CudaDriver()
    with driver.primary_context():
        pair = Pair(driver, 10)
        with driver.stream() as stream:
            pair.swap(stream, policy=kvswap.Policy([_BULK_RULE]))
            stream.synchronize()
        names = [call.arguments["kernel"] for call in launches(simulator)]
        return [kvswap.kernel_info().bulk, pair.is_copied(), names]


def test_images_are_loaded_once_for_a_context(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    pair = Pair(driver, _COUNT)
    simulator.clear_trace()
    for _ in range(3):
        pair.swap(stream, engine="kernel")
    first = len(simulator.trace("cuModuleLoadData"))
    assert first == 2  # one of each size of parameters
    assert simulator.live()["modules"] == first
    other = driver.create_context()
    with other.current():
        own = driver.stream(non_blocking=True)
        second = Pair(driver, 10)
        assert second.swap(own, engine="kernel").copies["kernel"] == 10
        own.synchronize()
        assert second.is_copied()
    assert len(simulator.trace("cuModuleLoadData")) == 2 * first


def test_loading_disturbs_no_capture(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    pair = Pair(driver, 20)
    stream.begin_capture()
    assert pair.swap(stream, engine="kernel").copies["kernel"] == 20
    stream.end_capture().instantiate().launch(stream)
    driver.synchronize()
    assert pair.is_copied()


def test_memory_that_a_kernel_may_not_touch_goes_by_the_copy_engine(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    pair = Pair(driver, 64)
    pageable = bytearray(64 * _BLOCK)
    pageable[:] = pair.content
    address = ctypes.addressof(ctypes.c_char.from_buffer(pageable))
    sources = [
        (address + n * _BLOCK if n % 3 == 0 else source)
        for n, source in enumerate(pair.sources)
    ]
    result = swap(
        sources, pair.destinations, pair.sizes, stream=stream, engine="kernel"
    )
    assert result.copies["kernel"] == 42
    assert result.copies["batch"] == 22
    assert result.pageable == 22
    assert result.unavailable["kernel"] == "not_reachable"
    driver.synchronize()
    assert pair.is_copied()
    with pytest.raises(kvswap.UnsupportedError) as raised:
        swap(
            sources,
            pair.destinations,
            pair.sizes,
            stream=stream,
            engine="kernel",
            strict=True,
        )
    assert raised.value.index == 0


def test_registered_memory_that_the_device_has_at_another_address(
    simulator: kvswap_sim.Simulator, driver: CudaDriver
) -> None:
    """As on WSL: the host pointer is no device pointer."""
    simulator.set_device_attribute(0, _REGISTERED_MEMORY_ATTRIBUTE, 0)
    with driver.primary_context():
        stream = driver.stream(non_blocking=True)
        pair = Pair(driver, 64)
        mapping = mmap.mmap(-1, 64 * _BLOCK)
        mapping[:] = pair.content
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        driver.register(address, len(mapping))
        result = swap(
            [address + n * _BLOCK for n in range(64)],
            pair.destinations,
            pair.sizes,
            stream=stream,
            engine="kernel",
        )
        assert result.copies["kernel"] == 0
        assert result.unavailable["kernel"] == "not_reachable"
        driver.synchronize()
        assert pair.is_copied()


def test_a_read_only_registration_is_read_by_kernels_and_not_written(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    pair = Pair(driver, 64)
    mapping = mmap.mmap(-1, 64 * _BLOCK)
    mapping[:] = pair.content
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    driver.register(address, len(mapping), read_only=True)
    blocks = [address + n * _BLOCK for n in range(64)]
    result = swap(blocks, pair.destinations, pair.sizes, stream=stream, engine="kernel")
    assert result.copies["kernel"] == 64
    driver.synchronize()
    assert pair.is_copied()
    with pytest.raises(kvswap.SwapError) as raised:
        swap(pair.destinations, blocks, pair.sizes, stream=stream, engine="kernel")
    assert raised.value.cuda_error == 1
    driver.synchronize()
    assert bytes(mapping) == pair.content


def test_one_question_for_each_mapping(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    """As memory of torch's expandable segments: many mappings, blocks all over."""
    granularity = driver.mapping_granularity()
    mappings = 300
    virtual = driver.virtual_memory(mappings * granularity)
    for number in range(mappings):
        virtual.map(number * granularity, granularity, 0)
    host = driver.pinned_memory(4 * mappings * 64)
    order = [(7 * n) % (4 * mappings) for n in range(4 * mappings)]
    simulator.clear_trace()
    result = swap(
        [virtual.address + n * (granularity // 4) + 1024 for n in order],
        [host.address + n * 64 for n in order],
        [64] * len(order),
        stream=stream,
        engine="kernel",
    )
    assert result.copies["kernel"] == len(order)
    questions = simulator.trace("cuPointerGetAttributes")
    assert len(questions) <= mappings + 1
    driver.synchronize()


def test_regions_of_one_size_share_launches(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    """Sizes that alternate along the call are launched size by size."""
    host = driver.pinned_memory(2 * 400 * 4096)
    device = driver.device_memory(2 * 400 * 4096)
    sizes = [4096 if n // 20 % 2 == 0 else 256 for n in range(800)]
    starts = [2 * n * 4096 % (800 * 4096) for n in range(800)]
    simulator.clear_trace()
    result = swap(
        [host.address + start for start in starts],
        [device.address + start for start in starts],
        sizes,
        stream=stream,
        engine="kernel",
    )
    assert result.copies["kernel"] == 800
    assert len(launches(simulator)) == 2
    driver.synchronize()


def test_long_copies_are_shared_among_warps(
    simulator: kvswap_sim.Simulator, driver: CudaDriver, stream: Stream
) -> None:
    pair = Pair(driver, 2, 1024 * 1024)
    simulator.clear_trace()
    assert pair.swap(stream, engine="kernel").copies["kernel"] == 2
    assert sum(call.arguments["grid_x"] for call in launches(simulator)) > 2
    driver.synchronize()
    assert pair.is_copied()
