"""cuMemcpyBatchAsync: what it refuses, and its two ABIs."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from tests.sim import child
from tests.sim.client import Start, cuda_driver

NONE = 2**64 - 1
UNTOUCHED = 0x5A5A
VERSIONS = ["12.8", "12.9", "13.0", "13.5"]


class Batch:
    """Arguments of a batch of copies, to change and to pass."""

    def __init__(self, driver: Any, copies: list[tuple[int, int, int]]) -> None:
        self.driver = driver
        count = max(len(copies), 1)
        self.destinations = (ctypes.c_uint64 * count)(*[c[0] for c in copies])
        self.sources = (ctypes.c_uint64 * count)(*[c[1] for c in copies])
        self.sizes = (ctypes.c_size_t * count)(*[c[2] for c in copies])
        self.count = len(copies)
        self.attributes = (cuda_driver.MemcpyAttributes * 4)()
        for attribute in self.attributes:
            attribute.source_access_order = 1
        self.indices = (ctypes.c_size_t * 4)()
        self.attribute_count = 1
        self.failed = ctypes.c_size_t(UNTOUCHED)

    def common(self) -> tuple[Any, ...]:
        return (
            self.destinations,
            self.sources,
            self.sizes,
            ctypes.c_size_t(self.count),
            self.attributes,
            self.indices,
            ctypes.c_size_t(self.attribute_count),
        )

    def nine(self, stream: Any) -> tuple[int, int]:
        """The 9-argument function; its code and the failed index."""
        code = self.driver.result(
            "cuMemcpyBatchAsync",
            *self.common(),
            ctypes.byref(self.failed),
            ctypes.c_void_p(cuda_driver.stream_handle(stream)),
        )
        return code, self.failed.value

    def eight(self, stream: Any) -> int:
        """The 8-argument function; its code."""
        return int(
            self.driver.result(
                "cuMemcpyBatchAsync_v2",
                *self.common(),
                ctypes.c_void_p(cuda_driver.stream_handle(stream)),
            )
        )


class Scene:
    """A context, a stream, and memory to copy between."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.stream = driver.stream(non_blocking=True)
        self.blocking = driver.stream()
        self.device = driver.device_memory(4096)
        self.pinned = driver.pinned_memory(4096)

    def copies(self, count: int = 3) -> list[tuple[int, int, int]]:
        return [
            (self.device.address + 64 * i, self.pinned.address + 64 * i, 64)
            for i in range(count)
        ]

    def batch(self, count: int = 3) -> Batch:
        return Batch(self.driver, self.copies(count))


@pytest.fixture(params=VERSIONS)
def scene(start: Start, request: pytest.FixtureRequest) -> Any:
    _, driver = start(request.param)
    with driver.primary_context():
        yield Scene(driver)


def test_accepted(scene: Scene) -> None:
    for stream in (scene.stream, scene.blocking, 2):
        assert scene.batch().nine(stream) == (0, NONE)


def test_legacy_stream(scene: Scene) -> None:
    assert scene.batch().nine(0) == (1, UNTOUCHED)
    assert scene.batch().nine(1) == (1, NONE)


def test_count_0(scene: Scene) -> None:
    assert Batch(scene.driver, []).nine(scene.stream) == (1, NONE)


@pytest.mark.parametrize("index", [0, 2])
@pytest.mark.parametrize("what", ["size", "destination", "source", "range"])
def test_bad_copy(scene: Scene, what: str, index: int) -> None:
    batch = scene.batch()
    if what == "size":
        batch.sizes[index] = 0
    elif what == "destination":
        batch.destinations[index] = 0
    elif what == "source":
        batch.sources[index] = 0
    else:
        batch.destinations[index] = scene.device.address + 4096 - 8
    assert batch.nine(scene.stream) == (1, index)


