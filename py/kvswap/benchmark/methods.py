"""Ways to copy blocks of one direction on one stream: kvswap's and others'.

A method is prepared once, and submits its copies again and again.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import kvswap
from kvswap.benchmark import native
from kvswap.benchmark.c_abi import CAbi, Descriptors
from kvswap.benchmark.cells import D2H, THROUGHPUT
from kvswap.benchmark.gpu import UnavailableError
from kvswap.benchmark.method_words import ALTERNATIVE_WORDS, ENGINE_WORDS
from kvswap.benchmark.pools import Blocks
from kvswap.testing.cuda_driver import (
    ACCESS_ORDER_STREAM,
    NO_INDEX,
    MemcpyAttributes,
)

# A loop in Python over more would measure nothing but Python.
_MOST_PYTHON_COPIES = 16384


class Method(Protocol):
    """Copies that are ready to be submitted."""

    def submit(self) -> None:
        """Submits them, or does them at once."""

    def engines(self) -> str:
        """Which engines of kvswap the last ones went by; "" where it is not kvswap."""


@dataclass
class KvswapCall:
    """kvswap.swap_blocks_batch."""

    blocks: Blocks
    stream: int
    engine: str = "auto"
    options: dict[str, Any] = field(default_factory=dict)
    result: kvswap.SwapResult | None = None

    def __post_init__(self) -> None:
        if self.engine != "auto":
            self.options = {**self.options, "engine": self.engine, "strict": True}

    def submit(self) -> None:
        try:
            self.result = kvswap.swap_blocks_batch(
                self.blocks.src_ptrs,
                self.blocks.dst_ptrs,
                self.blocks.sizes,
                stream=self.stream,
                **self.options,
            )
        except kvswap.UnsupportedError as error:
            why = error.unavailable.get(self.engine)
            raise UnavailableError(why or str(error)) from error

    def engines(self) -> str:
        if self.result is None:
            return ""
        return engines_text(self.result.copies)


def engines_text(copies: dict[str, int]) -> str:
    """The engines that copied something, as "kernel 8192, batch 3"."""
    return ", ".join(f"{name} {count}" for name, count in copies.items() if count)


class CAbiCall:
    """kvswap_swap_blocks_batch by ctypes, of any libkvswap.so."""

    def __init__(
        self, library: CAbi, blocks: Descriptors, stream: int, **options: str
    ) -> None:
        self._library = library
        self.submit = library.prepare(blocks, stream, **options)

    def engines(self) -> str:
        before = self._library.copies()
        self.submit()
        after = self._library.copies()
        return engines_text(
            {name: count - before.get(name, 0) for name, count in after.items()}
        )


class NotKvswap:
    """A method of others."""

    def engines(self) -> str:
        return ""


class OneBatchCall(NotKvswap):
    """One call of cuMemcpyBatchAsync over everything."""

    def __init__(self, blocks: Blocks, stream: int) -> None:
        gpu = blocks.pools.gpu
        if stream == 0:
            raise UnavailableError("legacy_stream")
        prototype = ctypes.CFUNCTYPE(
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
            ctypes.c_void_p,
        )
        self._function = prototype(gpu.batch_function())
        self._blocks = blocks
        self._attributes = MemcpyAttributes(source_access_order=ACCESS_ORDER_STREAM)
        self._first = ctypes.c_size_t(0)
        self._failed = ctypes.c_size_t(NO_INDEX)
        self._arguments = (
            blocks.dst_ptrs.data_ptr(),
            blocks.src_ptrs.data_ptr(),
            blocks.sizes.data_ptr(),
            blocks.count,
            ctypes.addressof(self._attributes),
            ctypes.addressof(self._first),
            1,
            ctypes.addressof(self._failed),
            stream,
        )

    def submit(self) -> None:
        code = self._function(*self._arguments)
        if code != 0:
            name = self._blocks.pools.gpu.driver.error_name(code)
            raise RuntimeError(f"cuMemcpyBatchAsync: {name}")


class CopyLoop(NotKvswap):
    """cuMemcpyAsync for each block, in a loop in C."""

    def __init__(self, blocks: Blocks, stream: int) -> None:
        self._gpu = blocks.pools.gpu
        try:
            self._loop = native.copy_loop().copy_each
        except native.CompilerError as error:
            raise UnavailableError(str(error)) from error
        self._blocks = blocks
        self._arguments = (
            self._gpu.address_of("cuMemcpyAsync"),
            blocks.dst_ptrs.data_ptr(),
            blocks.src_ptrs.data_ptr(),
            blocks.sizes.data_ptr(),
            blocks.count,
            stream,
        )

    def submit(self) -> None:
        code = self._loop(*self._arguments)
        if code != 0:
            raise RuntimeError(f"cuMemcpyAsync: {self._gpu.driver.error_name(code)}")


class TorchCopies(NotKvswap):
    """tensor.copy_ for each block."""

    def __init__(self, blocks: Blocks, stream: int) -> None:
        if blocks.count > _MOST_PYTHON_COPIES:
            raise UnavailableError("too many blocks for a loop in Python")
        self._gpu = blocks.pools.gpu
        self._stream = stream
        pairs = zip(blocks.target_ids.tolist(), blocks.source_ids.tolist(), strict=True)
        self._copies = [
            (blocks.target[target], blocks.source[source]) for target, source in pairs
        ]

    def submit(self) -> None:
        with self._gpu.on_stream(self._stream):
            for target, source in self._copies:
                target.copy_(source, non_blocking=True)


class GatherAndCopy(NotKvswap):
    """Gathers into one piece, copies it, scatters. Out of the GPU, it has to wait."""

    def __init__(self, blocks: Blocks, stream: int) -> None:
        gpu = blocks.pools.gpu
        self._gpu = gpu
        self._stream = stream
        self._blocks = blocks
        self._source_ids = blocks.source_ids.to(blocks.source.device)
        self._target_ids = blocks.target_ids.to(blocks.target.device)
        size = blocks.count * blocks.size

        def staging(like: Any) -> Any:
            make = gpu.pinned_bytes if like.device.type == "cpu" else gpu.device_bytes
            return make(size).view(like.dtype).view(blocks.count, -1)

        self._gathered = staging(blocks.source)
        same_side = blocks.source.device == blocks.target.device
        self._arrived = self._gathered if same_side else staging(blocks.target)

    def submit(self) -> None:
        torch, blocks = self._gpu.torch, self._blocks
        with self._gpu.on_stream(self._stream):
            torch.index_select(blocks.source, 0, self._source_ids, out=self._gathered)
            if self._arrived is not self._gathered:
                self._arrived.copy_(self._gathered, non_blocking=True)
            if blocks.direction == D2H:
                self._gpu.driver.synchronize_stream(self._stream)
            blocks.target.index_copy_(0, self._target_ids, self._arrived)


class CudaCoreBatch(NotKvswap):
    """cuda.core.utils.copy_batch."""

    def __init__(self, blocks: Blocks, stream: int) -> None:
        if stream == 0:
            raise UnavailableError("legacy_stream")
        if blocks.count > _MOST_PYTHON_COPIES:
            raise UnavailableError("too many blocks for buffers in Python")
        try:
            core = importlib.import_module("cuda.core")
            utils = importlib.import_module("cuda.core.utils")
            self._copy_batch = utils.copy_batch
        except (ImportError, AttributeError) as error:
            raise UnavailableError(f"cuda.core has no copy_batch: {error}") from error
        try:
            core.Device(blocks.pools.gpu.device).set_current()
            self._stream = core.Stream.from_handle(stream)
            self._sources = self._buffers(core, blocks.src_ptrs, blocks.size)
            self._targets = self._buffers(core, blocks.dst_ptrs, blocks.size)
        except Exception as error:  # of another library: whatever it raises
            raise UnavailableError(f"cuda.core: {error}") from error

    @staticmethod
    def _buffers(core: Any, pointers: Any, size: int) -> list[Any]:
        return [core.Buffer.from_handle(at, size) for at in pointers.tolist()]

    def submit(self) -> None:
        self._copy_batch(self._stream, self._sources, self._targets)


class OneCopy(NotKvswap):
    """One contiguous copy: what the link or the memory can do."""

    def __init__(self, blocks: Blocks, stream: int, size: int) -> None:
        pools = blocks.pools
        self._gpu = pools.gpu
        self._copy = pools.gpu.driver.library.cuMemcpyAsync
        self._arguments = (
            ctypes.c_uint64(pools.target(blocks.direction).data_ptr()),
            ctypes.c_uint64(pools.source(blocks.direction).data_ptr()),
            ctypes.c_size_t(size),
            ctypes.c_void_p(stream),
        )

    def submit(self) -> None:
        code = self._copy(*self._arguments)
        if code != 0:
            raise RuntimeError(f"cuMemcpyAsync: {self._gpu.driver.error_name(code)}")


Maker = Callable[[Blocks, int, str], Method]


def _engine(name: str) -> Maker:
    def make(blocks: Blocks, stream: int, priority: str) -> Method:
        # Left out where it is the default, so that older builds can be measured too.
        options = {} if priority == THROUGHPUT else {"priority": priority}
        return KvswapCall(blocks, stream, name, options)

    return make


def _other(kind: Callable[[Blocks, int], Method]) -> Maker:
    return lambda blocks, stream, _priority: kind(blocks, stream)


ENGINES = tuple(ENGINE_WORDS)
# What an error of them says, it does not say of kvswap.
OTHERS = tuple(ALTERNATIVE_WORDS)

METHODS: dict[str, Maker] = {
    **{name: _engine(name) for name in ENGINES},
    "one_batch_call": _other(OneBatchCall),
    "copy_loop": _other(CopyLoop),
    "cuda_core": _other(CudaCoreBatch),
    "torch_copy": _other(TorchCopies),
    "gather": _other(GatherAndCopy),
}
