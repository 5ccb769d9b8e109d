// The `stream` argument, as the handle that the C ABI takes.

#ifndef KVSWAP_BINDINGS_STREAM_HANDLE_H_
#define KVSWAP_BINDINGS_STREAM_HANDLE_H_

#include <functional>

#include "csrc/bindings/python_objects.h"
#include "csrc/bindings/torch_objects.h"

namespace kvswap::bindings {

// The handle of
//   None, null  torch's current stream of the device `find_device` returns (of
//               torch's current device if that is negative), where torch is
//               imported and has initialised CUDA; else 0, the legacy stream
//   an int      itself
//   an object   its `cuda_stream` attribute (torch.cuda.Stream), else what its
//               `__cuda_stream__` gives: (0, handle), as a method or, as the
//               protocol's first version had it, as an attribute
// `torch` is FindTorch(). Throws TypeError for anything else, ValueError for a
// handle out of range.
void* StreamHandle(py::handle stream, const TorchObjects* torch,
                   const std::function<int32_t()>& find_device);

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_STREAM_HANDLE_H_
