"""Arguments of launches, their order among other work, captures and the record."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kvswap_sim
from tests.sim import child, kernels
from tests.sim.client import Start, cuda_driver
from tests.sim.kernel_images import Kernel, cubin

INVALID_VALUE = 1
INVALID_CONTEXT = 201
INVALID_HANDLE = 400
OUT_OF_RESOURCES = 701
NOT_SUPPORTED = 801
SIZE = 256


class Scene:
    """Kernels, streams, and memory to copy between."""

    def __init__(self, simulator: kvswap_sim.Simulator, driver: Any) -> None:
        self.simulator = simulator
        self.driver = driver
        self.module = kernels.Module(driver)
        self.kernel = self.module.function("kvswap_plain_sized_4k")
        self.free = driver.stream(non_blocking=True)
        self.blocking = driver.stream()
        self.memory = driver.device_memory(16 * SIZE)
        self.pinned = driver.pinned_memory(16 * SIZE)

    def block(self, index: int) -> int:
        return int(self.memory.address) + index * SIZE

    def parameters(self, source: int, destination: int) -> bytes:
        """Of a copy of one block of the device memory to another."""
        return kernels.sized_parameters(
            [(self.block(source), self.block(destination), SIZE)]
        )

    def copy(self, source: int, destination: int, stream: Any = 0) -> None:
        self.kernel.launch(self.parameters(source, destination), stream)

    def now(self, index: int) -> int:
        """The first byte of a block, past all pending work."""
        return self.simulator.peek(self.block(index), 1)[0]


@pytest.fixture
def scene(start: Start) -> Iterator[Scene]:
    simulator, driver = start("13.0", devices=2)
    with driver.primary_context():
        yield Scene(simulator, driver)


@pytest.mark.parametrize(
    ("shape", "code"),
    [
        ({}, 0),
        ({"grid": (2147483647, 1, 1), "block": (1, 1, 1)}, 0),
        ({"grid": (0, 1, 1)}, INVALID_VALUE),
        ({"grid": (1, 0, 1)}, INVALID_VALUE),
        ({"grid": (1, 1, 0)}, INVALID_VALUE),
        ({"grid": (1, 65536, 1)}, INVALID_VALUE),
        ({"grid": (1, 1, 65536)}, INVALID_VALUE),
        ({"grid": (2147483648, 1, 1)}, INVALID_VALUE),
        ({"block": (0, 1, 1)}, INVALID_VALUE),
        ({"block": (1024, 1, 1)}, 0),
        ({"block": (1025, 1, 1)}, INVALID_VALUE),
        ({"block": (512, 2, 2)}, INVALID_VALUE),
        ({"block": (1, 1, 65)}, INVALID_VALUE),
        ({"shared_bytes": 49152}, 0),
        ({"shared_bytes": 49153}, INVALID_VALUE),
    ],
)
def test_shapes(scene: Scene, shape: dict[str, Any], code: int) -> None:
    # Captured, because the largest grid is not to run.
    scene.free.begin_capture()
    parameters = scene.parameters(0, 1)
    assert scene.kernel.launch_code(parameters, scene.free, **shape) == code
    if code == 0:
        with scene.free.end_capture() as graph:
            assert graph.node_count() == 1
    else:
        # A refused launch ends the capture that it was to be in.
        assert scene.free.capture_status() == cuda_driver.CAPTURE_STATUS_INVALIDATED


def test_launch_bounds(scene: Scene) -> None:
    bulk = scene.module.function("kvswap_bulk_sized_4k")
    parameters = scene.parameters(0, 1)
    assert (
        bulk.launch_code(parameters, block=(33, 1, 1), shared_bytes=16384)
        == INVALID_VALUE
    )
    assert bulk.launch_code(parameters, block=(4, 8, 1), shared_bytes=16384) == 0


def test_shared_memory_that_was_allowed(scene: Scene) -> None:
    bulk = scene.module.function("kvswap_bulk_sized_4k")
    parameters = scene.parameters(0, 1)
    assert bulk.launch_code(parameters, shared_bytes=65536) == INVALID_VALUE
    assert bulk.set_attribute(bulk.MAX_DYNAMIC_SHARED_BYTES, 65536) == 0
    assert bulk.launch_code(parameters, shared_bytes=65536) == 0
    assert bulk.launch_code(parameters, shared_bytes=65537) == INVALID_VALUE
    # Another function's is its own.
    assert scene.kernel.launch_code(parameters, shared_bytes=65536) == INVALID_VALUE
    assert bulk.set_attribute(bulk.MAX_DYNAMIC_SHARED_BYTES, 0) == 0
    assert bulk.launch_code(parameters, shared_bytes=1) == INVALID_VALUE


def test_parameters_are_needed(scene: Scene) -> None:
    assert scene.kernel.launch_code(None) == INVALID_VALUE


@pytest.mark.parametrize(
    ("difference", "code"), [(0, 0), (-1, 0), (1, OUT_OF_RESOURCES)]
)
def test_extra(scene: Scene, difference: int, code: int) -> None:
    """The other form of parameters: a buffer, which may be short, and its size."""
    scene.simulator.poke(scene.block(0), b"\3" * SIZE)
    parameters = scene.parameters(0, 1)
    buffer = ctypes.create_string_buffer(parameters, len(parameters) + 1)
    size = ctypes.c_size_t(len(parameters) + difference)
    extra = (ctypes.c_void_p * 5)(
        1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 0
    )
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
    shape = [ctypes.c_uint(number) for number in (1, 1, 1, 32, 1, 1, 0)]

    def launch(parameters: Any) -> int:
        return int(
            scene.driver.result(
                "cuLaunchKernel", scene.kernel.handle, *shape, None, parameters, extra
            )
        )

    assert launch(pointers) == INVALID_VALUE
    assert launch(None) == code
    scene.driver.synchronize()
    assert scene.now(1) == (3 if code == 0 else 0)


def test_handles(scene: Scene) -> None:
    driver = scene.driver
    function = kernels.Function(driver, ctypes.c_void_p())
    assert function.launch_code(scene.parameters(0, 1)) == INVALID_HANDLE
    function = kernels.Function(driver, ctypes.c_void_p(scene.free.handle))
    assert function.launch_code(scene.parameters(0, 1)) == INVALID_HANDLE
    with driver.primary_context(1):
        # Of another context than the function: the current one's, and its own.
        assert scene.kernel.launch_code(scene.parameters(0, 1)) == INVALID_HANDLE
        code = scene.kernel.launch_code(scene.parameters(0, 1), driver.stream())
        assert code == INVALID_HANDLE
        # A stream works in its own context, whichever is current.
        assert scene.kernel.launch_code(scene.parameters(0, 1), scene.free) == 0
    driver.call("cuCtxPopCurrent_v2", None)
    for handle in (0, 1, 2):
        code = scene.kernel.launch_code(scene.parameters(0, 1), handle)
        assert code == INVALID_CONTEXT
    assert scene.kernel.launch_code(scene.parameters(0, 1), scene.free) == 0
    context = driver.retain_primary()
    driver.call("cuCtxPushCurrent_v2", ctypes.c_void_p(context.handle))
    driver.synchronize()
    scene.module.unload()
    assert scene.kernel.launch_code(scene.parameters(0, 1)) == INVALID_HANDLE


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("entry", ["cuLaunchKernel", "cuLaunchKernel_ptsz"])
@pytest.mark.parametrize("stream", ["free", "blocking", 0, 1, 2])
def test_stream_order(scene: Scene, seed: int, entry: str, stream: Any) -> None:
    scene.simulator.seed = seed
    on = getattr(scene, stream) if isinstance(stream, str) else stream
    # Handle 0 of the per-thread variety is the per-thread stream.
    of_copies = 2 if (stream, entry) == (0, "cuLaunchKernel_ptsz") else on
    driver = scene.driver
    scene.pinned.view[:SIZE] = b"\4" * SIZE
    driver.copy_async(scene.block(0), scene.pinned.address, SIZE, of_copies)
    for index in range(5):
        parameters = scene.parameters(index, index + 1)
        scene.kernel.launch(parameters, on, entry=entry)
    target = scene.pinned.address + SIZE
    driver.copy_async(target, scene.block(5), SIZE, of_copies)
    driver.fill_async(scene.block(0), 9, SIZE, of_copies)
    driver.synchronize_stream(of_copies)
    assert bytes(scene.pinned.view[SIZE : 2 * SIZE]) == b"\4" * SIZE
    assert [scene.now(index) for index in range(6)] == [9, 4, 4, 4, 4, 4]


def chains_disagree(scene: Scene, first: Any, second: Any, seeds: int = 20) -> bool:
    """Whether a launch on one stream ever fails to see one on another before it."""
    for seed in range(seeds):
        scene.simulator.seed = seed
        scene.simulator.poke(scene.block(0), bytes([seed + 1]) * SIZE)
        scene.copy(0, 1, first)
        scene.copy(1, 2, second)
        scene.driver.synchronize()
        if scene.now(2) != seed + 1:
            return True
    return False


def test_order_among_streams(scene: Scene) -> None:
    per_thread = cuda_driver.STREAM_PER_THREAD
    for other in (scene.blocking, per_thread):
        for first, second in ((0, other), (other, 0)):
            assert not chains_disagree(scene, first, second)
    for first, second in (
        (0, scene.free),
        (scene.free, 0),
        (scene.free, scene.blocking),
        (scene.blocking, per_thread),
    ):
        assert chains_disagree(scene, first, second)


@pytest.mark.parametrize("legacy", [0, 1])
@pytest.mark.parametrize("missing", ["nothing", "fork", "join"])
def test_events_bridge_the_legacy_stream(
    scene: Scene, legacy: int, missing: str
) -> None:
    """Work of a non-blocking stream takes a place in the legacy stream's order."""
    driver = scene.driver
    fork, join = driver.event(), driver.event()
    right = True
    for seed in range(30):
        scene.simulator.seed = seed
        value = bytes([seed + 1])
        scene.simulator.poke(scene.block(0), value * SIZE)
        # Ahead of it on a blocking stream, which the legacy stream waits for.
        scene.copy(0, 1, scene.blocking)
        fork.record(legacy)
        if missing != "fork":
            scene.free.wait_event(fork)
        scene.copy(1, 2, scene.free)
        join.record(scene.free)
        if missing != "join":
            driver.wait_event(legacy, join)
        # Behind it, on streams that wait for the legacy one.
        scene.copy(2, 3, legacy)
        scene.copy(2, 4, scene.blocking)
        scene.copy(2, 5, cuda_driver.STREAM_PER_THREAD)
        driver.synchronize()
        right = right and all(scene.now(i) == seed + 1 for i in (2, 3, 4, 5))
    assert right == (missing == "nothing")


