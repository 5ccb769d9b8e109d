// What the C ABI returns, as Python objects.

#ifndef KVSWAP_BINDINGS_CONVERSIONS_H_
#define KVSWAP_BINDINGS_CONVERSIONS_H_

#include <cstddef>
#include <cstdint>

#include "csrc/bindings/python_objects.h"
#include "csrc/kvswap.h"

namespace kvswap::bindings {

// An int, or None for the number that stands for "none".
py::object OrdinalOrNone(int32_t ordinal);
py::object IndexOrNone(size_t index);

// {engine name: count} of all engines that can run, in the library's order.
py::dict CountsOfEngines(const uint64_t (&counts)[KVSWAP_ENGINE_SLOTS]);

// {engine name: reason name} of the engines that have a reason.
py::dict ReasonsOfEngines(const int32_t (&reasons)[KVSWAP_ENGINE_SLOTS]);

// Objects of kvswap.records.
py::object MakePlan(const kvswap_plan& plan);
py::object MakeMemory(const kvswap_memory& memory);
py::object MakeDriverInfo(const kvswap_driver_info& info);
py::object MakeKernelInfo(const kvswap_kernel_info& info);
py::object MakeStatistics(const kvswap_statistics& statistics);

// Throws what a call's outcome means in Python: nothing for KVSWAP_OK,
// ValueError for KVSWAP_ERROR_INVALID_ARGUMENT, else an error of kvswap.errors.
void ThrowUnlessOk(int status, const kvswap_result& result);

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_CONVERSIONS_H_
