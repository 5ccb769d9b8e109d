#include "csrc/bindings/call_arguments.h"

#include <string>

namespace kvswap::bindings {
namespace {

struct Parameter {
  PyObject* name;  // interned
  py::handle CallArguments::* member;
};

constexpr size_t kParameterCount = 11;
constexpr size_t kPositionalCount = 3;  // the first ones, and required

const Parameter* GetParameters() {
  static const Parameter parameters[kParameterCount] = {
      {Intern("src_ptrs"), &CallArguments::src_ptrs},
      {Intern("dst_ptrs"), &CallArguments::dst_ptrs},
      {Intern("sizes"), &CallArguments::sizes},
      {Intern("stream"), &CallArguments::stream},
      {Intern("engine"), &CallArguments::engine},
      {Intern("src_access"), &CallArguments::src_access},
      {Intern("max_batch"), &CallArguments::max_batch},
      {Intern("strict"), &CallArguments::strict},
      {Intern("priority"), &CallArguments::priority},
      {Intern("policy"), &CallArguments::policy},
      {Intern("prefer_overlap"), &CallArguments::prefer_overlap},
  };
  return parameters;
}

const Parameter* FindParameter(PyObject* name) {
  const Parameter* parameters = GetParameters();
  // Names in source code are interned, so that identity nearly always decides.
  for (size_t i = 0; i < kParameterCount; ++i) {
    if (parameters[i].name == name) return &parameters[i];
  }
  for (size_t i = 0; i < kParameterCount; ++i) {
    if (PyUnicode_Compare(parameters[i].name, name) == 0) return &parameters[i];
  }
  return nullptr;
}

[[noreturn]] void ThrowTypeError(const char* function,
                                 const std::string& message) {
  throw py::type_error(std::string(function) + "() " + message);
}

}  // namespace

CallArguments ParseCallArguments(const char* function, PyObject* const* values,
                                 Py_ssize_t positional_count,
                                 PyObject* keywords) {
  const Parameter* parameters = GetParameters();
  const size_t positional = static_cast<size_t>(positional_count);
  if (positional > kPositionalCount) {
    ThrowTypeError(function, "takes " + std::to_string(kPositionalCount) +
                                 " positional arguments but " +
                                 std::to_string(positional) + " were given");
  }
  CallArguments arguments;
  for (size_t i = 0; i < positional; ++i) {
    arguments.*parameters[i].member = values[i];
  }
  const Py_ssize_t keyword_count =
      keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < keyword_count; ++i) {
    PyObject* name = PyTuple_GET_ITEM(keywords, i);
    const Parameter* parameter = FindParameter(name);
    if (parameter == nullptr) {
      ThrowTypeError(function,
                     "got an unexpected keyword argument " + Represent(name));
    }
    py::handle& argument = arguments.*parameter->member;
    if (argument) {
      ThrowTypeError(function,
                     "got multiple values for argument " + Represent(name));
    }
    argument = values[positional_count + i];
  }
  for (size_t i = 0; i < kPositionalCount; ++i) {
    if (!(arguments.*parameters[i].member)) {
      ThrowTypeError(function, "missing required argument " +
                                   Represent(parameters[i].name));
    }
  }
  return arguments;
}

}  // namespace kvswap::bindings
