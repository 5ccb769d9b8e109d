"""torch.library.opcheck: schema, tracing and autograd agree with what is done."""

from __future__ import annotations

import torch

import kvswap.torch_ops  # noqa: F401  # registers the operators
from tests.torch.caches import BLOCK_BYTES, Caches, integers

ALL = {
    "test_schema": "SUCCESS",
    "test_autograd_registration": "SUCCESS",
    "test_faketensor": "SUCCESS",
    "test_aot_dispatch_dynamic": "SUCCESS",
}


def test_swap_blocks_batch(caches: Caches) -> None:
    arguments = (
        integers([caches.host_address(1)]),
        integers([caches.gpu_address(5)]),
        integers([BLOCK_BYTES]),
    )
    operator = torch.ops.kvswap.swap_blocks_batch.default
    assert torch.library.opcheck(operator, arguments) == ALL
    assert torch.library.opcheck(operator, (*arguments, True)) == ALL
    assert caches.gpu_block(5) == caches.original(1)


def test_swap_blocks() -> None:
    """Without pairs: opcheck calls with copies of the tensors, which are no GPU's.

    tests/gpu has it with pairs.
    """
    arguments = (
        torch.zeros(4, 16),
        torch.zeros(4, 16),
        64,
        torch.empty(0, 2, dtype=torch.int64),
    )
    operator = torch.ops.kvswap.swap_blocks.default
    assert torch.library.opcheck(operator, arguments) == ALL


def test_what_the_schemas_say() -> None:
    """As tests/stability has them from the sources."""
    assert [
        str(operator._schema)
        for operator in (
            torch.ops.kvswap.swap_blocks_batch.default,
            torch.ops.kvswap.swap_blocks.default,
        )
    ] == [
        "kvswap::swap_blocks_batch(Tensor src_ptrs, Tensor dst_ptrs, Tensor sizes, "
        "bool is_src_access_order_any=False) -> ()",
        "kvswap::swap_blocks(Tensor src, Tensor(a!) dst, int block_size_in_bytes, "
        "Tensor block_mapping) -> ()",
    ]
