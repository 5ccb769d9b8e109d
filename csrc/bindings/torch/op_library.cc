// libkvswap_torch.so: kvswap's operators for torch, registered when it is
// loaded.

#include <cstdint>

#include "csrc/bindings/torch/op_kernel.h"
#include "csrc/bindings/torch/swap_blocks.h"
#include "csrc/bindings/torch/swap_blocks_batch.h"
#include "csrc/bindings/torch/torch_api.h"

namespace kvswap::torch_ops {
namespace {

constexpr char kNamespace[] = "kvswap";

// For tensors of every device, so that a wrong one gets this library's message
// instead of torch's, that there is no kernel.
constexpr char kEveryDevice[] = "CompositeExplicitAutograd";

constexpr char kSwapBlocksBatch[] = "swap_blocks_batch";
constexpr char kSwapBlocks[] = "swap_blocks";

// Nobody could catch an exception here. torch logs why a call fails, and
// whoever loads the library finds no operators then. The two objects stay:
// deleting them would take the operators away.
[[gnu::constructor]] void RegisterOperators() {
  TorchLibraryHandle schemas = nullptr;
  TorchLibraryHandle kernels = nullptr;
  if (aoti_torch_library_init_fragment(kNamespace, __FILE__, __LINE__,
                                       &schemas) != AOTI_TORCH_SUCCESS ||
      aoti_torch_library_init_impl(kNamespace, kEveryDevice, __FILE__, __LINE__,
                                   &kernels) != AOTI_TORCH_SUCCESS) {
    return;
  }
  if (aoti_torch_library_def(schemas, kSwapBlocksBatchSchema) !=
          AOTI_TORCH_SUCCESS ||
      aoti_torch_library_def(schemas, kSwapBlocksSchema) !=
          AOTI_TORCH_SUCCESS) {
    return;
  }
  torch_library_impl(kernels, kSwapBlocksBatch,
                     OpKernel<kSwapBlocksBatch, SwapBlocksBatch>,
                     TORCH_ABI_VERSION);
  torch_library_impl(kernels, kSwapBlocks, OpKernel<kSwapBlocks, SwapBlocks>,
                     TORCH_ABI_VERSION);
}

}  // namespace
}  // namespace kvswap::torch_ops
