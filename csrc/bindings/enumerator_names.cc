#include "csrc/bindings/enumerator_names.h"

#include <cstring>
#include <string>

#include "csrc/kvswap.h"

namespace kvswap::bindings {
namespace {

// "'auto', 'batch', 'loop'": every name that the library has.
std::string ListNames(const Enumeration& enumeration, int32_t first) {
  const std::string unknown = enumeration.name_of(-1);
  std::string names;
  for (int32_t number = first; enumeration.name_of(number) != unknown;
       ++number) {
    names += std::string(names.empty() ? "'" : ", '") +
             enumeration.name_of(number) + "'";
  }
  return names;
}

}  // namespace

const Enumeration kEngines = {kvswap_engine_name, kvswap_engine_from_name};
const Enumeration kSourceAccesses = {kvswap_source_access_name,
                                     kvswap_source_access_from_name};
const Enumeration kPriorities = {kvswap_priority_name,
                                 kvswap_priority_from_name};
const Enumeration kDirections = {kvswap_direction_name,
                                 kvswap_direction_from_name};
const Enumeration kKernels = {kvswap_kernel_name, kvswap_kernel_from_name};

int32_t ParseName(py::handle value, const char* argument,
                  const Enumeration& enumeration, int32_t first) {
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
  const int32_t number = is_c_string ? enumeration.number_of(name) : -1;
  if (number < first) {
    throw py::value_error(std::string(argument) + " must be one of " +
                          ListNames(enumeration, first) + ", not " +
                          Represent(value));
  }
  return number;
}

}  // namespace kvswap::bindings
