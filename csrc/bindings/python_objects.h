// Small helpers over the Python C API that the bindings share: interned
// attribute names, attribute look-up without exceptions for what is merely
// absent, and how error messages name an object.

#ifndef KVSWAP_BINDINGS_PYTHON_OBJECTS_H_
#define KVSWAP_BINDINGS_PYTHON_OBJECTS_H_

#include <pybind11/pybind11.h>

#include <string>

namespace kvswap::bindings {

namespace py = pybind11;

// Attribute names as interned Python strings, made once: a call reads about
// twenty attributes, and a fresh string for each would cost more than the read.
struct Names {
  PyObject* cuda;
  PyObject* cuda_stream;
  PyObject* cuda_stream_protocol;  // "__cuda_stream__"
  PyObject* current_raw_stream;    // "_cuda_getCurrentRawStream"
  PyObject* current_stream;
  PyObject* data_ptr;
  PyObject* dimensions;  // "dim"
  PyObject* dtype;
  PyObject* element_count;  // "numel"
  PyObject* extension;      // "_C"
  PyObject* int64;
  PyObject* is_contiguous;
  PyObject* is_cpu;
  PyObject* is_initialized;
  PyObject* is_profiler_enabled;  // "_is_profiler_enabled"
  PyObject* profiler_module;      // "torch.autograd.profiler"
  PyObject* shape;
  PyObject* tensor;  // "Tensor"
  PyObject* torch;
  PyObject* uint64;
};

const Names& GetNames();

// A new reference to the interned string.
PyObject* Intern(const char* text);

// The attribute; throws the Python error if there is none.
py::object GetAttribute(py::handle object, PyObject* name);

// The attribute, or a null object where there is none. Other errors are thrown.
py::object FindAttribute(py::handle object, PyObject* name);

// object.name(); throws the Python error.
py::object CallMethod(py::handle object, PyObject* name);

// "a list", "an int", "a torch.Tensor": what was passed, for messages.
std::string DescribeType(py::handle object);

// str(object) and repr(object) as UTF-8, with what UTF-8 cannot hold escaped.
std::string ToString(py::handle object);
std::string Represent(py::handle object);

// Throws `type` with `message`, caused by the error that `cause` holds.
[[noreturn]] void ThrowFrom(py::error_already_set& cause, PyObject* type,
                            const std::string& message);

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_PYTHON_OBJECTS_H_
