// kvswap::swap_blocks: copies blocks between two tensors.

#ifndef KVSWAP_BINDINGS_TORCH_SWAP_BLOCKS_H_
#define KVSWAP_BINDINGS_TORCH_SWAP_BLOCKS_H_

#include "csrc/bindings/torch/torch_api.h"

namespace kvswap::torch_ops {

inline constexpr char kSwapBlocksSchema[] =
    "swap_blocks(Tensor src, Tensor(a!) dst, int block_size_in_bytes, "
    "Tensor block_mapping) -> ()";

// Takes the operator's arguments off the stack. Throws OpError.
void SwapBlocks(StableIValue* stack);

}  // namespace kvswap::torch_ops

#endif  // KVSWAP_BINDINGS_TORCH_SWAP_BLOCKS_H_
