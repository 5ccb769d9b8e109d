#include "csrc/bindings/call_options.h"

#include <string>

#include "csrc/bindings/enumerator_names.h"
#include "csrc/bindings/policy_objects.h"

namespace kvswap::bindings {
namespace {

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

bool ParseBool(py::handle value, const char* argument) {
  if (PyBool_Check(value.ptr()) == 0) {
    throw py::type_error(std::string(argument) + " must be a bool, not " +
                         DescribeType(value));
  }
  return value.ptr() == Py_True;
}

}  // namespace

CallOptions MakeOptions(const CallArguments& arguments) {
  CallOptions made;
  kvswap_options& options = made.options;
  if (arguments.engine) {
    options.engine = ParseName(arguments.engine, "engine", kEngines);
  }
  if (arguments.src_access) {
    options.source_access =
        ParseName(arguments.src_access, "src_access", kSourceAccesses);
  }
  if (arguments.max_batch) {
    options.max_batch = ParseMaxBatch(arguments.max_batch);
  }
  if (arguments.strict && ParseBool(arguments.strict, "strict")) {
    options.flags |= KVSWAP_FLAG_STRICT;
  }
  if (arguments.priority) {
    options.priority = ParseName(arguments.priority, "priority", kPriorities);
  }
  if (arguments.policy) {
    made.policy = FindRules(arguments.policy);
    options.policy = PolicyOf(made.policy);
  }
  if (arguments.prefer_overlap &&
      ParseBool(arguments.prefer_overlap, "prefer_overlap")) {
    options.flags |= KVSWAP_FLAG_PREFER_OVERLAP;
  }
  return made;
}

}  // namespace kvswap::bindings
