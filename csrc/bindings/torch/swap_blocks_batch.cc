#include "csrc/bindings/torch/swap_blocks_batch.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "csrc/bindings/bitwise_or.h"
#include "csrc/bindings/torch/current_stream.h"
#include "csrc/bindings/torch/op_error.h"
#include "csrc/bindings/torch/tensor.h"
#include "csrc/kvswap.h"

namespace kvswap::torch_ops {
namespace {

// One of the three arrays: checked, and its items.
template <typename Item>
class Array {
 public:
  explicit Array(const Tensor& tensor) : argument_(tensor.argument()) {
    static_assert(sizeof(Item) == sizeof(int64_t));
    const std::string name = argument_;
    if (!tensor.is_cpu()) {
      throw OpError(
          name + " is a tensor on device " + tensor.DescribeDevice() +
          "; the arrays of pointers and sizes are read by the CPU and "
          "must be CPU tensors (the pointers in them may be of any "
          "device)");
    }
    const int32_t dtype = tensor.dtype();
    is_signed_ = dtype == aoti_torch_dtype_int64();
    if (!is_signed_ && dtype != aoti_torch_dtype_uint64()) {
      throw OpError(name + " has another dtype than torch.int64; convert it: " +
                    name + ".to(torch.int64)");
    }
    if (tensor.dimensions() != 1) {
      throw OpError(name + " has " + std::to_string(tensor.dimensions()) +
                    " dimensions; it must have 1");
    }
    items_ = static_cast<const Item*>(tensor.data());
    count_ = static_cast<size_t>(tensor.element_count());
    if (count_ > 1 && *tensor.strides() != 1) {
      throw OpError(name + " is not contiguous; pass " + name +
                    ".contiguous()");
    }
  }

  const Item* items() const { return items_; }
  size_t count() const { return count_; }

  // Addresses and sizes have no sign.
  void RefuseNegative() const {
    if (!is_signed_) return;
    const auto* values = reinterpret_cast<const int64_t*>(items_);
    if (bindings::BitwiseOr(values, count_) >= 0) return;
    size_t i = 0;
    while (i < count_ && values[i] >= 0) ++i;
    if (i == count_) return;  // Another thread has changed it meanwhile.
    throw OpError(std::string(argument_) + "[" + std::to_string(i) +
                  "] is negative: " + std::to_string(values[i]));
  }

 private:
  const char* argument_;
  bool is_signed_ = true;
  const Item* items_ = nullptr;
  size_t count_ = 0;
};

}  // namespace

void SwapBlocksBatch(StableIValue* stack) {
  const Tensor src_tensor(stack[0], "src_ptrs");
  const Tensor dst_tensor(stack[1], "dst_ptrs");
  const Tensor sizes_tensor(stack[2], "sizes");
  const bool is_src_access_order_any =
      torch::stable::detail::to<bool>(stack[3]);

  const Array<const void*> src_ptrs(src_tensor);
  const Array<void*> dst_ptrs(dst_tensor);
  const Array<size_t> sizes(sizes_tensor);
  const size_t count = sizes.count();
  if (src_ptrs.count() != count || dst_ptrs.count() != count) {
    throw OpError("src_ptrs, dst_ptrs and sizes must be of equal length, not " +
                  std::to_string(src_ptrs.count()) + ", " +
                  std::to_string(dst_ptrs.count()) + " and " +
                  std::to_string(count));
  }
  int32_t device = -1;
  kvswap_find_device(src_ptrs.items(), dst_ptrs.items(), sizes.items(), count,
                     &device);
  kvswap_options options = KVSWAP_OPTIONS_INIT;
  if (is_src_access_order_any) options.source_access = KVSWAP_SOURCE_ACCESS_ANY;
  kvswap_result result = KVSWAP_RESULT_INIT;
  if (kvswap_swap_blocks_batch(
          src_ptrs.items(), dst_ptrs.items(), sizes.items(), count,
          CurrentStream(device).handle, &options, &result) != KVSWAP_OK) {
    // The library refuses what has no sign and is negative here; only then does
    // it pay to look for the item.
    if (result.code == KVSWAP_ERROR_INVALID_ARGUMENT) {
      src_ptrs.RefuseNegative();
      dst_ptrs.RefuseNegative();
      sizes.RefuseNegative();
    }
    throw OpError(result.message);
  }
}

}  // namespace kvswap::torch_ops
