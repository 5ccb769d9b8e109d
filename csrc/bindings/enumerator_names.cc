#include "csrc/bindings/enumerator_names.h"

#include <cstring>
#include <string>
#include <vector>

#include "csrc/kvswap.h"

namespace kvswap::bindings {
namespace {

// Every name that the library has.
std::vector<std::string> AllNames(const Enumeration& enumeration,
                                  int32_t first) {
  const std::string unknown = enumeration.name_of(-1);
  std::vector<std::string> names;
  for (int32_t number = first; enumeration.name_of(number) != unknown;
       ++number) {
    names.emplace_back(enumeration.name_of(number));
  }
  return names;
}

// "'auto', 'batch', 'loop'".
std::string ListNames(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    list += (list.empty() ? "'" : ", '") + name + "'";
  }
  return list;
}

// "; did you mean kernel?", or nothing: as the package's own messages have it.
std::string DidYouMean(py::handle value,
                       const std::vector<std::string>& names) {
  try {
    py::list list;
    for (const std::string& name : names) list.append(name);
    return ToString(py::module_::import("kvswap.close_names")
                        .attr("did_you_mean")(value, list));
  } catch (const py::error_already_set&) {
    // What is wrong is told without it.
    return "";
  }
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
    const std::vector<std::string> names = AllNames(enumeration, first);
    throw py::value_error(std::string(argument) + " must be one of " +
                          ListNames(names) + ", not " + Represent(value) +
                          DidYouMean(value, names));
  }
  return number;
}

}  // namespace kvswap::bindings