def test_launches_do_not_run_at_once(scene: Scene) -> None:
    scene.simulator.poke(scene.block(0), b"\1" * SIZE)
    scene.simulator.hold()
    scene.copy(0, 1, scene.free)
    assert scene.simulator.pending() == 1
    assert scene.now(1) == 0
    # Memory is read when a kernel runs, parameters when it is launched.
    scene.simulator.poke(scene.block(0), b"\2" * SIZE)
    scene.free.synchronize()
    assert scene.now(1) == 2


def node_types(scene: Scene, graph: Any) -> list[int]:
    count = ctypes.c_size_t(graph.node_count())
    nodes = (ctypes.c_void_p * count.value)()
    handle = ctypes.c_void_p(graph.handle)
    scene.driver.call("cuGraphGetNodes", handle, nodes, ctypes.byref(count))
    types = []
    for node in nodes:
        kind = ctypes.c_int(-1)
        scene.driver.call(
            "cuGraphNodeGetType", ctypes.c_void_p(node), ctypes.byref(kind)
        )
        types.append(kind.value)
    return types


def test_capture(scene: Scene) -> None:
    scene.free.begin_capture()
    scene.driver.fill_async(scene.block(0), 5, SIZE, scene.free)
    scene.copy(0, 1, scene.free)
    scene.copy(1, 2, scene.free)
    graph = scene.free.end_capture()
    assert node_types(scene, graph) == [2, 0, 0]
    executable = graph.instantiate()
    graph.close()
    assert scene.now(2) == 0
    for seed in range(10):
        scene.simulator.seed = seed
        scene.simulator.poke(scene.block(2), bytes(SIZE))
        executable.launch(scene.blocking)
        scene.blocking.synchronize()
        assert scene.now(2) == 5
    # An earlier launch of the same graph, and memory as it is when it runs.
    scene.copy(2, 3, scene.blocking)
    scene.driver.synchronize()
    assert scene.now(3) == 5


