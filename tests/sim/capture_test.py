"""Stream capture, what it forbids elsewhere, and graphs."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.sim.client import Start, cuda_driver

ACTIVE = cuda_driver.CAPTURE_STATUS_ACTIVE
INVALIDATED = cuda_driver.CAPTURE_STATUS_INVALIDATED
NONE = cuda_driver.CAPTURE_STATUS_NONE
GLOBAL = cuda_driver.CAPTURE_GLOBAL
THREAD_LOCAL = cuda_driver.CAPTURE_THREAD_LOCAL
RELAXED = cuda_driver.CAPTURE_RELAXED
MODES = [GLOBAL, THREAD_LOCAL, RELAXED]


class Scene:
    """Streams, an event that was recorded, and memory to copy between."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.blocking = driver.stream()
        self.free = driver.stream(non_blocking=True)
        self.other = driver.stream(non_blocking=True)
        self.event = driver.event()
        self.event.record(self.other)
        self.device = driver.device_memory(4096)
        self.pinned = driver.pinned_memory(4096)

    def copy(self, stream: Any) -> None:
        self.driver.copy_async(self.device.address, self.pinned.address, 64, stream)


@pytest.fixture
def scene(start: Start) -> Iterator[Scene]:
    _, driver = start("13.0")
    with driver.primary_context():
        yield Scene(driver)


def code_of(action: Callable[[], Any]) -> int:
    try:
        action()
    except cuda_driver.CudaError as error:
        return int(error.code)
    return 0


def on_another_thread(scene: Scene, action: Callable[[], Any]) -> int:
    """The code of an action on a thread with the same current context."""
    codes: list[int] = []

    def run() -> None:
        with scene.driver.primary_context():
            codes.append(code_of(action))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return codes[0]


@pytest.mark.parametrize("mode", MODES)
def test_copies_become_nodes(scene: Scene, mode: int) -> None:
    scene.free.begin_capture(mode)
    assert scene.free.capture_status() == ACTIVE
    scene.copy(scene.free)
    scene.driver.fill_async(scene.device.address, 1, 64, scene.free)
    with scene.free.end_capture() as graph:
        assert graph.node_count() == 2
    assert scene.free.capture_status() == NONE
    assert scene.device.read(0, 64) == bytes(64)


def test_replay_reads_memory_when_it_runs(scene: Scene) -> None:
    scene.pinned.view[:64] = b"\1" * 64
    scene.free.begin_capture()
    scene.copy(scene.free)
    with scene.free.end_capture() as graph:
        executable = graph.instantiate()
    for value in (2, 3):
        scene.pinned.view[:64] = bytes([value]) * 64
        executable.launch(scene.other)
        scene.other.synchronize()
        assert scene.device.read(0, 64) == bytes([value]) * 64
    executable.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("handle", [0, 1])
def test_asking_on_the_legacy_stream_is_harmless(
    scene: Scene, mode: int, handle: int
) -> None:
    scene.blocking.begin_capture(mode)
    assert code_of(lambda: scene.driver.capture_status(handle)) == 906
    assert scene.blocking.capture_status() == ACTIVE
    scene.blocking.end_capture().close()
    assert scene.driver.capture_status(handle) == NONE


@pytest.mark.parametrize("mode", MODES)
def test_capture_of_a_non_blocking_stream_leaves_the_legacy_stream_alone(
    scene: Scene, mode: int
) -> None:
    scene.free.begin_capture(mode)
    assert scene.driver.capture_status(0) == NONE
    scene.copy(0)
    scene.event.record(0)
    assert scene.free.capture_status() == ACTIVE
    scene.free.end_capture().close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "action",
    ["copy", "fill", "record", "wait", "synchronize", "query", "context"],
)
def test_use_of_the_legacy_stream_invalidates(
    scene: Scene, mode: int, action: str
) -> None:
    driver, event = scene.driver, scene.event
    found = ctypes.byref(ctypes.c_void_p())
    actions: dict[str, Callable[[], Any]] = {
        "copy": lambda: scene.copy(0),
        "fill": lambda: driver.fill_async(scene.device.address, 1, 64, 0),
        "record": lambda: event.record(0),
        "wait": lambda: driver.wait_event(0, event),
        "synchronize": lambda: driver.synchronize_stream(0),
        "query": lambda: driver.stream_is_done(0),
        "context": lambda: driver.call("cuStreamGetCtx", None, found),
    }
    scene.blocking.begin_capture(mode)
    assert on_another_thread(scene, actions[action]) == 906
    assert scene.blocking.capture_status() == INVALIDATED
    assert code_of(lambda: scene.copy(scene.blocking)) == 901
    assert code_of(scene.blocking.end_capture) == 901
    assert scene.blocking.capture_status() == NONE
    scene.copy(scene.blocking)


