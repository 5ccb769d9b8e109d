#include "csrc/bindings/conversions.h"

#include <string>

namespace kvswap::bindings {
namespace {

using namespace pybind11::literals;

// Slot 0 of the arrays that engines index is "auto", which never runs itself;
// slot 0 of those that reasons index is "none".
constexpr int32_t kFirstEngine = KVSWAP_ENGINE_AUTO + 1;
constexpr int32_t kFirstReason = KVSWAP_REASON_NONE + 1;

// Calls visit(number, name) for every number below `slots` that has a name.
template <typename Visit>
void ForEachName(int32_t first, int32_t slots, const char* (*name_of)(int32_t),
                 const Visit& visit) {
  const std::string unknown = name_of(-1);
  for (int32_t number = first; number < slots; ++number) {
    const char* name = name_of(number);
    if (name != unknown) visit(number, name);
  }
}

py::object Record(const char* name, const py::dict& fields) {
  return py::module_::import("kvswap.records").attr(name)(**fields);
}

py::object AddressOrNone(const kvswap_result& result, const void* address) {
  if (result.index == KVSWAP_NO_INDEX) return py::none();
  return py::int_(reinterpret_cast<uintptr_t>(address));
}

}  // namespace

py::object OrdinalOrNone(int32_t ordinal) {
  if (ordinal < 0) return py::none();
  return py::int_(ordinal);
}

py::object IndexOrNone(size_t index) {
  if (index == KVSWAP_NO_INDEX) return py::none();
  return py::int_(index);
}

py::dict CountsOfEngines(const uint64_t (&counts)[KVSWAP_ENGINE_SLOTS]) {
  py::dict dict;
  ForEachName(kFirstEngine, KVSWAP_ENGINE_SLOTS, kvswap_engine_name,
              [&](int32_t engine, const char* name) {
                dict[name] = py::int_(counts[engine]);
              });
  return dict;
}

namespace {

py::dict CountsOfReasons(const uint64_t (&counts)[KVSWAP_REASON_SLOTS]) {
  py::dict dict;
  ForEachName(kFirstReason, KVSWAP_REASON_SLOTS, kvswap_reason_name,
              [&](int32_t reason, const char* name) {
                dict[name] = py::int_(counts[reason]);
              });
  return dict;
}

py::dict CountsOfDirections(const uint64_t (&counts)[KVSWAP_DIRECTION_SLOTS]) {
  py::dict dict;
  ForEachName(0, KVSWAP_DIRECTION_SLOTS, kvswap_direction_name,
              [&](int32_t direction, const char* name) {
                dict[name] = py::int_(counts[direction]);
              });
  return dict;
}

}  // namespace

py::dict ReasonsOfEngines(const int32_t (&reasons)[KVSWAP_ENGINE_SLOTS]) {
  py::dict dict;
  ForEachName(kFirstEngine, KVSWAP_ENGINE_SLOTS, kvswap_engine_name,
              [&](int32_t engine, const char* name) {
                if (reasons[engine] == KVSWAP_REASON_NONE) return;
                dict[name] = kvswap_reason_name(reasons[engine]);
              });
  return dict;
}

py::object MakePlan(const kvswap_plan& plan) {
  py::dict explanations;
  ForEachName(kFirstEngine, KVSWAP_ENGINE_SLOTS, kvswap_engine_name,
              [&](int32_t engine, const char* name) {
                const int32_t reason = plan.unavailable[engine];
                if (reason == KVSWAP_REASON_NONE) return;
                explanations[name] = kvswap_reason_text(reason);
              });
  return Record(
      "Plan",
      py::dict("engine"_a = kvswap_engine_name(plan.engine),
               "stream_kind"_a = kvswap_stream_kind_name(plan.stream_kind),
               "capturing"_a = plan.capturing != 0,
               "device"_a = OrdinalOrNone(plan.device),
               "copies"_a = plan.copies, "dropped"_a = plan.dropped,
               "bytes"_a = plan.bytes, "driver_calls"_a = plan.driver_calls,
               "max_batch"_a = plan.max_batch,
               "unavailable"_a = ReasonsOfEngines(plan.unavailable),
               "explanations"_a = explanations,
               "engine_copies"_a = CountsOfEngines(plan.engine_copies),
               "coalesced"_a = plan.coalesced));
}

py::object MakeMemory(const kvswap_memory& memory) {
  return Record("Memory",
                py::dict("kind"_a = kvswap_memory_kind_name(memory.kind),
                         "device"_a = OrdinalOrNone(memory.device),
                         "range_start"_a = memory.range_start,
                         "range_size"_a = memory.range_size));
}

py::object MakeDriverInfo(const kvswap_driver_info& info) {
  py::tuple entries(info.entry_count);
  for (size_t position = 0; position < info.entry_count; ++position) {
    kvswap_driver_entry entry = KVSWAP_DRIVER_ENTRY_INIT;
    kvswap_get_driver_entry(position, &entry);
    entries[position] =
        Record("DriverEntry",
               py::dict("name"_a = entry.name, "version"_a = entry.version,
                        "required"_a = entry.required != 0,
                        "present"_a = entry.present != 0,
                        "cuda_error"_a = entry.cuda_error,
                        "query_status"_a = OrdinalOrNone(entry.query_status),
                        "message"_a = entry.message));
  }
  return Record(
      "DriverInfo",
      py::dict("usable"_a = info.usable != 0,
               "driver_version"_a = info.driver_version,
               "batch_available"_a = info.batch_available != 0,
               "toolkit_version"_a = info.toolkit_version, "path"_a = info.path,
               "message"_a = info.message,
               "tried"_a = py::tuple(py::str(info.tried).attr("splitlines")()),
               "entries"_a = entries));
}

py::object MakeKernelInfo(const kvswap_kernel_info& info) {
  py::object reason = py::none();
  if (info.reason != KVSWAP_REASON_NONE) {
    reason = py::str(kvswap_reason_name(info.reason));
  }
  return Record(
      "KernelInfo",
      py::dict("available"_a = info.available != 0, "reason"_a = reason,
               "device"_a = OrdinalOrNone(info.device),
               "compute_capability"_a = info.compute_capability,
               "bulk"_a = info.bulk != 0,
               "parameter_bytes"_a = info.parameter_bytes,
               "image"_a = info.image, "message"_a = info.message));
}

py::object MakeStatistics(const kvswap_statistics& statistics) {
  return Record(
      "Statistics",
      py::dict(
          "calls"_a = statistics.calls, "errors"_a = statistics.errors,
          "dropped"_a = statistics.dropped,
          "copies"_a = CountsOfEngines(statistics.copies),
          "bytes"_a = CountsOfEngines(statistics.bytes),
          "fallbacks"_a = CountsOfReasons(statistics.fallbacks),
          "fallback_copies"_a = CountsOfReasons(statistics.fallback_copies),
          "driver_calls"_a = statistics.driver_calls,
          "coalesced"_a = statistics.coalesced,
          "direction_copies"_a =
              CountsOfDirections(statistics.direction_copies),
          "direction_bytes"_a =
              CountsOfDirections(statistics.direction_bytes)));
}

void ThrowUnlessOk(int status, const kvswap_result& result) {
  if (status == KVSWAP_OK) return;
  if (status == KVSWAP_ERROR_INVALID_ARGUMENT) {
    throw py::value_error(result.message);
  }
  const bool has_index = result.index != KVSWAP_NO_INDEX;
  const char* type_name =
      status == KVSWAP_ERROR_UNSUPPORTED ? "UnsupportedError" : "SwapError";
  py::object type = py::module_::import("kvswap.errors").attr(type_name);
  py::object error = type(
      result.message, "status"_a = kvswap_status_name(status),
      "index"_a = IndexOrNone(result.index),
      "region"_a = IndexOrNone(result.region),
      "cuda_error"_a = result.cuda_error, "submitted"_a = result.submitted,
      "submitted_bytes"_a = result.submitted_bytes,
      "source"_a = AddressOrNone(result, result.source),
      "destination"_a = AddressOrNone(result, result.destination),
      "size"_a = has_index ? py::object(py::int_(result.size)) : py::none(),
      "source_memory"_a =
          has_index ? MakeMemory(result.source_memory) : py::none(),
      "destination_memory"_a =
          has_index ? MakeMemory(result.destination_memory) : py::none(),
      "unavailable"_a = ReasonsOfEngines(result.unavailable));
  PyErr_SetObject(type.ptr(), error.ptr());
  throw py::error_already_set();
}

}  // namespace kvswap::bindings
