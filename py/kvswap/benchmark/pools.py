"""Memory that blocks are copied between, and whether they arrived."""

from __future__ import annotations

from typing import Any

from kvswap.benchmark.cells import D2H, H2D, Cell, size_text
from kvswap.benchmark.gpu import Gpu, UnavailableError

_REST = 0  # what blocks hold before they are copied to


class Pools:
    """Sources and targets on both sides, the sources of the same random content."""

    def __init__(self, gpu: Gpu, pool_bytes: int, seed: int) -> None:
        self.gpu = gpu
        self.pool_bytes = pool_bytes
        self.seed = seed
        self.device_source = gpu.device_bytes(pool_bytes)
        gpu.randomize(self.device_source, seed)
        self.device_target = gpu.device_bytes(pool_bytes)
        self.host_source = gpu.pinned_bytes(pool_bytes)
        self.host_source.copy_(self.device_source)
        self.host_target = gpu.pinned_bytes(pool_bytes)
        self.host_target.fill_(_REST)  # touches every page
        gpu.synchronize()

    def source(self, direction: str) -> Any:
        """The pool that copies of a direction read."""
        return self.host_source if direction == H2D else self.device_source

    def target(self, direction: str) -> Any:
        """The pool that copies of a direction write."""
        return self.host_target if direction == D2H else self.device_target

    def blocks(self, cell: Cell) -> list[Blocks]:
        """The blocks of a cell: of each direction.

        Raises:
            UnavailableError: the pools are too small.
        """
        return [Blocks(self, part, cell.size, cell.count) for part in cell.parts]


class Blocks:
    """Random distinct blocks of one direction."""

    def __init__(self, pools: Pools, direction: str, size: int, count: int) -> None:
        torch = pools.gpu.torch
        slots = pools.pool_bytes // size
        if slots < count:
            raise UnavailableError(
                f"pools of {size_text(pools.pool_bytes)} do not hold {count:,} blocks "
                f"of {size_text(size)}: --pool-bytes"
            )
        self.pools = pools
        self.direction = direction
        self.size = size
        self.count = count
        generator = torch.Generator().manual_seed(pools.seed)
        self.source_ids = _distinct(torch, slots, count, generator)
        self.target_ids = _distinct(torch, slots, count, generator)
        # Words are quicker to gather than bytes.
        self._word = torch.int64 if size % 8 == 0 else torch.uint8
        self.source = self._view(pools.source(direction))
        self.target = self._view(pools.target(direction))
        self.src_ptrs = pools.source(direction).data_ptr() + self.source_ids * size
        self.dst_ptrs = pools.target(direction).data_ptr() + self.target_ids * size
        self.sizes = torch.full((count,), size, dtype=torch.int64)

    def _view(self, pool: Any) -> Any:
        whole = pool[: self.pools.pool_bytes // self.size * self.size]
        words_per_block = self.size // self._word.itemsize
        return whole.view(self._word).view(-1, words_per_block)

    def clear(self) -> None:
        """Makes the target differ from the source."""
        ids = self.target_ids.to(self.target.device)
        self.target.index_fill_(0, ids, _REST)
        self.pools.gpu.synchronize()

    def wrong(self) -> str | None:
        """Which block is not what it should be; None: all arrived."""
        torch, gpu = self.pools.gpu.torch, self.pools.gpu
        ids = self.target_ids.to(self.target.device)
        actual = gpu.to_device(self.target.index_select(0, ids))
        content = self._view(self.pools.device_source)
        expected = content.index_select(0, gpu.to_device(self.source_ids))
        if torch.equal(actual, expected):
            return None
        differs = (actual != expected).any(dim=1).cpu()
        first = int(differs.nonzero()[0])
        return (
            f"{int(differs.sum()):,} of {self.count:,} blocks of "
            f"{size_text(self.size)}, {self.direction}, are wrong; the first is "
            f"number {first}"
        )


def _distinct(torch: Any, slots: int, count: int, generator: Any) -> Any:
    """Random numbers below `slots`, each at most once, int64 of shape (count,)."""
    if count * 4 > slots:
        return torch.randperm(slots, generator=generator)[:count].contiguous()
    drawn = torch.randint(0, slots, (2 * count + 16,), generator=generator).unique()
    order = torch.randperm(len(drawn), generator=generator)
    chosen = drawn[order][:count].contiguous()
    assert len(chosen) == count
    return chosen
