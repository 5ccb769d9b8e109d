from collections.abc import Callable, Sequence
from typing import Any, final

from kvswap.argument_types import IntegerArray, Pairs, Stream
from kvswap.policies import Policy, PolicyRule
from kvswap.records import DriverInfo, KernelInfo, Plan, Statistics

__version__: str

@final
class SwapResult:
    @property
    def engine(self) -> str: ...
    @property
    def device(self) -> int | None: ...
    @property
    def submitted(self) -> int: ...
    @property
    def submitted_bytes(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    @property
    def pageable(self) -> int: ...
    @property
    def copies(self) -> dict[str, int]: ...
    @property
    def unavailable(self) -> dict[str, str]: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]

def swap_blocks_batch(
    src_ptrs: IntegerArray,
    dst_ptrs: IntegerArray,
    sizes: IntegerArray,
    *,
    stream: Stream | None = None,
    engine: str = "auto",
    src_access: str = "stream",
    max_batch: int | None = None,
    strict: bool = False,
    priority: str = "throughput",
    policy: Policy | None = None,
    prefer_overlap: bool = False,
) -> SwapResult: ...
def plan(
    src_ptrs: IntegerArray,
    dst_ptrs: IntegerArray,
    sizes: IntegerArray,
    *,
    stream: Stream | None = None,
    engine: str = "auto",
    src_access: str = "stream",
    max_batch: int | None = None,
    strict: bool = False,
    priority: str = "throughput",
    policy: Policy | None = None,
    prefer_overlap: bool = False,
) -> Plan: ...

class _Regions:
    def __init__(
        self, regions: Sequence[tuple[int, int, int, int]], block_count: int, /
    ) -> None: ...
    def invalidate(self, reason: str, /) -> None: ...
    @property
    def invalid(self) -> str: ...
    @property
    def uses(self) -> int: ...

class _Ticket:
    def done(self, layer: int, /) -> bool: ...
    def wait(self, layer: int, /) -> None: ...
    def wait_stream(
        self, layer: int, stream: Stream | None, device: int, /
    ) -> None: ...

class _Registration:
    def __init__(
        self,
        address: int,
        size: int,
        device: int,
        block_bytes: int,
        max_chunk_bytes: int,
        read_only: bool,
        memory: object,
        /,
    ) -> None: ...
    def close(self) -> None: ...
    @property
    def chunk_count(self) -> int: ...

class _PolicyRules:
    def __init__(self, rules: Sequence[PolicyRule], /) -> None: ...

def _set_policy(policy: Policy | None, /) -> None: ...
def _policy_in_force(compute_capability: int, /) -> list[dict[str, Any]]: ...
def _swap_pools(
    source: _Regions,
    destination: _Regions,
    pairs: Pairs,
    stream: Stream | None,
    engine: str,
    src_access: str,
    max_batch: int | None,
    strict: bool,
    priority: str,
    policy: Policy | None,
    prefer_overlap: bool,
    check: bool,
    layers: bool,
    ticket: bool,
    keep: Callable[[tuple[_Ticket, tuple[Any, ...]]], None],
    kept: tuple[Any, ...],
    /,
) -> tuple[SwapResult, _Ticket | None]: ...
def _locate_buffer(buffer: object, /) -> tuple[int, int, bool]: ...
def _set_nvtx(is_on: bool, /) -> None: ...
def _hand_over_log() -> None: ...
def _drop_log() -> None: ...
def driver_info() -> DriverInfo: ...
def kernel_info() -> KernelInfo: ...
def stats() -> Statistics: ...
