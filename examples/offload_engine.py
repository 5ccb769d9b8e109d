"""An engine loop that offloads KV-cache blocks to host memory, with torch on a GPU.

    python examples/offload_engine.py

A toy model fills KV blocks and reads them back; scheduling is round robin. Three things
are as a real engine has them: block tables, a prompt prefix that is computed once and
kept in host memory, and copies on a stream of their own beside the compute stream.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, field

import torch

import kvswap

LAYERS, GPU_BLOCKS, HOST_BLOCKS = 4, 12, 32
BLOCK_SHAPE = (2, 16, 8, 64)  # keys and values, tokens, heads, elements of a head
PREFIX_BLOCKS = 2


@dataclass
class Request:
    """One user's request: its block table, on the GPU or in host memory."""

    name: int
    gpu_blocks: list[int] = field(default_factory=list)
    host_blocks: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)  # what its blocks should hold


class OffloadEngine:
    """Requests of which not all fit on the GPU."""

    def __init__(self, kv_caches: list[torch.Tensor]) -> None:
        """`kv_caches`: for each layer a tensor whose first dimension counts blocks."""
        self.kv_caches = kv_caches
        self.gpu = kvswap.BlockPool(kv_caches)
        self.host = kvswap.pinned_pool(self.gpu, HOST_BLOCKS)
        # Copies beside compute need a stream of their own.
        self.offload = torch.cuda.Stream()
        self.free_gpu = list(range(GPU_BLOCKS))
        self.free_host = list(range(HOST_BLOCKS))
        self.resident: list[Request] = []  # the least recently used one first
        self.prefix = Request(-1)
        for number in range(PREFIX_BLOCKS):
            self.append_block(self.prefix, float(number))
        self.swap_out(
            self.prefix
        )  # stays in host memory, to be loaded by every request

    def append_block(self, request: Request, value: float) -> None:
        """A step's work: every layer fills the request's next block."""
        self.make_room(1, request)
        block = self.free_gpu.pop()
        for layer, cache in enumerate(self.kv_caches):
            cache[block].fill_(value + layer)
        request.gpu_blocks.append(block)
        request.values.append(value)

    def make_room(self, count: int, keep: Request) -> None:
        """Swaps out requests until `count` blocks of the GPU are free."""
        while len(self.free_gpu) < count:
            victim = next(request for request in self.resident if request is not keep)
            self.swap_out(victim)

    def swap_out(self, request: Request) -> None:
        """Moves a request's blocks to host memory, and frees them on the GPU."""
        slots = [self.free_host.pop() for _ in request.gpu_blocks]
        # The copies read what the compute stream writes: they come after it.
        self.offload.wait_stream(torch.cuda.current_stream())
        pairs = list(zip(request.gpu_blocks, slots, strict=True))
        ticket = kvswap.swap_out(self.gpu, self.host, pairs, stream=self.offload)
        # From here on later steps may write these blocks: they come after the copies.
        ticket.wait_stream(torch.cuda.current_stream())
        self.free_gpu += request.gpu_blocks
        request.gpu_blocks, request.host_blocks = [], slots
        if request in self.resident:
            self.resident.remove(request)

    def load(self, request: Request, slots: list[int]) -> kvswap.Ticket:
        """Copies host blocks into new blocks of a request; the ticket tells when."""
        self.make_room(len(slots), request)
        blocks = [self.free_gpu.pop() for _ in slots]
        # The blocks' last use is over before they are overwritten.
        self.offload.wait_stream(torch.cuda.current_stream())
        pairs = list(zip(slots, blocks, strict=True))
        try:
            ticket = kvswap.swap_in(
                self.host, self.gpu, pairs, stream=self.offload, layers=True
            )
        except kvswap.SwapError:
            # Some copies may be under way: nobody gets these blocks before they ended.
            self.offload.synchronize()
            self.free_gpu += blocks
            raise
        request.gpu_blocks += blocks
        return ticket

    def step(self, request: Request) -> list[float]:
        """One step of a request: its blocks come to the GPU, are read, grow by one.

        Returns:
            The mean of each of its blocks, over all layers: the toy's attention.
        """
        ticket = None
        if not request.values:  # new: its prefix has been computed already
            request.values += self.prefix.values
            ticket = self.load(request, self.prefix.host_blocks)
        elif request.host_blocks:
            ticket = self.load(request, request.host_blocks)
            # Whatever is stored there next comes later on the same stream.
            self.free_host += request.host_blocks
            request.host_blocks = []
        self.resident = [one for one in self.resident if one is not request] + [request]
        table = torch.tensor(request.gpu_blocks, device=self.kv_caches[0].device)
        means = torch.zeros(len(table), device=table.device)
        for layer, cache in enumerate(self.kv_caches):
            if ticket:  # a layer is computed while later ones are still being copied
                ticket.layer(layer).wait_stream(torch.cuda.current_stream())
            means += (cache[table].mean(dim=(1, 2, 3, 4)) - layer) / LAYERS
        self.append_block(request, float(100 * request.name + len(request.values)))
        return [float(mean) for mean in means.tolist()]


def serve(engine: OffloadEngine, requests: int = 5, rounds: int = 3) -> int:
    """Lets requests take turns; how many blocks were read, and all of them right."""
    checked = 0
    queue = [Request(name) for name in range(requests)] * rounds
    for request in queue:
        expected = list(request.values or engine.prefix.values)
        try:
            actual = engine.step(request)
        except kvswap.SwapError as error:
            # An engine would compute the request's blocks again.
            logging.error("request %d is lost: %s", request.name, error)
            raise
        if actual != expected:
            raise AssertionError(
                f"request {request.name} read {actual} instead of {expected}"
            )
        checked += len(actual)
    return checked


def main() -> int:
    """Runs the engine; the exit status."""
    if not torch.cuda.is_available():
        print("This example needs a GPU, and a torch with CUDA.", file=sys.stderr)
        return 1
    shape = (GPU_BLOCKS, *BLOCK_SHAPE)
    engine = OffloadEngine(
        [torch.zeros(shape, dtype=torch.float32, device="cuda") for _ in range(LAYERS)]
    )
    print(f"{serve(engine)} blocks were read, and every one was right.")
    print(f"Copies by each engine, one a layer and block: {kvswap.stats().copies}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
