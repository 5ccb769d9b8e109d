#include "csrc/bindings/call_options.h"

#include <cstring>
#include <string>

namespace kvswap::bindings {
namespace {

using NameOf = const char* (*)(int32_t);
using NumberOf = int32_t (*)(const char*);

// "'auto', 'batch', 'loop'": every name that the library has.
std::string ListNames(NameOf name_of) {
  const std::string unknown = name_of(-1);
  std::string names;
  for (int32_t number = 0; name_of(number) != unknown; ++number) {
    names += std::string(names.empty() ? "'" : ", '") + name_of(number) + "'";
  }
  return names;
}

int32_t ParseName(py::handle value, const char* argument, NumberOf number_of,
                  NameOf name_of) {
  if (PyUnicode_Check(value.ptr()) == 0) {
    throw py::type_error(std::string(argument) + " must be a str, not " +
                         DescribeType(value));
  }
  Py_ssize_t length = 0;
  const char* name = PyUnicode_AsUTF8AndSize(value.ptr(), &length);
  // A lone surrogate has no UTF-8: it is in no name.
  if (name == nullptr) PyErr_Clear();
  const bool is_c_string =
      name != nullptr && std::strlen(name) == static_cast<size_t>(length);
  const int32_t number = is_c_string ? number_of(name) : -1;
  if (number < 0) {
    throw py::value_error(std::string(argument) + " must be one of " +
                          ListNames(name_of) + ", not " + Represent(value));
  }
  return number;
}

size_t ParseMaxBatch(py::handle max_batch) {
  if (max_batch.is_none()) return 0;
  if (PyLong_Check(max_batch.ptr()) == 0 || PyBool_Check(max_batch.ptr())) {
    throw py::type_error("max_batch must be an int or None, not " +
                         DescribeType(max_batch));
  }
  const size_t value = PyLong_AsSize_t(max_batch.ptr());
  if (PyErr_Occurred() != nullptr || value == 0) {
    PyErr_Clear();
    throw py::value_error(
        "max_batch must be from 1 to 2**64 - 1 descriptors, or None for the "
        "default, not " +
        Represent(max_batch));
  }
  return value;
}

bool ParseStrict(py::handle strict) {
  if (PyBool_Check(strict.ptr()) == 0) {
    throw py::type_error("strict must be a bool, not " + DescribeType(strict));
  }
  return strict.ptr() == Py_True;
}

}  // namespace

kvswap_options MakeOptions(const CallArguments& arguments) {
  kvswap_options options = KVSWAP_OPTIONS_INIT;
  if (arguments.engine) {
    options.engine = ParseName(arguments.engine, "engine",
                               kvswap_engine_from_name, kvswap_engine_name);
  }
  if (arguments.src_access) {
    options.source_access =
        ParseName(arguments.src_access, "src_access",
                  kvswap_source_access_from_name, kvswap_source_access_name);
  }
  if (arguments.max_batch) {
    options.max_batch = ParseMaxBatch(arguments.max_batch);
  }
  if (arguments.strict && ParseStrict(arguments.strict)) {
    options.flags |= KVSWAP_FLAG_STRICT;
  }
  return options;
}

}  // namespace kvswap::bindings
