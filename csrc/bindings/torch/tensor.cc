#include "csrc/bindings/torch/tensor.h"

#include "csrc/bindings/torch/op_error.h"

namespace kvswap::torch_ops {
namespace {

using torch::stable::detail::to;

void Require(AOTITorchError code, const char* argument, const char* what) {
  if (code == AOTI_TORCH_SUCCESS) return;
  throw OpError(
      std::string(argument) + " is a tensor whose " + what +
      " torch does not tell; it must be an ordinary tensor with memory");
}

// Calls one of torch's functions that write a result.
template <typename Result, typename Getter>
Result Get(Getter getter, AtenTensorHandle handle, const char* argument,
           const char* what) {
  Result result{};
  Require(getter(handle, &result), argument, what);
  return result;
}

}  // namespace

Tensor::Tensor(StableIValue value, const char* argument)
    : handle_(to<AtenTensorHandle>(value)), argument_(argument) {
  // Neither throws for a tensor, whatever it is.
  aoti_torch_get_device_type(handle_, &device_type_);
  aoti_torch_get_device_index(handle_, &device_index_);
}

Tensor::~Tensor() { aoti_torch_delete_tensor_object(handle_); }

std::string Tensor::DescribeDevice() const {
  if (is_cpu()) return "cpu";
  if (device_type_ == aoti_torch_device_type_meta()) return "meta";
  const std::string index =
      device_index_ < 0 ? "" : ":" + std::to_string(device_index_);
  if (is_cuda()) return "cuda" + index;
  return "type " + std::to_string(device_type_) + index;
}

int32_t Tensor::dtype() const {
  return Get<int32_t>(aoti_torch_get_dtype, handle_, argument_, "dtype");
}

int64_t Tensor::dimensions() const {
  return Get<int64_t>(aoti_torch_get_dim, handle_, argument_, "shape");
}

const int64_t* Tensor::sizes() const {
  return Get<int64_t*>(aoti_torch_get_sizes, handle_, argument_, "shape");
}

const int64_t* Tensor::strides() const {
  return Get<int64_t*>(aoti_torch_get_strides, handle_, argument_, "strides");
}

int64_t Tensor::element_count() const {
  return Get<int64_t>(aoti_torch_get_numel, handle_, argument_, "shape");
}

size_t Tensor::byte_count() const {
  return static_cast<size_t>(element_count()) *
         aoti_torch_dtype_element_size(dtype());
}

void* Tensor::data() const {
  // torch logs its own error where there are no strides or no memory, so that
  // is asked for first.
  const auto layout =
      Get<int32_t>(aoti_torch_get_layout, handle_, argument_, "layout");
  if (layout != aoti_torch_layout_strided()) {
    throw OpError(std::string(argument_) +
                  " is not a dense (strided) tensor; it must be one");
  }
  void* data =
      Get<void*>(aoti_torch_get_data_ptr, handle_, argument_, "memory");
  if (data == nullptr && element_count() != 0) {
    throw OpError(std::string(argument_) + " is a tensor without memory");
  }
  return data;
}

bool Tensor::IsDense() const {
  if (element_count() == 0) return true;
  const int64_t count = dimensions();
  const int64_t* size = sizes();
  const int64_t* stride = strides();
  // Dimensions of size 1 have no say. The others, from the innermost on: each
  // stride is the number of elements inside.
  int64_t inside = 1;
  while (inside < element_count()) {
    int64_t next = 0;
    while (next < count && (size[next] == 1 || stride[next] != inside)) ++next;
    if (next == count) return false;
    inside *= size[next];
  }
  return true;
}

bool Tensor::IsPinned() const {
  AtenTensorHandle tensor = nullptr;
  Require(aoti_torch_new_tensor_handle(handle_, &tensor), argument_, "memory");
  // The tensor becomes the dispatcher's; the other argument is an optional
  // device.
  StableIValue stack[2] = {torch::stable::detail::from(tensor),
                           torch::stable::detail::from(std::nullopt)};
  Require(
      torch_call_dispatcher("aten::is_pinned", "", stack, TORCH_ABI_VERSION),
      argument_, "kind of memory");
  return to<bool>(stack[0]);
}

}  // namespace kvswap::torch_ops
