#include "csrc/bindings/torch_objects.h"

namespace kvswap::bindings {
namespace {

// sys.modules["torch"], without importing anything; null where there is none.
py::object ImportedTorch() {
  PyObject* module = PyImport_GetModule(GetNames().torch);
  if (module == nullptr && PyErr_Occurred() != nullptr) {
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(module);
}

}  // namespace

const TorchObjects* FindTorch() {
  // Kept once found, and its references with it: the look-up would otherwise
  // cost as much as reading a tensor. The GIL guards it.
  static TorchObjects* found = nullptr;
  if (found != nullptr) return found;

  const Names& names = GetNames();
  py::object module = ImportedTorch();
  if (!module) return nullptr;
  py::object tensor_type = FindAttribute(module, names.tensor);
  py::object int64 = FindAttribute(module, names.int64);
  py::object uint64 = FindAttribute(module, names.uint64);
  if (!tensor_type || !int64 || PyType_Check(tensor_type.ptr()) == 0) {
    return nullptr;
  }
  found = new TorchObjects{
      module.release().ptr(),
      reinterpret_cast<PyTypeObject*>(tensor_type.release().ptr()),
      int64.release().ptr(), uint64.release().ptr()};
  return found;
}

}  // namespace kvswap::bindings