UNSAFE = {
    "event query": lambda scene: scene.event.query(),
    "event synchronize": lambda scene: scene.event.synchronize(),
    "stream query": lambda scene: scene.other.query(),
    "stream synchronize": lambda scene: scene.other.synchronize(),
    "context synchronize": lambda scene: scene.driver.synchronize(),
    "allocate": lambda scene: scene.driver.device_memory(64),
    "allocate host": lambda scene: scene.driver.pinned_memory(64),
    "free": lambda scene: scene.device.close(),
}

SAFE = {
    "stream": lambda scene: scene.driver.stream(),
    "event": lambda scene: scene.driver.event(),
    "attributes": lambda scene: scene.driver.pointer_attributes(scene.device.address),
    "copy elsewhere": lambda scene: scene.copy(scene.other),
    "record elsewhere": lambda scene: scene.event.record(scene.other),
    "batch elsewhere": lambda scene: scene.driver.copy_batch_async(
        [scene.device.address], [scene.pinned.address], [64], scene.other
    ),
    "capture status elsewhere": lambda scene: scene.other.capture_status(),
    "current": lambda scene: scene.driver.current_context(),
}


@pytest.mark.parametrize("action", UNSAFE)
@pytest.mark.parametrize("thread", ["same", "other"])
@pytest.mark.parametrize("mode", MODES)
def test_unsafe_calls(scene: Scene, mode: int, thread: str, action: str) -> None:
    forbidden = mode == GLOBAL or (mode == THREAD_LOCAL and thread == "same")
    if action == "context synchronize":
        # Forbidden while any stream of the context captures.
        forbidden = True
    scene.free.begin_capture(mode)

    def act() -> None:
        UNSAFE[action](scene)

    code = code_of(act) if thread == "same" else on_another_thread(scene, act)
    assert code == (900 if forbidden else 0)
    assert scene.free.capture_status() == (INVALIDATED if forbidden else ACTIVE)
    assert code_of(scene.free.end_capture) == (901 if forbidden else 0)


@pytest.mark.parametrize("action", SAFE)
@pytest.mark.parametrize("thread", ["same", "other"])
@pytest.mark.parametrize("mode", MODES)
def test_safe_calls(scene: Scene, mode: int, thread: str, action: str) -> None:
    scene.free.begin_capture(mode)

    def act() -> None:
        SAFE[action](scene)

    code = code_of(act) if thread == "same" else on_another_thread(scene, act)
    assert code == 0
    assert scene.free.capture_status() == ACTIVE
    scene.free.end_capture().close()


@pytest.mark.parametrize("thread", ["same", "other"])
@pytest.mark.parametrize("action", set(UNSAFE) - {"context synchronize"})
def test_exchanged_mode_permits_unsafe_calls(
    scene: Scene, thread: str, action: str
) -> None:
    scene.free.begin_capture(GLOBAL)

    def act() -> None:
        with scene.driver.thread_capture_mode(RELAXED):
            UNSAFE[action](scene)

    code = code_of(act) if thread == "same" else on_another_thread(scene, act)
    assert code == 0
    assert scene.free.capture_status() == ACTIVE
    scene.free.end_capture().close()


def test_begin(scene: Scene) -> None:
    begin = "cuStreamBeginCapture_v2"
    result = scene.driver.result
    for handle in (0, 1):
        assert result(begin, ctypes.c_void_p(handle), 0) == 900
    scene.free.begin_capture()
    assert code_of(scene.free.begin_capture) == 401
    scene.free.end_capture().close()
    assert code_of(scene.free.end_capture) == 401
    assert code_of(lambda: scene.free.begin_capture(9)) == 1


def test_per_thread_stream_captures(scene: Scene) -> None:
    stream = cuda_driver.Stream(scene.driver, cuda_driver.STREAM_PER_THREAD)
    stream.begin_capture()
    scene.copy(stream)
    # It is a blocking stream.
    assert code_of(lambda: scene.driver.capture_status(0)) == 906
    with stream.end_capture() as graph:
        assert graph.node_count() == 1


def test_end_in_another_thread(scene: Scene) -> None:
    scene.free.begin_capture(GLOBAL)
    assert on_another_thread(scene, scene.free.end_capture) == 908
    assert scene.free.capture_status() == NONE
    scene.free.begin_capture(RELAXED)
    assert on_another_thread(scene, scene.free.end_capture) == 0


