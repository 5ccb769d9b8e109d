// The parameters of swap_blocks_batch and plan, taken from a Python call.
//
// The two functions are defined by CPython's fast calling convention and not by
// pybind11's: its dispatcher costs about a microsecond for a call with keyword
// arguments, as much as everything else together, and reports an unexpected
// keyword by printing all arguments.

#ifndef KVSWAP_BINDINGS_CALL_ARGUMENTS_H_
#define KVSWAP_BINDINGS_CALL_ARGUMENTS_H_

#include "csrc/bindings/python_objects.h"

namespace kvswap::bindings {

// Borrowed from the caller; those that may be left out are null if they were.
struct CallArguments {
  py::handle src_ptrs;
  py::handle dst_ptrs;
  py::handle sizes;
  py::handle stream;
  py::handle engine;
  py::handle src_access;
  py::handle max_batch;
  py::handle strict;
  py::handle priority;
  py::handle policy;
  py::handle prefer_overlap;
};

// Sorts the arguments of a METH_FASTCALL | METH_KEYWORDS call by name. Throws
// TypeError as Python does for a def of
//   function(src_ptrs, dst_ptrs, sizes, *, stream, engine, src_access,
//            max_batch, strict, priority, policy, prefer_overlap)
CallArguments ParseCallArguments(const char* function, PyObject* const* values,
                                 Py_ssize_t positional_count,
                                 PyObject* keywords);

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_CALL_ARGUMENTS_H_