def test_capture_of_fork_and_join(scene: Scene) -> None:
    driver = scene.driver
    fork, join = driver.event(), driver.event()
    scene.free.begin_capture()
    scene.copy(0, 1, scene.free)
    fork.record(scene.free)
    scene.blocking.wait_event(fork)
    scene.copy(1, 2, scene.blocking)
    join.record(scene.blocking)
    scene.free.wait_event(join)
    scene.copy(2, 3, scene.free)
    executable = scene.free.end_capture().instantiate()
    for seed in range(20):
        scene.simulator.seed = seed
        scene.simulator.poke(scene.block(0), bytes([seed + 1]) * SIZE)
        executable.launch(scene.free)
        scene.free.synchronize()
        assert scene.now(3) == seed + 1


def test_capture_is_safe(scene: Scene) -> None:
    scene.free.begin_capture()
    module = kernels.Module(scene.driver)
    function = module.function("kvswap_plain_sized_4k")
    assert function.set_attribute(function.MAX_DYNAMIC_SHARED_BYTES, 64) == 0
    function.launch(scene.parameters(0, 1), scene.free)
    # A launch elsewhere.
    function.launch(scene.parameters(2, 3), 0)
    with scene.free.end_capture() as graph:
        assert node_types(scene, graph) == [0]


