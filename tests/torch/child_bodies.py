"""Bodies of tests that need a process of their own, run by tests.child_process."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import torch

import kvswap
import kvswap_sim
from kvswap.testing.cuda_driver import CudaDriver, Stream
from tests.torch.caches import BLOCK_BYTES, BLOCKS, Caches, integers, make_caches
from tests.torch.fake_streams import FakeStreams

# Not in order on both sides: two copies for the driver, too.
_PAIRS = [[1, 6], [2, 5]]


def _import_operators() -> None:
    importlib.import_module("kvswap.torch_ops")


def _driver() -> CudaDriver:
    _import_operators()
    return CudaDriver(os.environ["KVSWAP_LIBCUDA"])


def _copy_calls() -> list[kvswap_sim.Call]:
    calls = kvswap_sim.Simulator().trace()
    return [call for call in calls if call.name.startswith("cuMemcpy")]


def _streams() -> list[int]:
    return sorted({call.arguments["stream"] for call in _copy_calls()})


def _swap_in(caches: Caches, operator: str = "swap_blocks_batch") -> None:
    if operator == "swap_blocks":
        torch.ops.kvswap.swap_blocks(
            caches.host_tensor,
            caches.gpu_tensor,
            BLOCK_BYTES,
            torch.tensor(_PAIRS),
        )
        return
    torch.ops.kvswap.swap_blocks_batch(
        integers([caches.host_address(block) for block, _ in _PAIRS]),
        integers([caches.gpu_address(block) for _, block in _PAIRS]),
        integers([BLOCK_BYTES] * len(_PAIRS)),
    )


def _arrived_in(caches: Caches) -> bool:
    return all(caches.gpu_block(b) == caches.original(a) for a, b in _PAIRS)


def _fresh_trace() -> None:
    kvswap_sim.Simulator().clear_trace()


def _current_stream(operator: str, device: int) -> dict[str, Any]:
    """One created stream on each GPU; the pointers are on `device`."""
    driver = _driver()
    handles = []
    streams: list[Stream] = []
    for gpu in range(2):
        with driver.primary_context(gpu):
            streams.append(driver.stream())
            handles.append(streams[-1].handle)
            driver.retain_primary(gpu)
    fake = FakeStreams(handles)
    fake.set_current_device(1 - device)
    with driver.primary_context(device), make_caches(driver) as caches:
        _fresh_trace()
        _swap_in(caches, operator)
        return {
            "current_streams": handles,
            "asked_device": fake.asked_device,
            "streams": _streams(),
            "calls": [call.name for call in _copy_calls()],
            "arrived": _arrived_in(caches),
        }


def _host_to_host() -> dict[str, Any]:
    """No pointer is device memory; torch's current GPU is 0."""
    driver = _driver()
    with driver.primary_context(0), driver.stream() as stream:
        fake = FakeStreams([stream.handle])
        with make_caches(driver) as caches:
            _fresh_trace()
            torch.ops.kvswap.swap_blocks_batch(
                integers([caches.host_address(1)]),
                integers([caches.host_address(2)]),
                integers([BLOCK_BYTES]),
            )
            return {
                "current_stream": stream.handle,
                "asked_device": fake.asked_device,
                "streams": _streams(),
            }


def _unknown_device() -> dict[str, Any]:
    """torch has CUDA, and sees no GPU."""
    driver = _driver()
    fake = FakeStreams([])
    with driver.primary_context(0), make_caches(driver) as caches:
        _fresh_trace()
        for _ in range(3):
            _swap_in(caches)
        return {
            "streams": _streams(),
            "asked": fake.asked,
            "arrived": _arrived_in(caches),
        }


def _source_access_order(is_any: bool | None) -> list[int]:
    """What the driver's batch call is given."""
    driver = _driver()
    with driver.primary_context(0), driver.stream() as stream:
        FakeStreams([stream.handle])
        with make_caches(driver) as caches:
            _fresh_trace()
            torch.ops.kvswap.swap_blocks_batch(
                integers([caches.host_address(1)]),
                integers([caches.gpu_address(2)]),
                integers([BLOCK_BYTES]),
                *([] if is_any is None else [is_any]),
            )
            (call,) = _copy_calls()
            orders: list[int] = call.arguments["source_access_orders"]
            return orders


def _capture() -> dict[str, Any]:
    """The current stream captures while blocks come in, and one goes out."""
    driver = _driver()
    waited: list[int] = []
    with driver.primary_context(0), driver.stream() as stream:
        fake = FakeStreams([stream.handle])
        fake.synchronize_by(waited.append)
        with make_caches(driver) as caches:
            stream.begin_capture()
            _swap_in(caches, "swap_blocks")
            # In a capture nothing can be waited for; the destination is no GPU's.
            graph = stream.end_capture()
            waited_while_capturing = len(waited)
            before = _arrived_in(caches)
            with graph, graph.instantiate() as executable:
                nodes = graph.node_count()
                executable.launch(stream)
                after = _arrived_in(caches)
            return {
                "nodes": nodes,
                "before": before,
                "after": after,
                "waited": waited_while_capturing,
            }


