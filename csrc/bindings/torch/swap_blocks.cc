#include "csrc/bindings/torch/swap_blocks.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "csrc/bindings/torch/current_stream.h"
#include "csrc/bindings/torch/op_error.h"
#include "csrc/bindings/torch/tensor.h"
#include "csrc/kvswap.h"

namespace kvswap::torch_ops {
namespace {

// The blocks of `src` or of `dst`: side by side from the tensor's first byte
// on.
class BlockArray {
 public:
  BlockArray(const Tensor& tensor, int64_t block_bytes)
      : argument_(tensor.argument()), block_bytes_(block_bytes) {
    const std::string name = argument_;
    if (!tensor.is_cpu() && !tensor.is_cuda()) {
      throw OpError(name + " is a tensor on device " + tensor.DescribeDevice() +
                    "; it must be on a CUDA device or on the CPU");
    }
    base_ = static_cast<char*>(tensor.data());
    if (!tensor.IsDense()) {
      throw OpError(name +
                    " has gaps or overlaps in memory, so its blocks do not lie "
                    "side by side; "
                    "pass the tensor that it is a view of, or copy by address: "
                    "swap_blocks_batch");
    }
    count_ = static_cast<int64_t>(tensor.byte_count()) / block_bytes;
  }

  // The address of block `id`, which stands in `block_mapping` at [row,
  // column].
  char* Address(int64_t id, int64_t row, int column) const {
    if (id < 0 || id >= count_) {
      throw OpError("block_mapping[" + std::to_string(row) + ", " +
                    std::to_string(column) + "] = " + std::to_string(id) +
                    " is no block of " + argument_ + ", which has " +
                    std::to_string(count_) + " blocks of " +
                    std::to_string(block_bytes_) + " bytes");
    }
    return base_ + id * block_bytes_;
  }

 private:
  const char* argument_;
  int64_t block_bytes_;
  char* base_ = nullptr;
  int64_t count_ = 0;
};

// `block_mapping`: pairs of a block of `src` and a block of `dst`.
class BlockMapping {
 public:
  explicit BlockMapping(const Tensor& tensor) {
    if (!tensor.is_cpu()) {
      throw OpError("block_mapping is a tensor on device " +
                    tensor.DescribeDevice() +
                    "; it is read by the CPU and must be a CPU tensor");
    }
    if (tensor.dtype() != aoti_torch_dtype_int64()) {
      throw OpError(
          "block_mapping has another dtype than torch.int64; convert it: "
          "block_mapping.to(torch.int64)");
    }
    if (tensor.dimensions() != 2 || tensor.sizes()[1] != 2) {
      std::string shape;
      for (int64_t i = 0; i < tensor.dimensions(); ++i) {
        shape += (i == 0 ? "" : ", ") + std::to_string(tensor.sizes()[i]);
      }
      throw OpError(
          "block_mapping must be of shape [n, 2], pairs of a block of src and "
          "a "
          "block of dst, not [" +
          shape + "]");
    }
    pairs_ = static_cast<const int64_t*>(tensor.data());
    count_ = static_cast<size_t>(tensor.sizes()[0]);
    row_stride_ = tensor.strides()[0];
    column_stride_ = tensor.strides()[1];
  }

  size_t count() const { return count_; }
  int64_t source(size_t row) const {
    return pairs_[static_cast<int64_t>(row) * row_stride_];
  }
  int64_t destination(size_t row) const {
    return pairs_[static_cast<int64_t>(row) * row_stride_ + column_stride_];
  }