def test_launch_on_the_legacy_stream_invalidates_a_capture(scene: Scene) -> None:
    scene.blocking.begin_capture()
    assert scene.kernel.launch_code(scene.parameters(0, 1), 0) == 906
    assert scene.blocking.capture_status() == cuda_driver.CAPTURE_STATUS_INVALIDATED
    assert scene.kernel.launch_code(scene.parameters(0, 1), scene.blocking) == 901
    handle = ctypes.c_void_p(scene.blocking.handle)
    graph = ctypes.byref(ctypes.c_void_p())
    assert scene.driver.result("cuStreamEndCapture", handle, graph) == 901


@pytest.mark.parametrize("way", ["pending", "captured"])
def test_module_unloaded_too_early(scene: Scene, way: str) -> None:
    scene.simulator.poke(scene.block(0), b"\1" * SIZE)
    scene.simulator.hold()
    if way == "captured":
        scene.free.begin_capture()
    scene.copy(0, 1, scene.free)
    if way == "captured":
        executable = scene.free.end_capture().instantiate()
        executable.launch(scene.free)
    scene.module.unload()
    scene.free.synchronize()
    assert scene.now(1) == 0
    (violation,) = scene.simulator.violations()
    assert "kvswap_plain_sized_4k" in violation
    assert "unloaded" in violation
    scene.simulator.clear_violations()


def test_unloading_during_a_capture(scene: Scene) -> None:
    scene.free.begin_capture()
    assert scene.driver.result("cuModuleUnload", scene.module.handle) == 900
    assert scene.free.capture_status() == cuda_driver.CAPTURE_STATUS_INVALIDATED
    assert scene.simulator.live()["modules"] == 1


def test_record(scene: Scene) -> None:
    scene.kernel.launch(
        scene.parameters(0, 1),
        scene.free,
        grid=(7, 1, 1),
        block=(64, 2, 1),
        shared_bytes=96,
    )
    (call,) = scene.simulator.trace("cuLaunchKernel")
    assert (call.name, call.version, call.result) == ("cuLaunchKernel", 4000, 0)
    known = {
        "kernel": "kvswap_plain_sized_4k",
        "grid_x": 7,
        "grid_y": 1,
        "block_x": 64,
        "block_y": 2,
        "shared_bytes": 96,
        "stream": scene.free.handle,
        "function": scene.kernel.handle.value,
    }
    assert known.items() <= call.arguments.items()
    (call, *_) = scene.simulator.trace("cuModuleGetFunction")
    assert call.arguments["name"] == "kvswap_plain_sized_4k"
    assert call.outputs["function"] == scene.kernel.handle.value
    scene.kernel.launch_code(scene.parameters(0, 1), shared_bytes=1 << 20)
    assert "shared memory" in scene.simulator.trace("cuLaunchKernel")[-1].note


NEW_ENTRIES = (
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
)


@pytest.mark.parametrize("entry", NEW_ENTRIES)
def test_failures_on_demand(scene: Scene, entry: str) -> None:
    def use() -> int:
        try:
            module = kernels.Module(scene.driver)
            function = module.function("kvswap_plain_sized_4k")
            function.attribute(0)
            scene.driver.call("cuFuncSetAttribute", function.handle, 8, 0)
            code = function.launch_code(scene.parameters(0, 1))
            scene.driver.synchronize()
            module.unload()
        except cuda_driver.CudaError as error:
            return int(error.code)
        return code

    assert use() == 0
    scene.simulator.fail(entry, 719, call=2)
    assert [use(), use(), use()] == [0, 719, 0]
    scene.simulator.fail(entry, 2, every=True)
    assert [use(), use()] == [2, 2]
    scene.simulator.clear_faults()
    assert use() == 0


