#include "csrc/bindings/stream_handle.h"

#include <cstdint>
#include <string>

namespace kvswap::bindings {
namespace {

// A bool is an int to Python, and a mistake here.
bool IsInteger(py::handle value) {
  return PyLong_Check(value.ptr()) != 0 && PyBool_Check(value.ptr()) == 0;
}

// `origin` is where the number was found, for messages.
void* HandleOfInteger(py::handle value, const std::string& origin) {
  const size_t handle = PyLong_AsSize_t(value.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw py::value_error(origin + " is no stream handle: " + Represent(value) +
                          " is not from 0 to 2**64 - 1");
  }
  return reinterpret_cast<void*>(static_cast<uintptr_t>(handle));
}

[[noreturn]] void ThrowNotAStream(py::handle stream, const std::string& why) {
  throw py::type_error(
      "stream must be None, a torch.cuda.Stream, an object with "
      "__cuda_stream__ or a handle (int), not " +
      DescribeType(stream) + why);
}

void* HandleOfProtocol(py::handle stream, py::object protocol) {
  if (PyCallable_Check(protocol.ptr()) != 0) protocol = protocol();
  if (PyTuple_Check(protocol.ptr()) == 0 || py::len(protocol) != 2) {
    ThrowNotAStream(stream, ": its __cuda_stream__ gives " +
                                Represent(protocol) +
                                " instead of a tuple (version, handle)");
  }
  py::object version = protocol[py::int_(0)];
  py::object handle = protocol[py::int_(1)];
  if (!IsInteger(version) || !IsInteger(handle)) {
    ThrowNotAStream(stream, ": its __cuda_stream__ gives " +
                                Represent(protocol) +
                                " instead of two ints (version, handle)");
  }
  if (!version.equal(py::int_(0))) {
    ThrowNotAStream(stream, ": its __cuda_stream__ follows version " +
                                Represent(version) +
                                " of the protocol; kvswap knows version 0");
  }
  return HandleOfInteger(handle, "stream.__cuda_stream__()[1]");
}

void* HandleOfObject(py::handle stream) {
  const Names& names = GetNames();
  // A class has the attributes of its instances, but is no stream.
  if (PyType_Check(stream.ptr()) != 0) ThrowNotAStream(stream, "");
  py::object cuda_stream = FindAttribute(stream, names.cuda_stream);
  if (cuda_stream && IsInteger(cuda_stream)) {
    return HandleOfInteger(cuda_stream, "stream.cuda_stream");
  }
  py::object protocol = FindAttribute(stream, names.cuda_stream_protocol);
  if (!protocol) ThrowNotAStream(stream, "");
  return HandleOfProtocol(stream, protocol);
}

// torch.cuda where it has been initialised, else null. While it has not, no
// stream of torch's can be current, and asking for one would initialise CUDA.
py::object FindTorchCuda(const TorchObjects* torch) {
  const Names& names = GetNames();
  if (torch == nullptr) return py::object();
  py::object cuda = FindAttribute(torch->module, names.cuda);
  if (!cuda || CallMethod(cuda, names.is_initialized).ptr() != Py_True) {
    return py::object();
  }
  return cuda;
}

// torch._C._cuda_getCurrentRawStream: the handle alone, in a twentieth of the
// time of the public call, which makes an object. Triton and torch's compiler
// call it too. Null in a torch that has none.
py::object FindRawStreamCall(const TorchObjects& torch) {
  const Names& names = GetNames();
  py::object extension = FindAttribute(torch.module, names.extension);
  if (!extension) return extension;
  return FindAttribute(extension, names.current_raw_stream);
}

void* CurrentTorchStream(const TorchObjects& torch, const py::object& cuda,
                         int32_t device) {
  const Names& names = GetNames();
  if (device >= 0) {
    if (py::object raw_stream_call = FindRawStreamCall(torch)) {
      return HandleOfInteger(raw_stream_call(device),
                             "torch's current raw stream");
    }
  }
  py::object argument = device < 0 ? py::none() : py::object(py::int_(device));
  py::object current =
      py::reinterpret_steal<py::object>(PyObject_CallMethodOneArg(
          cuda.ptr(), names.current_stream, argument.ptr()));
  if (!current) throw py::error_already_set();
  return HandleOfInteger(GetAttribute(current, names.cuda_stream),
                         "torch.cuda.current_stream().cuda_stream");
}

}  // namespace

void* StreamHandle(py::handle stream, const TorchObjects* torch,
                   const std::function<int32_t()>& find_device) {
  if (stream && !stream.is_none()) {
    if (IsInteger(stream)) return HandleOfInteger(stream, "stream");
    return HandleOfObject(stream);
  }

  py::object cuda = FindTorchCuda(torch);
  if (!cuda) return nullptr;
  return CurrentTorchStream(*torch, cuda, find_device());
}

}  // namespace kvswap::bindings
