"""Moves KV-cache blocks between GPU and host memory.

One call submits N independent copies, each an address to read, an address to
write and a size in bytes::

    import kvswap
    import torch

    gpu_cache = torch.empty(1024, 65536, dtype=torch.uint8, device="cuda")
    cpu_cache = torch.empty(4096, 65536, dtype=torch.uint8, pin_memory=True)
    gpu_blocks, cpu_blocks = torch.tensor([3, 5]), torch.tensor([70, 71])

    block_bytes = gpu_cache.stride(0)
    result = kvswap.swap_blocks_batch(
        gpu_cache.data_ptr() + gpu_blocks * block_bytes,
        cpu_cache.data_ptr() + cpu_blocks * block_bytes,
        torch.full((2,), block_bytes),
    )

The copies run on torch's current stream (or the one passed as ``stream``) and
may run after the call has returned: synchronise with that stream before reading
what was copied, and keep both caches alive until then.

Engines that hold tensors and block tables describe their caches once and copy blocks
by ids::

    gpu = kvswap.BlockPool(kv_caches, block_dim=1)  # tensors of shape (2, blocks, ...)
    host = kvswap.pinned_pool(gpu, block_count=4096)
    ticket = kvswap.swap_out(gpu, host, [(3, 70), (5, 71)])

The engine "auto" goes by a ``Policy``, which ``get_policy`` shows and ``set_policy``
changes. ``plan`` says what a call would do and why, ``driver_info`` which CUDA driver is
used, ``kernel_info`` whether copy kernels run on a GPU, ``stats`` what has been submitted.
``logging.getLogger("kvswap")`` tells what was found and what makes copies slow, and
``set_tracing`` makes calls ranges of NVTX. Arguments that are wrong raise
``TypeError`` or ``ValueError``; everything else ``SwapError``. The import needs
neither torch, NumPy nor a GPU, and calls no function of the driver.

``get_include`` and its like say where the C ABI lies for programs in other languages.

``python -m kvswap demo`` shows an offload round.
"""

import kvswap._program_start  # noqa: F401

try:
    from kvswap._core import (
        SwapResult,
        __version__,
        driver_info,
        kernel_info,
        plan,
        stats,
        swap_blocks_batch,
    )
except ImportError as error:
    from kvswap._import_problem import explain

    raise ImportError(explain(error)) from error
from kvswap import log_records as _log_records  # noqa: F401
from kvswap.errors import SwapError, UnsupportedError
from kvswap.installation import (
    get_cmake_dir,
    get_include,
    get_library_dir,
    get_pkgconfig_dir,
)
from kvswap.memory_layout import Region
from kvswap.pinned_pools import pinned_pool
from kvswap.policies import Policy, PolicyRule, get_policy, set_policy
from kvswap.pool_swaps import copy_blocks, swap_in, swap_out
from kvswap.pools import BlockPool
from kvswap.records import (
    DriverEntry,
    DriverInfo,
    KernelInfo,
    Memory,
    Plan,
    Statistics,
)
from kvswap.tickets import Completion, Ticket
from kvswap.tracing import set_tracing
from kvswap.warming import warmup

__all__ = [
    "BlockPool",
    "Completion",
    "DriverEntry",
    "DriverInfo",
    "KernelInfo",
    "Memory",
    "Plan",
    "Policy",
    "PolicyRule",
    "Region",
    "Statistics",
    "SwapError",
    "SwapResult",
    "Ticket",
    "UnsupportedError",
    "__version__",
    "copy_blocks",
    "driver_info",
    "get_cmake_dir",
    "get_include",
    "get_library_dir",
    "get_pkgconfig_dir",
    "get_policy",
    "kernel_info",
    "pinned_pool",
    "plan",
    "set_policy",
    "set_tracing",
    "stats",
    "swap_blocks_batch",
    "swap_in",
    "swap_out",
    "warmup",
]