def test_first_bad_copy_is_named(scene: Scene) -> None:
    batch = scene.batch()
    batch.sizes[1] = 0
    batch.sources[2] = 0
    assert batch.nine(scene.stream) == (1, 1)


def test_copies_ahead_of_the_one_at_fault_may_run(start: Start) -> None:
    """Seen on driver 580. None of those behind it does."""
    seen = set()
    for seed in range(20):
        simulator, driver = start("13.0", seed=seed)
        with driver.primary_context():
            scene = Scene(driver)
            scene.pinned.view[:] = b"\1" * 4096
            batch = scene.batch(5)
            batch.sizes[2] = 0
            assert batch.nine(scene.stream) == (1, 2)
            driver.synchronize()
            seen.add(bytes(scene.device.read(0, 5 * 64)[::64]))
    assert seen == {b"\0\0\0\0\0", b"\1\0\0\0\0", b"\1\1\0\0\0"}


@pytest.mark.parametrize(("wild", "died"), [(1, True), (3, False)])
def test_wild_address_and_refused_copy(wild: int, died: bool) -> None:
    """Copies are looked at in turn: a refused one hides what comes after it."""
    result = child.run(
        f"""
        driver = cuda_driver.CudaDriver()
        with driver.primary_context():
            device, pinned = driver.device_memory(64), driver.pinned_memory(64)
            sources = [pinned.address] * 4
            sources[{wild}] = 4096
            try:
                driver.copy_batch_async(
                    [device.address] * 4, sources, [8, 8, 0, 8], driver.stream()
                )
            except cuda_driver.BatchError as error:
                print(error.index)
        """
    )
    assert (result.returncode == -11) == died
    assert result.stdout == ("" if died else "2\n")


@pytest.mark.parametrize("array", ["destinations", "sources", "sizes"])
def test_no_array(scene: Scene, array: str) -> None:
    batch = scene.batch()
    setattr(batch, array, None)
    assert batch.nine(scene.stream) == (1, NONE)


@pytest.mark.parametrize("order", [-1, 0, 4])
def test_bad_access_order(scene: Scene, order: int) -> None:
    batch = scene.batch()
    batch.attributes[0].source_access_order = order
    assert batch.nine(scene.stream) == (1, NONE)


def test_unknown_flags(scene: Scene) -> None:
    batch = scene.batch()
    batch.attributes[0].flags = 2
    assert batch.nine(scene.stream) == (1, NONE)
    batch.attributes[0].flags = 1
    assert batch.nine(scene.stream) == (0, NONE)


@pytest.mark.parametrize(
    ("indices", "code"),
    [
        ([0], 0),
        ([1], 1),
        ([0, 1], 0),
        ([0, 2], 0),
        ([0, 3], 1),
        ([0, 0], 1),
        ([0, 2, 1], 1),
        ([0, 1, 2], 0),
        ([0, 1, 2, 3], 1),
        ([], 1),
    ],
)
def test_attribute_indices(scene: Scene, indices: list[int], code: int) -> None:
    batch = scene.batch()
    batch.attribute_count = len(indices)
    for position, index in enumerate(indices):
        batch.indices[position] = index
    assert batch.nine(scene.stream) == (code, NONE)


def test_mixed_directions(scene: Scene) -> None:
    copies = scene.copies(2)
    host = ctypes.create_string_buffer(64)
    copies.append((scene.pinned.address + 1024, scene.device.address, 64))
    copies.append((scene.pinned.address + 2048, scene.pinned.address, 64))
    copies.append((scene.device.address + 2048, ctypes.addressof(host), 64))
    assert Batch(scene.driver, copies).nine(scene.stream) == (0, NONE)
    scene.stream.synchronize()


def test_under_capture_it_is_refused_and_missing(scene: Scene) -> None:
    scene.stream.begin_capture()
    assert scene.batch().nine(scene.stream) == (900, NONE)
    assert scene.stream.capture_status() == cuda_driver.CAPTURE_STATUS_ACTIVE
    with scene.stream.end_capture() as graph:
        assert graph.node_count() == 0


