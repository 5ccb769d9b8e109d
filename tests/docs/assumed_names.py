"""What pages take for granted: an engine's caches, and blocks to copy.

Code on a page may use these names without saying where they come from. Everything that
a page defines itself comes before them.
"""

from __future__ import annotations

from typing import Any

import torch

import kvswap
from kvswap.compat import vllm

BLOCKS, BLOCK_BYTES = 128, 256


def assumed_names() -> dict[str, Any]:
    """The names, with GPU tensors of whatever torch has for a GPU."""
    kv_caches = [
        torch.zeros(2, BLOCKS, BLOCK_BYTES, dtype=torch.uint8, device="cuda")
        for _ in range(3)
    ]
    gpu_cache = torch.zeros(BLOCKS, BLOCK_BYTES, dtype=torch.uint8, device="cuda")
    cpu_cache = torch.zeros(BLOCKS, BLOCK_BYTES, dtype=torch.uint8, pin_memory=True)
    gpu_pool = kvswap.BlockPool(kv_caches, block_dim=1)
    host_pool = kvswap.pinned_pool(gpu_pool, block_count=BLOCKS)
    ids = torch.arange(8)
    return {
        "kvswap": kvswap,
        "torch": torch,
        # An engine.
        "kv_caches": kv_caches,
        "num_layers": len(kv_caches),
        "forward": lambda layer: None,
        # Its operators, as vLLM has them.
        "ops": vllm,
        # Pools, and pairs of (source, destination).
        "gpu_pool": gpu_pool,
        "gpu": gpu_pool,
        "host_pool": host_pool,
        "host": host_pool,
        "pairs": [(5, 3), (2, 7)],
        # Copies by address.
        "gpu_cache": gpu_cache,
        "cpu_cache": cpu_cache,
        "block_bytes": BLOCK_BYTES,
        "block_mapping": torch.tensor([(0, 1), (2, 3)]),
        "src_ptrs": gpu_cache.data_ptr() + ids * BLOCK_BYTES,
        "dst_ptrs": cpu_cache.data_ptr() + ids * BLOCK_BYTES,
        "sizes": torch.full((8,), BLOCK_BYTES),
    }
