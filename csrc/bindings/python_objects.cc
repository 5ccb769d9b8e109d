#include "csrc/bindings/python_objects.h"

namespace kvswap::bindings {
namespace {

std::string EncodeForMessage(py::handle text) {
  auto bytes = py::reinterpret_steal<py::object>(
      PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes) throw py::error_already_set();
  return std::string(PyBytes_AsString(bytes.ptr()));
}

}  // namespace

PyObject* Intern(const char* text) {
  PyObject* name = PyUnicode_InternFromString(text);
  if (name == nullptr) throw py::error_already_set();
  return name;
}

const Names& GetNames() {
  // Never freed: the names are used until the process ends.
  static const Names* const names = new Names{
      Intern("cuda"),
      Intern("cuda_stream"),
      Intern("__cuda_stream__"),
      Intern("_cuda_getCurrentRawStream"),
      Intern("current_stream"),
      Intern("data_ptr"),
      Intern("dim"),
      Intern("dtype"),
      Intern("numel"),
      Intern("_C"),
      Intern("int64"),
      Intern("is_contiguous"),
      Intern("is_cpu"),
      Intern("is_initialized"),
      Intern("_is_profiler_enabled"),
      Intern("torch.autograd.profiler"),
      Intern("shape"),
      Intern("Tensor"),
      Intern("torch"),
      Intern("uint64"),
  };
  return *names;
}

py::object GetAttribute(py::handle object, PyObject* name) {
  PyObject* value = PyObject_GetAttr(object.ptr(), name);
  if (value == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(value);
}

py::object FindAttribute(py::handle object, PyObject* name) {
  PyObject* value = PyObject_GetAttr(object.ptr(), name);
  if (value == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
      throw py::error_already_set();
    }
    PyErr_Clear();
  }
  return py::reinterpret_steal<py::object>(value);
}

py::object CallMethod(py::handle object, PyObject* name) {
  PyObject* value = PyObject_CallMethodNoArgs(object.ptr(), name);
  if (value == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(value);
}

std::string DescribeType(py::handle object) {
  if (object.is_none()) return "None";
  if (PyType_Check(object.ptr()) != 0) return "the class " + ToString(object);
  py::handle type(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())));
  std::string name = ToString(type.attr("__qualname__"));
  const std::string module = ToString(type.attr("__module__"));
  if (module != "builtins") name = module + "." + name;
  const bool starts_with_vowel =
      std::string("aeiouAEIOU").find(name.front()) != std::string::npos;
  return (starts_with_vowel ? "an " : "a ") + name;
}

std::string ToString(py::handle object) {
  return EncodeForMessage(py::str(object));
}

std::string Represent(py::handle object) {
  return EncodeForMessage(py::repr(object));
}

void ThrowFrom(py::error_already_set& cause, PyObject* type,
               const std::string& message) {
  py::raise_from(cause, type, message.c_str());
  throw py::error_already_set();
}

}  // namespace kvswap::bindings
