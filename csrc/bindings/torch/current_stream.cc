#include "csrc/bindings/torch/current_stream.h"

#include <dlfcn.h>

#include <atomic>

#include "csrc/bindings/torch/op_error.h"
#include "csrc/bindings/torch/torch_api.h"

namespace kvswap::torch_ops {
namespace {

constexpr char kLibrary[] = "libtorch_cuda.so";

// torch loads its libraries for itself alone, so a name is looked up in the
// library that has it. Not loaded: this torch has no CUDA.
void* Find(const char* name) {
  void* library = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* function = dlsym(library, name);
  // Only gives back the reference.
  dlclose(library);
  return function;
}

// The CUDA function. torch's function for any kind of device gives an
// identifier of its own instead of CUDA's handle.
decltype(&aoti_torch_get_current_cuda_stream) GetCurrentStream() {
  static const auto function =
      reinterpret_cast<decltype(&aoti_torch_get_current_cuda_stream)>(
          Find("aoti_torch_get_current_cuda_stream"));
  return function;
}

// A bit for each GPU that torch has failed for once: it does so where it sees
// no such GPU, as when all are simulated, and logs an error each time. -1 has
// the last bit.
std::atomic<uint64_t> unknown_devices{0};

uint64_t BitOf(int32_t device) {
  return uint64_t{1} << (device < 0 || device > 63 ? 63 : device);
}

}  // namespace

Stream CurrentStream(int32_t device) {
  constexpr Stream kNone = {nullptr, false};
  const auto get_current_stream = GetCurrentStream();
  if (get_current_stream == nullptr) return kNone;
  if ((unknown_devices.load(std::memory_order_relaxed) & BitOf(device)) != 0) {
    return kNone;
  }
  void* handle = nullptr;
  if (get_current_stream(device, &handle) != AOTI_TORCH_SUCCESS) {
    unknown_devices.fetch_or(BitOf(device), std::memory_order_relaxed);
    return kNone;
  }
  return {handle, true};
}

void Synchronize(const Stream& stream, int32_t device) {
  if (!stream.is_of_torch) return;
  static const auto synchronize =
      reinterpret_cast<decltype(&torch_cuda_stream_synchronize)>(
          Find("torch_cuda_stream_synchronize"));
  if (synchronize == nullptr ||
      synchronize(stream.handle, device) != AOTI_TORCH_SUCCESS) {
    throw OpError(
        "the copies are submitted, and waiting for their stream failed: an "
        "error of "
        "this or of earlier work on the GPU, which torch has logged");
  }
}

}  // namespace kvswap::torch_ops