def test_refused_launches_do_not_run(scene: Scene) -> None:
    scene.simulator.poke(scene.block(0), b"\1" * SIZE)
    scene.simulator.fail("cuLaunchKernel", 701, every=True)
    assert scene.kernel.launch_code(scene.parameters(0, 1)) == 701
    scene.driver.synchronize()
    assert scene.now(1) == 0


def test_kernels_without_host_code(scene: Scene) -> None:
    function = kernels.Module(scene.driver, cubin([Kernel("unknown", 8)])).function(
        "unknown"
    )
    assert function.launch_code(bytes(8)) == NOT_SUPPORTED
    # Host code of another kernel of the same name.
    other = Kernel("kvswap_plain_sized_4k", 8)
    function = kernels.Module(scene.driver, cubin([other])).function(other.name)
    assert function.launch_code(bytes(8)) == NOT_SUPPORTED
    (violation,) = scene.simulator.violations()
    assert "is not the image's kernel" in violation
    scene.simulator.clear_violations()


CHILD = """
from tests.sim import kernels
driver = cuda_driver.CudaDriver(os.environ["KVSWAP_LIBCUDA"])
with driver.primary_context():
    memory = driver.device_memory(64)
    function = kernels.Module(driver).function("kvswap_plain_sized_4k")
    copy = (memory.address, memory.address + 32, 32)
    print(function.launch_code(kernels.sized_parameters([copy])))
    print(driver.device_attribute(75, 0), driver.device_attribute(91, 0))
    driver.synchronize()
"""


def plugin() -> Path:
    return Path(kvswap_sim.library_path()).parent / "libkvswap_sim_kernels.so"


def test_plugin_that_is_named() -> None:
    result = child.run(CHILD, kvswap_sim.environment("13.0", kernels=[plugin()]))
    assert result.stdout.split() == ["0", "9", "1"], result.stderr


def test_no_plugin_beside_the_driver(tmp_path: Path) -> None:
    library = tmp_path / "libcuda_sim.so"
    library.write_bytes(Path(kvswap_sim.library_path()).read_bytes())
    result = child.run(CHILD, {"KVSWAP_LIBCUDA": str(library)})
    assert result.stdout.split() == ["801", "9", "1"], result.stderr


@pytest.mark.parametrize("wrong", ["missing", "another library"])
def test_plugin_that_is_none(tmp_path: Path, wrong: str) -> None:
    file = kvswap_sim.library_path() if wrong != "missing" else tmp_path / "none.so"
    result = child.run(CHILD, kvswap_sim.environment("13.0", kernels=[file]))
    assert result.returncode == -6
    assert "KVSWAP_SIM_KERNELS" in result.stderr
    assert str(file) in result.stderr


def test_device_options() -> None:
    variables = kvswap_sim.environment(
        "13.0", compute_capability="12.0", device_attributes={91: 0}
    )
    code = CHILD.replace("kernels.Module(driver)", "kernels.Module(driver, IMAGE)")
    code = code.replace(
        "with driver",
        "from tests.sim.kernel_images import ptx\n"
        "IMAGE = ptx(kernels.descriptions('4k'))\n"
        "with driver",
    )
    result = child.run(code, variables)
    assert result.stdout.split() == ["0", "12", "0"], result.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KVSWAP_SIM_COMPUTE_CAPABILITY", "nine"),
        ("KVSWAP_SIM_COMPUTE_CAPABILITY", "90"),
        ("KVSWAP_SIM_DEVICE_ATTRIBUTES", "91"),
        ("KVSWAP_SIM_DEVICE_ATTRIBUTES", "91=no"),
        ("KVSWAP_SIM_FAULTS", "cuLaunchKernel#**=1"),
    ],
)
def test_wrong_options(variable: str, value: str) -> None:
    result = child.run(CHILD, {variable: value})
    assert result.returncode == -6
    assert variable in result.stderr
    assert value in result.stderr


def test_faults_of_every_call() -> None:
    fault = kvswap_sim.Fault("cuLaunchKernel", 701, every=True)
    assert str(fault) == "cuLaunchKernel#*=701"
    result = child.run(CHILD, kvswap_sim.environment("13.0", faults=[fault]))
    assert result.stdout.split() == ["701", "9", "1"], result.stderr
