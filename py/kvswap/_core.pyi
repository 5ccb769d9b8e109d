from typing import final

from kvswap.argument_types import IntegerArray, Stream
from kvswap.records import DriverInfo, Plan, Statistics

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
) -> Plan: ...
def driver_info() -> DriverInfo: ...
def stats() -> Statistics: ...
