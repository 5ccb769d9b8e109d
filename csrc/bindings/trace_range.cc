#include "csrc/bindings/trace_range.h"

#include "csrc/bindings/code_beside_call.h"

namespace kvswap::bindings {
namespace {

// The GIL guards it.
bool nvtx_is_on = false;

// The variables of torch.autograd.profiler, kept once found; null before.
PyObject* ProfilerVariables() {
  static PyObject* found = nullptr;
  if (found != nullptr) return found;
  PyObject* module = PyImport_GetModule(GetNames().profiler_module);
  if (module == nullptr || PyModule_Check(module) == 0) {
    PyErr_Clear();
    Py_XDECREF(module);
    return nullptr;
  }
  // The reference to the module is kept, and its dictionary with it.
  found = PyModule_GetDict(module);
  return found;
}

bool IsProfiling(const TorchObjects* torch) {
  if (torch == nullptr) return false;
  PyObject* variables = ProfilerVariables();
  if (variables == nullptr) return false;
  // A variable for this very question, which torch sets at the start and the
  // end of a profile.
  return PyDict_GetItemWithError(variables, GetNames().is_profiler_enabled) ==
         Py_True;
}

}  // namespace

TraceRange::TraceRange(const char* function, std::size_t copies,
                       const TorchObjects* torch) {
  const bool is_profiling = IsProfiling(torch);
  if (!nvtx_is_on && !is_profiling) return;
  CodeBesideCall code;
  try {
    range_ = py::module_::import("kvswap.tracing")
                 .attr("TraceRange")(function, copies, is_profiling);
  } catch (py::error_already_set& error) {
    code.SetAside(error, "a range of kvswap");
  }
}

TraceRange::~TraceRange() {
  if (range_) Close(py::none());
}

void TraceRange::End(const SwapResult& result) {
  if (range_) Close(py::cast(result));
}

void TraceRange::Close(const py::object& result) {
  CodeBesideCall code;
  try {
    py::object range = std::move(range_);
    range.attr("close")(result);
  } catch (py::error_already_set& error) {
    // The copies were submitted, whatever becomes of the trace.
    code.SetAside(error, "a range of kvswap");
  }
}

void AddTraceRanges(py::module_& module) {
  module.def("_set_nvtx", [](bool is_on) { nvtx_is_on = is_on; });
}

}  // namespace kvswap::bindings