def _wait(how: str) -> dict[str, Any]:
    """Blocks of the GPU go out into memory that torch does not know as pinned."""
    driver = _driver()
    simulator = kvswap_sim.Simulator()
    waited: list[int] = []

    def synchronize(handle: int) -> None:
        waited.append(handle)
        driver.synchronize_stream(handle)

    with driver.primary_context(0), driver.stream() as stream:
        fake = FakeStreams([stream.handle])
        fake.synchronize_by(synchronize)
        with make_caches(driver) as caches:
            caches.gpu.write(bytes([7]) * BLOCK_BYTES, 5 * BLOCK_BYTES)
            driver.synchronize()
            simulator.hold()
            if how == "out":
                torch.ops.kvswap.swap_blocks(
                    caches.gpu_tensor,
                    caches.host_tensor,
                    BLOCK_BYTES,
                    torch.tensor([[5, 2]]),
                )
            else:
                torch.ops.kvswap.swap_blocks_batch(
                    integers([caches.gpu_address(5)]),
                    integers([caches.host_address(2)]),
                    integers([BLOCK_BYTES]),
                )
            arrived = caches.host_block(2) == bytes([7]) * BLOCK_BYTES
            simulator.hold(False)
            return {
                "current_stream": stream.handle,
                "waited": waited,
                "arrived": arrived,
            }


def _error_of_a_swap(before: Callable[[FakeStreams], None]) -> str:
    """What a swap raises out of the GPU, on a stream that torch has.

    before: is called with torch's streams before the swap.
    """
    driver = _driver()
    with driver.primary_context(0), driver.stream() as stream:
        fake = FakeStreams([stream.handle])
        with make_caches(driver) as caches:
            before(fake)
            try:
                torch.ops.kvswap.swap_blocks(
                    caches.gpu_tensor,
                    caches.host_tensor,
                    BLOCK_BYTES,
                    torch.tensor([[5, 2]]),
                )
            except RuntimeError as error:
                return str(error)
    return "no error"


def _wait_fails() -> str:
    """The error of a call whose copies cannot be waited for."""
    return _error_of_a_swap(lambda fake: fake.fail_to_synchronize())


def _wait_is_not_known_to_be_allowed() -> str:
    """The error of a call of whose stream the driver does not say if it captures."""
    # The first time, the copies are submitted.
    return _error_of_a_swap(
        lambda _: kvswap_sim.Simulator().fail("cuStreamIsCapturing", 999, call=2)
    )


def _compiled_copy_out() -> dict[str, Any]:
    """A graph that is made functional calls with a copy of `dst`.

    With all blocks: the driver waits for some copies to such memory of its own accord.
    """
    driver = _driver()
    simulator = kvswap_sim.Simulator()
    with driver.primary_context(0), driver.stream() as stream:
        fake = FakeStreams([stream.handle])
        fake.synchronize_by(driver.synchronize_stream)
        with make_caches(driver) as caches:
            content = bytes([7]) * BLOCK_BYTES * BLOCKS
            caches.gpu.write(content)
            driver.synchronize()

            def swap_out(gpu: torch.Tensor, host: torch.Tensor) -> None:
                mapping = torch.arange(BLOCKS)[:, None].expand(-1, 2)
                torch.ops.kvswap.swap_blocks(gpu, host, BLOCK_BYTES, mapping)

            simulator.hold()
            torch.compile(swap_out, backend="aot_eager", fullgraph=True)(
                caches.gpu_tensor, caches.host_tensor
            )
            arrived = bytes(caches.host.view) == content
            simulator.hold(False)
            return {"arrived": arrived}


def stream_scenarios() -> dict[str, Any]:
    """All of the above, in one process: torch's import takes most of the time."""
    return {
        **{
            f"{operator} on {device}": _current_stream(operator, device)
            for operator in ("swap_blocks_batch", "swap_blocks")
            for device in (0, 1)
        },
        "host to host": _host_to_host(),
        **{
            f"any {is_any}": _source_access_order(is_any)
            for is_any in (None, False, True)
        },
        "capture": _capture(),
        "wait out": _wait("out"),
        "wait by address": _wait("by address"),
        "wait fails": _wait_fails(),
        "wait is not known to be allowed": _wait_is_not_known_to_be_allowed(),
        "compiled": _compiled_copy_out(),
        # The last one: an operator never again asks for the stream of that GPU.
        "unknown device": _unknown_device(),
    }


def import_of_kvswap() -> dict[str, Any]:
    """What `import kvswap` and `import kvswap.torch_ops` register. torch is there."""
    before = hasattr(torch.ops.kvswap, "swap_blocks_batch")
    _import_operators()
    return {
        "before": before,
        "after": hasattr(torch.ops.kvswap, "swap_blocks_batch"),
        "loaded": sorted(torch.ops.loaded_libraries),
    }


def _refusal() -> str:
    """Why the operators cannot be had."""
    try:
        _import_operators()
    except ImportError as error:
        return str(error)
    return "no error"


def registered_already() -> str:
    """Somebody else has operators of these names."""
    library = torch.library.Library("kvswap", "FRAGMENT")
    library.define("swap_blocks_batch(Tensor a) -> ()")
    return _refusal()


def old_torch(version: str) -> str:
    """As on another version of torch."""
    torch.__version__ = version
    return _refusal()


def missing_library(folder: str) -> str:
    """A package without the library."""
    kvswap.__file__ = os.path.join(folder, "__init__.py")
    return _refusal()
