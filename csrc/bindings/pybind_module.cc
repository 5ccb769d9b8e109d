// The extension module kvswap._core: the C ABI of libkvswap.so for Python.
//
// The module holds no logic. It borrows the caller's arrays, turns arguments
// into the C ABI's, releases the GIL around the call, and turns what comes back
// into Python objects and errors. What the C ABI's types cannot express is
// checked here: types of objects, lengths, numbers below zero.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>

#include "csrc/bindings/call_arguments.h"
#include "csrc/bindings/call_options.h"
#include "csrc/bindings/conversions.h"
#include "csrc/bindings/docstrings.h"
#include "csrc/bindings/integer_array.h"
#include "csrc/bindings/log_queue.h"
#include "csrc/bindings/policy_objects.h"
#include "csrc/bindings/pool_objects.h"
#include "csrc/bindings/python_objects.h"
#include "csrc/bindings/stream_handle.h"
#include "csrc/bindings/swap_result.h"
#include "csrc/bindings/torch_objects.h"
#include "csrc/bindings/trace_range.h"
#include "csrc/bindings/without_gil.h"
#include "csrc/kvswap.h"

namespace kvswap::bindings {
namespace {

// The arguments of a call, checked and borrowed, in the order in which errors
// are to be reported: arrays, options, stream.
class Call {
 public:
  explicit Call(const CallArguments& arguments)
      : torch_(FindTorch()),
        src_ptrs_(arguments.src_ptrs, "src_ptrs", torch_),
        dst_ptrs_(arguments.dst_ptrs, "dst_ptrs", torch_),
        sizes_(arguments.sizes, "sizes", torch_),
        options_(MakeOptions(arguments)) {
    RefuseUnequalLengths();
    stream_ =
        StreamHandle(arguments.stream, torch_, [this] { return FindDevice(); });
  }

  SwapResult Swap() {
    TraceRange range("swap_blocks_batch", count(), torch_);
    const int status = WithoutGil([this] {
      return kvswap_swap_blocks_batch(src_ptrs(), dst_ptrs(), sizes(), count(),
                                      stream_, &options_.options, &result_);
    });
    ThrowFor(status);
    const SwapResult result(result_);
    range.End(result);
    return result;
  }

  py::object Plan() {
    kvswap_plan plan = KVSWAP_PLAN_INIT;
    const int status = WithoutGil([this, &plan] {
      return kvswap_plan_blocks_batch(src_ptrs(), dst_ptrs(), sizes(), count(),
                                      stream_, &options_.options, &plan,
                                      &result_);
    });
    ThrowFor(status);
    return MakePlan(plan);
  }

 private:
  void ThrowFor(int status) const {
    // The library refuses what has no sign and is negative here; only then does
    // it pay to look for the item.
    if (status == KVSWAP_ERROR_INVALID_ARGUMENT) {
      src_ptrs_.RefuseNegative();
      dst_ptrs_.RefuseNegative();
      sizes_.RefuseNegative();
    }
    ThrowUnlessOk(status, result_);
  }

  const void* const* src_ptrs() const {
    return static_cast<const void* const*>(src_ptrs_.data());
  }
  void* const* dst_ptrs() const {
    return static_cast<void* const*>(dst_ptrs_.data());
  }
  const size_t* sizes() const {
    return static_cast<const size_t*>(sizes_.data());
  }
  size_t count() const { return sizes_.size(); }

  void RefuseUnequalLengths() const {
    if (src_ptrs_.size() == count() && dst_ptrs_.size() == count()) return;
    throw py::value_error(
        "src_ptrs, dst_ptrs and sizes must be of equal length, not " +
        std::to_string(src_ptrs_.size()) + ", " +
        std::to_string(dst_ptrs_.size()) + " and " + std::to_string(count()));
  }

  int32_t FindDevice() const {
    int32_t device = -1;
    WithoutGil([this, &device] {
      return kvswap_find_device(src_ptrs(), dst_ptrs(), sizes(), count(),
                                &device);
    });
    return device;
  }