 private:
  const int64_t* pairs_ = nullptr;
  size_t count_ = 0;
  int64_t row_stride_ = 0;
  int64_t column_stride_ = 0;
};

// The arrays that the C ABI takes.
struct Copies {
  std::vector<const void*> src_ptrs;
  std::vector<void*> dst_ptrs;
  std::vector<size_t> sizes;
};

Copies MakeCopies(const BlockArray& src, const BlockArray& dst,
                  const BlockMapping& mapping, int64_t block_bytes) {
  const size_t count = mapping.count();
  Copies copies{std::vector<const void*>(count), std::vector<void*>(count),
                std::vector<size_t>(count, static_cast<size_t>(block_bytes))};
  for (size_t i = 0; i < count; ++i) {
    const auto row = static_cast<int64_t>(i);
    copies.src_ptrs[i] = src.Address(mapping.source(i), row, 0);
    copies.dst_ptrs[i] = dst.Address(mapping.destination(i), row, 1);
  }
  return copies;
}

// The GPU of the tensors. Of two CPU tensors, one may yet lie in a GPU's
// memory: torch does not know all of it, and none that is simulated.
int32_t DeviceOf(const Tensor& src, const Tensor& dst, const Copies& copies) {
  if (src.is_cuda() && dst.is_cuda() &&
      src.device_index() != dst.device_index()) {
    throw OpError("src and dst are on two GPUs, " + src.DescribeDevice() +
                  " and " + dst.DescribeDevice() +
                  "; they must be on one, or one of them on the CPU");
  }
  if (src.is_cuda()) return src.device_index();
  if (dst.is_cuda()) return dst.device_index();
  int32_t device = -1;
  kvswap_find_device(copies.src_ptrs.data(), copies.dst_ptrs.data(),
                     copies.sizes.data(), copies.sizes.size(), &device);
  return device;
}

bool IsCapturing(const Copies& copies, void* stream) {
  kvswap_plan plan = KVSWAP_PLAN_INIT;
  kvswap_result result = KVSWAP_RESULT_INIT;
  const int status = kvswap_plan_blocks_batch(
      copies.src_ptrs.data(), copies.dst_ptrs.data(), copies.sizes.data(), 1,
      stream, nullptr, &plan, &result);
  if (status != KVSWAP_OK) {
    throw OpError(
        "the copies are submitted, and nothing waits for them, since it could "
        "not be asked whether their stream captures: " +
        std::string(result.message));
  }
  return plan.capturing != 0;
}

// A copy out of a GPU into host memory that is not pinned may wait or not, as
// the driver likes. Where torch.compile gives this operator a temporary copy of
// `dst`, such memory, and reads it at once on the CPU, it has to have waited.
void WaitForPageable(const Tensor& dst, const Copies& copies,
                     const Stream& stream, int32_t device) {
  if (!dst.is_cpu() || !stream.is_of_torch || dst.IsPinned()) return;
  // Waiting is for the graph's launch then, and would end the capture.
  if (IsCapturing(copies, stream.handle)) return;
  Synchronize(stream, device);
}

}  // namespace

void SwapBlocks(StableIValue* stack) {
  using torch::stable::detail::to;
  const Tensor src_tensor(stack[0], "src");
  const Tensor dst_tensor(stack[1], "dst");
  const auto block_bytes = to<int64_t>(stack[2]);
  const Tensor mapping_tensor(stack[3], "block_mapping");

  if (block_bytes <= 0) {
    throw OpError("block_size_in_bytes must be positive, not " +
                  std::to_string(block_bytes));
  }
  const BlockArray src(src_tensor, block_bytes);
  const BlockArray dst(dst_tensor, block_bytes);
  const BlockMapping mapping(mapping_tensor);
  const Copies copies = MakeCopies(src, dst, mapping, block_bytes);
  if (copies.sizes.empty()) return;

  const int32_t device = DeviceOf(src_tensor, dst_tensor, copies);
  if (device < 0) {
    throw OpError(
        "neither src nor dst is in a GPU's memory; one of them must be on a "
        "CUDA "
        "device");
  }
  const Stream stream = CurrentStream(device);
  kvswap_result result = KVSWAP_RESULT_INIT;
  if (kvswap_swap_blocks_batch(copies.src_ptrs.data(), copies.dst_ptrs.data(),
                               copies.sizes.data(), copies.sizes.size(),
                               stream.handle, nullptr, &result) != KVSWAP_OK) {
    if (result.index >= mapping.count()) throw OpError(result.message);
    throw OpError("block_mapping[" + std::to_string(result.index) + "] = [" +
                  std::to_string(mapping.source(result.index)) + ", " +
                  std::to_string(mapping.destination(result.index)) +
                  "]: " + result.message);
  }
  WaitForPageable(dst_tensor, copies, stream, device);
}

}  // namespace kvswap::torch_ops
