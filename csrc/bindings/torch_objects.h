// torch as this process has it, without importing or linking it: an object can
// be a torch tensor, and torch can have a current stream, only where somebody
// else has imported torch already.

#ifndef KVSWAP_BINDINGS_TORCH_OBJECTS_H_
#define KVSWAP_BINDINGS_TORCH_OBJECTS_H_

#include "csrc/bindings/python_objects.h"

namespace kvswap::bindings {

// Borrowed references to objects of the imported torch.
struct TorchObjects {
  PyObject* module;
  PyTypeObject* tensor_type;
  PyObject* int64;
  PyObject* uint64;  // null before torch 2.3, which has no such dtype
};

// Null while torch is not imported (or still importing).
const TorchObjects* FindTorch();

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_TORCH_OBJECTS_H_