def test_events_fork_and_join(scene: Scene) -> None:
    driver = scene.driver
    forked, joined = driver.event(), driver.event()
    scene.free.begin_capture()
    scene.copy(scene.free)
    forked.record(scene.free)
    scene.other.wait_event(forked)
    assert scene.other.capture_status() == ACTIVE
    scene.copy(scene.other)
    joined.record(scene.other)
    scene.free.wait_event(joined)
    scene.copy(scene.free)
    with scene.free.end_capture() as graph:
        assert graph.node_count() == 3
    assert scene.other.capture_status() == NONE


def test_unjoined(scene: Scene) -> None:
    forked = scene.driver.event()
    scene.free.begin_capture()
    forked.record(scene.free)
    scene.other.wait_event(forked)
    scene.copy(scene.other)
    assert code_of(scene.free.end_capture) == 904
    assert scene.other.capture_status() == NONE


def test_end_on_the_wrong_stream(scene: Scene) -> None:
    forked = scene.driver.event()
    scene.free.begin_capture()
    forked.record(scene.free)
    scene.other.wait_event(forked)
    assert code_of(scene.other.end_capture) == 903
    assert code_of(scene.free.end_capture) == 901


def test_event_of_a_capture(scene: Scene) -> None:
    scene.free.begin_capture(RELAXED)
    scene.event.record(scene.free)
    assert code_of(scene.event.query) == 907
    assert scene.free.capture_status() == INVALIDATED
    assert code_of(scene.free.end_capture) == 901
    scene.event.record(scene.other)
    scene.event.synchronize()


def test_event_from_before_the_capture(scene: Scene) -> None:
    scene.free.begin_capture()
    assert code_of(lambda: scene.free.wait_event(scene.event)) == 905
    assert code_of(scene.free.end_capture) == 901


def test_two_captures_cannot_merge(scene: Scene) -> None:
    forked = scene.driver.event()
    scene.free.begin_capture(RELAXED)
    scene.other.begin_capture(RELAXED)
    forked.record(scene.free)
    assert code_of(lambda: scene.other.wait_event(forked)) == 902
    assert code_of(scene.free.end_capture) == 901
    assert code_of(scene.other.end_capture) == 901


def test_destroyed_stream_ends_its_capture(scene: Scene) -> None:
    scene.other.begin_capture()
    scene.other.close()
    scene.event.query()


def test_capture_info(scene: Scene) -> None:
    status, identity = ctypes.c_int(), ctypes.c_uint64()
    graph, count = ctypes.c_void_p(), ctypes.c_size_t()
    nodes = ctypes.c_void_p()
    scene.free.begin_capture()
    scene.copy(scene.free)
    scene.driver.call(
        "cuStreamGetCaptureInfo_v2",
        ctypes.c_void_p(scene.free.handle),
        *[ctypes.byref(x) for x in (status, identity, graph, nodes, count)],
    )
    assert (status.value, count.value) == (ACTIVE, 1)
    assert identity.value
    ended = scene.free.end_capture()
    assert ended.handle == graph.value
    assert code_of(lambda: scene.driver.capture_status(0)) == 0
    ended.close()


def test_graph_outlives_what_it_was_made_from(start: Start) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        scene = Scene(driver)
        scene.free.begin_capture()
        scene.copy(scene.free)
        graph = scene.free.end_capture()
        executable = graph.instantiate()
        graph.close()
        live = simulator.live()
        assert (live["graphs"], live["graph_executables"]) == (0, 1)
        executable.launch(scene.other)
        executable.close()
        scene.other.synchronize()
        launch = ("cuGraphLaunch", ctypes.c_void_p(executable.handle), None)
        assert driver.result(*launch) == 1


def test_launch_into_a_capture_is_refused(scene: Scene) -> None:
    scene.free.begin_capture()
    scene.copy(scene.free)
    with scene.free.end_capture() as graph, graph.instantiate() as executable:
        scene.free.begin_capture()
        assert code_of(lambda: executable.launch(scene.free)) == 900
        assert code_of(scene.free.end_capture) == 901


@pytest.mark.parametrize("wrong", ["range", "null"])
def test_bad_copy_under_capture(scene: Scene, wrong: str) -> None:
    destination = scene.device.address + 4090 if wrong == "range" else 0
    scene.free.begin_capture()
    copy = (destination, scene.pinned.address, 64, scene.free)
    assert code_of(lambda: scene.driver.copy_async(*copy)) == 1
    status = scene.free.capture_status()
    assert status in (ACTIVE, INVALIDATED)
    assert code_of(scene.free.end_capture) == (0 if status == ACTIVE else 901)