def test_capture_can_be_allowed(start: Start) -> None:
    simulator, driver = start("13.5")
    simulator.set_batch_capture(True)
    with driver.primary_context():
        scene = Scene(driver)
        scene.pinned.view[:] = b"\3" * 4096
        scene.stream.begin_capture()
        assert scene.batch().nine(scene.stream) == (0, NONE)
        driver.copy_async(
            scene.device.address + 1024,
            scene.device.address,
            64,
            scene.stream,
        )
        with scene.stream.end_capture() as graph:
            assert graph.node_count() == 4
            with graph.instantiate() as executable:
                executable.launch(scene.stream)
                scene.stream.synchronize()
        assert scene.device.read(1024, 64) == b"\3" * 64


def test_eight_arguments(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        scene = Scene(driver)
        assert scene.batch().eight(scene.stream) == 0
        assert scene.batch().eight(0) == 1
        assert scene.batch().eight(1) == 1
        bad = scene.batch()
        bad.sizes[1] = 0
        assert bad.eight(scene.stream) == 1
    calls = simulator.trace("cuMemcpyBatchAsync")
    assert [call.version for call in calls] == [13000] * 4
    assert calls[-1].note == "copy 1: size 0"


def test_the_two_functions_are_told_apart_in_the_record(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        scene = Scene(driver)
        scene.batch().nine(scene.stream)
        scene.batch().eight(scene.stream)
    assert [
        (call.version, call.symbol, "failed_index" in call.arguments)
        for call in simulator.trace("cuMemcpyBatchAsync")
    ] == [
        (12080, "cuMemcpyBatchAsync", True),
        (13000, "cuMemcpyBatchAsync_v2", False),
    ]


def test_nine_arguments_for_the_function_of_eight(start: Start) -> None:
    """The stream argument is then where the failed index should go."""
    simulator, driver = start("13.0")
    with driver.primary_context():
        scene = Scene(driver)
        batch = scene.batch()
        code = driver.result(
            "cuMemcpyBatchAsync_v2",
            *batch.common(),
            ctypes.byref(batch.failed),
            ctypes.c_void_p(scene.stream.handle),
        )
        assert code == 400
        assert batch.failed.value == UNTOUCHED
    call = simulator.trace("cuMemcpyBatchAsync_v2")[-1]
    assert call.arguments["stream"] == ctypes.addressof(batch.failed)
    assert "is no stream of this driver" in call.note
    assert len(simulator.violations()) == 1
    simulator.clear_violations()


@pytest.mark.parametrize("kind", ["created", "per thread"])
def test_eight_arguments_for_the_function_of_nine(start: Start, kind: str) -> None:
    """The failed index argument is then a stream."""
    simulator, driver = start("13.0")
    with driver.primary_context():
        scene = Scene(driver)
        stream = scene.stream.handle if kind == "created" else 2
        batch = scene.batch()
        code = driver.result(
            "cuMemcpyBatchAsync",
            *batch.common(),
            ctypes.c_void_p(stream),
            # What happens to lie on the stack.
            ctypes.c_void_p(0xDEAD),
        )
        assert code == 1
    assert "8-argument function" in simulator.trace("cuMemcpyBatchAsync")[-1].note
    assert len(simulator.violations()) == 1
    simulator.clear_violations()


def test_stack_address_as_stream(start: Start) -> None:
    """What C code passes that takes one function for the other."""
    simulator, driver = start("13.0")
    with driver.primary_context():
        scene = Scene(driver)
        loader = ctypes.CDLL(None)
        end = ctypes.c_size_t.in_dll(loader, "__libc_stack_end").value
        assert scene.batch().nine(end - 256)[0] == 400
    note = simulator.trace("cuMemcpyBatchAsync")[-1].note
    assert "on the calling thread's stack" in note
    simulator.clear_violations()
