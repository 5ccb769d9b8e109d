// A tensor argument of an operator.

#ifndef KVSWAP_BINDINGS_TORCH_TENSOR_H_
#define KVSWAP_BINDINGS_TORCH_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "csrc/bindings/torch/torch_api.h"

namespace kvswap::torch_ops {

// Owns the handle that torch passes to a kernel. Its functions throw OpError.
class Tensor {
 public:
  // `argument` is the parameter's name, for messages.
  Tensor(StableIValue value, const char* argument);
  ~Tensor();
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  const char* argument() const { return argument_; }

  bool is_cpu() const { return device_type_ == aoti_torch_device_type_cpu(); }
  bool is_cuda() const { return device_type_ == aoti_torch_device_type_cuda(); }
  // Of a CUDA tensor: the ordinal of its GPU.
  int32_t device_index() const { return device_index_; }
  // As torch writes it: "cuda:1".
  std::string DescribeDevice() const;

  int32_t dtype() const;
  int64_t dimensions() const;
  const int64_t* sizes() const;
  const int64_t* strides() const;
  int64_t element_count() const;
  size_t byte_count() const;
  void* data() const;

  // Whether the elements fill their memory without gaps and overlaps, in any
  // order of dimensions.
  bool IsDense() const;
  // Whether it is page-locked host memory. False where torch has no GPU.
  bool IsPinned() const;

 private:
  AtenTensorHandle handle_;
  const char* argument_;
  int32_t device_type_ = 0;
  int32_t device_index_ = 0;
};

}  // namespace kvswap::torch_ops

#endif  // KVSWAP_BINDINGS_TORCH_TENSOR_H_
