// kvswap::swap_blocks_batch: copies between addresses.

#ifndef KVSWAP_BINDINGS_TORCH_SWAP_BLOCKS_BATCH_H_
#define KVSWAP_BINDINGS_TORCH_SWAP_BLOCKS_BATCH_H_

#include "csrc/bindings/torch/torch_api.h"

namespace kvswap::torch_ops {

inline constexpr char kSwapBlocksBatchSchema[] =
    "swap_blocks_batch(Tensor src_ptrs, Tensor dst_ptrs, Tensor sizes, "
    "bool is_src_access_order_any=False) -> ()";

// Takes the operator's arguments off the stack. Throws OpError.
void SwapBlocksBatch(StableIValue* stack);

}  // namespace kvswap::torch_ops

#endif  // KVSWAP_BINDINGS_TORCH_SWAP_BLOCKS_BATCH_H_
