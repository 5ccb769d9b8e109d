"""Exceptions come back from worker processes as they were raised there.

multiprocessing, concurrent.futures and engines that run workers send them by pickle. One
that cannot be made anew breaks the pool instead of telling what failed.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import multiprocessing
import pickle
import pkgutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

import kvswap
import kvswap_sim
from kvswap.benchmark.arguments import UsageError
from kvswap.benchmark.gpu import NoGpuError
from kvswap.testing.cuda_driver import BatchError, CudaError

# Arguments of those that take more than a message.
_ARGUMENTS: dict[type[BaseException], tuple[tuple[Any, ...], dict[str, Any]]] = {
    CudaError: (("cuMemAlloc_v2", 2, "CUDA_ERROR_OUT_OF_MEMORY"), {}),
    BatchError: (("cuMemcpyBatchAsync", 1, "CUDA_ERROR_INVALID_VALUE", 3), {}),
    NoGpuError: (("there is no GPU", "kvswap doctor"), {}),
    UsageError: (("the message",), {}),
    **{
        kind: (
            ("the message",),
            {
                "status": "driver",
                "index": 7,
                "region": 2,
                "cuda_error": 719,
                "submitted": 5,
                "submitted_bytes": 1 << 40,
                "source": 0x1000,
                "destination": 0x7FFF_0000_0000,
                "size": 4096,
                "source_memory": kvswap.Memory("device", 1, 0x1000, 4096),
                "destination_memory": kvswap.Memory("pinned", None, 0x2000, 64),
                "unavailable": {"batch": "legacy_stream"},
            },
        )
        for kind in (kvswap.SwapError, kvswap.UnsupportedError)
    },
}


def _modules() -> Iterator[Any]:
    for package in (kvswap, kvswap_sim):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            name = found.name.rpartition(".")[2]
            # Programs, and libraries that are no modules.
            if name == "__main__" or name.startswith("lib"):
                continue
            try:
                yield importlib.import_module(found.name)
            except ImportError as error:
                # It wants a package that is not here: torch, matplotlib.
                assert not str(error.name).startswith("kvswap"), found.name


def _exceptions() -> list[type[BaseException]]:
    found = {
        kind
        for module in _modules()
        for kind in vars(module).values()
        if inspect.isclass(kind)
        and issubclass(kind, BaseException)
        and kind.__module__.partition(".")[0] in ("kvswap", "kvswap_sim")
    }
    return sorted(found, key=lambda kind: f"{kind.__module__}.{kind.__qualname__}")


def _make(kind: type[BaseException]) -> BaseException:
    arguments, named = _ARGUMENTS.get(kind, (("the message",), {}))
    error = kind(*arguments, **named)
    error.extra = "set by a caller"  # type: ignore[attr-defined]
    return error


def _raise(kind: type[BaseException]) -> None:
    raise _make(kind)


def _assert_same(error: BaseException, again: BaseException) -> None:
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert repr(again) == repr(error)
    assert again.args == error.args
    # What a pool adds is the worker's traceback, as the cause.
    assert again.__dict__ == error.__dict__


@pytest.mark.parametrize("kind", _exceptions(), ids=lambda kind: str(kind.__qualname__))
class TestEachException:
    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_pickle(self, kind: type[BaseException], protocol: int) -> None:
        error = _make(kind)
        _assert_same(error, pickle.loads(pickle.dumps(error, protocol)))

    def test_copy(self, kind: type[BaseException]) -> None:
        error = _make(kind)
        _assert_same(error, copy.copy(error))
        _assert_same(error, copy.deepcopy(error))

    def test_arguments_are_known(self, kind: type[BaseException]) -> None:
        """A kind that takes more than a message is tried with what it takes."""
        own = "__init__" in vars(kind)
        assert not own or kind in _ARGUMENTS, f"{kind} lacks a row in _ARGUMENTS"


def test_the_kinds_that_are_known_are_found() -> None:
    found = _exceptions()
    assert set(_ARGUMENTS) <= set(found)
    assert len(found) > len(_ARGUMENTS)


def test_through_a_pool_of_processes() -> None:
    with ProcessPoolExecutor(
        1, mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        for kind in _exceptions():
            raised = pool.submit(_raise, kind).exception(timeout=60)
            assert raised is not None
            _assert_same(_make(kind), raised)
        # None of them broke the pool.
        assert pool.submit(len, "abc").result(timeout=60) == 3


def _fail_in_driver(entry: str) -> None:
    """An error of the driver's, in a process with one of its own."""
    from kvswap.testing.cuda_driver import CudaDriver

    simulator = kvswap_sim.Simulator("13.0")
    driver = CudaDriver(simulator.path)
    simulator.fail(entry, 2)
    with driver.primary_context():
        memory = driver.device_memory(4096)
        driver.copy_batch_async(
            [memory.address] * 2,
            [memory.address + 2048] * 2,
            [64, 4096],
            driver.stream(),
        )


def test_errors_of_the_driver_in_a_worker() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        with pytest.raises(CudaError) as raised:
            pool.apply(_fail_in_driver, ("cuMemAlloc_v2",))
        assert (raised.value.code, raised.value.function) == (2, "cuMemAlloc_v2")
        with pytest.raises(BatchError) as refused:
            # Fails another function, which this one does not call.
            pool.apply(_fail_in_driver, ("cuMemAllocManaged",))
        assert refused.value.code == 1
        assert refused.value.index == 1