  const TorchObjects* torch_;
  IntegerArray src_ptrs_;
  IntegerArray dst_ptrs_;
  IntegerArray sizes_;
  CallOptions options_;
  void* stream_ = nullptr;
  kvswap_result result_ = KVSWAP_RESULT_INIT;
};

constexpr char kSwapBlocksBatch[] = "swap_blocks_batch";
constexpr char kPlan[] = "plan";

py::object SwapBlocksBatch(const CallArguments& arguments) {
  return py::cast(Call(arguments).Swap());
}

py::object PlanBlocksBatch(const CallArguments& arguments) {
  return Call(arguments).Plan();
}

// A function of CPython's fast calling convention that calls `function`, with
// C++ exceptions as Python errors.
template <const char* name, py::object (*function)(const CallArguments&)>
PyObject* FastCall(PyObject* /*module*/, PyObject* const* values,
                   Py_ssize_t positional_count, PyObject* keywords) {
  try {
    return function(
               ParseCallArguments(name, values, positional_count, keywords))
        .release()
        .ptr();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

template <const char* name, py::object (*function)(const CallArguments&)>
void DefineFastCall(py::module_& module, const char* doc) {
  // The function object refers to it for as long as it lives.
  static PyMethodDef definition = {};
  definition.ml_name = name;
  definition.ml_meth = reinterpret_cast<PyCFunction>(
      reinterpret_cast<void (*)()>(&FastCall<name, function>));
  definition.ml_flags = METH_FASTCALL | METH_KEYWORDS;
  definition.ml_doc = doc;
  py::object callable = py::reinterpret_steal<py::object>(PyCFunction_NewEx(
      &definition, nullptr, py::object(module.attr("__name__")).ptr()));
  if (!callable) throw py::error_already_set();
  module.attr(name) = callable;
}

py::object DriverInfo() {
  kvswap_driver_info info = KVSWAP_DRIVER_INFO_INIT;
  // The first look-up loads the driver library.
  WithoutGil([&info] { return kvswap_get_driver_info(&info); });
  return MakeDriverInfo(info);
}

py::object KernelInfo() {
  kvswap_kernel_info info = KVSWAP_KERNEL_INFO_INIT;
  // The first call in a context loads the kernels.
  WithoutGil([&info] { return kvswap_get_kernel_info(&info); });
  return MakeKernelInfo(info);
}

py::object Stats() {
  kvswap_statistics statistics = KVSWAP_STATISTICS_INIT;
  kvswap_get_statistics(&statistics);
  HandOverLog();
  return MakeStatistics(statistics);
}

}  // namespace

// pybind11's function of this name knows nothing of other interpreters of the
// process than the main one: ours, below, refuses them.
#define PyInit__core PyInit__core_of_pybind11

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C ABI of libkvswap.so for Python; use kvswap instead.";
  // The docstrings begin with the signature, where inspect.signature looks.
  py::options options;
  options.disable_function_signatures();

  AddSwapResult(module);
  DefineFastCall<kSwapBlocksBatch, SwapBlocksBatch>(module,
                                                    kSwapBlocksBatchDoc);
  DefineFastCall<kPlan, PlanBlocksBatch>(module, kPlanDoc);
  AddPoolObjects(module);
  AddPolicyObjects(module);
  AddTraceRanges(module);
  module.def("_hand_over_log", &HandOverLog);
  module.def("_drop_log", &DropLog);
  QueueLog();
  module.def("driver_info", &DriverInfo, kDriverInfoDoc);
  module.def("kernel_info", &KernelInfo, kKernelInfoDoc);
  module.def("stats", &Stats, kStatsDoc);
  module.attr("__version__") = kvswap_version_string();
}

}  // namespace kvswap::bindings

#undef PyInit__core

namespace kvswap::bindings {
namespace {

// What the module keeps for the process, objects of Python among it, is the
// main interpreter's. With the error set, false in every other one.
bool IsInMainInterpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return true;
  PyErr_SetString(PyExc_ImportError,
                  "kvswap works in the main interpreter of a process alone, "
                  "not in a sub-interpreter: use threads or processes");
  return false;
}

using FillModule = int (*)(PyObject* module);
FillModule fill_module = nullptr;

int FillInMainInterpreter(PyObject* module) {
  return IsInMainInterpreter() ? fill_module(module) : -1;
}

// From Python 3.13 on, the init function runs in the main interpreter,
// whichever one imports, and the steps of the definition that it returns in the
// importing one.
void GuardSteps(PyObject* module_or_definition) {
  if (fill_module != nullptr || module_or_definition == nullptr ||
      !PyObject_TypeCheck(module_or_definition, &PyModuleDef_Type)) {
    return;
  }
  auto* definition = reinterpret_cast<PyModuleDef*>(module_or_definition);
  for (PyModuleDef_Slot* slot = definition->m_slots;
       slot != nullptr && slot->slot != 0; ++slot) {
    if (slot->slot != Py_mod_exec) continue;
    fill_module = reinterpret_cast<FillModule>(slot->value);
    slot->value = reinterpret_cast<void*>(&FillInMainInterpreter);
  }
}

}  // namespace
}  // namespace kvswap::bindings

extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (!kvswap::bindings::IsInMainInterpreter()) return nullptr;
  PyObject* const module = kvswap::bindings::PyInit__core_of_pybind11();
  kvswap::bindings::GuardSteps(module);
  return module;
}
