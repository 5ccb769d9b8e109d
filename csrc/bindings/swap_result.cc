#include "csrc/bindings/swap_result.h"

#include <algorithm>
#include <tuple>

#include "csrc/bindings/conversions.h"

namespace kvswap::bindings {
namespace {

bool Equal(const SwapResult& a, const SwapResult& b) {
  const auto scalars = [](const SwapResult& result) {
    return std::tie(result.engine, result.device, result.submitted,
                    result.submitted_bytes, result.dropped, result.pageable);
  };
  return scalars(a) == scalars(b) &&
         std::equal(std::begin(a.copies), std::end(a.copies), b.copies) &&
         std::equal(std::begin(a.unavailable), std::end(a.unavailable),
                    b.unavailable);
}

py::tuple GetState(const SwapResult& result) {
  py::tuple copies(KVSWAP_ENGINE_SLOTS);
  py::tuple unavailable(KVSWAP_ENGINE_SLOTS);
  for (size_t engine = 0; engine < KVSWAP_ENGINE_SLOTS; ++engine) {
    copies[engine] = result.copies[engine];
    unavailable[engine] = result.unavailable[engine];
  }
  return py::make_tuple(result.engine, result.device, result.submitted,
                        result.submitted_bytes, result.dropped, copies,
                        unavailable, result.pageable);
}

SwapResult SetState(const py::tuple& state) {
  kvswap_result result = {};
  result.engine = state[0].cast<int32_t>();
  result.device = state[1].cast<int32_t>();
  result.submitted = state[2].cast<size_t>();
  result.submitted_bytes = state[3].cast<uint64_t>();
  result.dropped = state[4].cast<size_t>();
  const auto copies = state[5].cast<py::tuple>();
  const auto unavailable = state[6].cast<py::tuple>();
  for (size_t engine = 0; engine < KVSWAP_ENGINE_SLOTS; ++engine) {
    result.copies[engine] = copies[engine].cast<uint64_t>();
    result.unavailable[engine] = unavailable[engine].cast<int32_t>();
  }
  result.pageable = state[7].cast<size_t>();
  return SwapResult(result);
}

py::str GetRepr(py::handle result) {
  return py::str(
             "SwapResult(engine={0.engine!r}, device={0.device}, "
             "submitted={0.submitted}, submitted_bytes={0.submitted_bytes}, "
             "dropped={0.dropped}, copies={0.copies}, "
             "unavailable={0.unavailable}, pageable={0.pageable})")
      .format(result);
}

}  // namespace

SwapResult::SwapResult(const kvswap_result& result)
    : engine(result.engine),
      device(result.device),
      submitted(result.submitted),
      submitted_bytes(result.submitted_bytes),
      dropped(result.dropped),
      pageable(result.pageable) {
  std::copy(std::begin(result.copies), std::end(result.copies), copies);
  std::copy(std::begin(result.unavailable), std::end(result.unavailable),
            unavailable);
}

void AddSwapResult(py::module_& module) {
  py::class_<SwapResult> result(module, "SwapResult",
                                R"(What a successful call submitted.

Submitted copies may run after the call has returned: the result says what the
driver accepted, not what has been copied. Results compare by value, are
immutable and can be pickled.)");
  // Where users find it, so that help() and pickles name no private module.
  result.attr("__module__") = "kvswap";
  result
      .def_property_readonly(
          "engine",
          [](const SwapResult& self) {
            return kvswap_engine_name(self.engine);
          },
          "str: the engine that ran (\"batch\", \"loop\", \"kernel\", "
          "\"bridge\"); of several, the one with most copies. Where nothing "
          "was to copy, the one that would have.")
      .def_property_readonly(
          "device",
          [](const SwapResult& self) { return OrdinalOrNone(self.device); },
          "int or None: ordinal of the device whose context was used.")
      .def_readonly("submitted", &SwapResult::submitted,
                    "int: copies that the driver accepted.")
      .def_readonly("submitted_bytes", &SwapResult::submitted_bytes,
                    "int: bytes of those copies.")
      .def_readonly("dropped", &SwapResult::dropped,
                    "int: descriptors of size zero, which copy nothing.")
      .def_readonly("pageable", &SwapResult::pageable,
                    "int: copies of which a side is host memory that is not "
                    "pinned. The driver may stage them and run them before the "
                    "call returns.")
      .def_property_readonly(
          "copies",
          [](const SwapResult& self) { return CountsOfEngines(self.copies); },
          "dict[str, int]: copies that each engine submitted.")
      .def_property_readonly(
          "unavailable",
          [](const SwapResult& self) {
            return ReasonsOfEngines(self.unavailable);
          },
          "dict[str, str]: engines that were asked for or preferred and did "
          "not run, or not for all copies, each with the reason: "
          "\"no_batch_symbol\", \"legacy_stream\", \"capturing\", "
          "\"source_access\", \"not_reachable\", \"no_kernel_entry\", "
          "\"no_kernel_image\", \"launch_failed\", \"not_legacy_stream\", "
          "\"no_bridge\".")
      .def("__eq__",
           [](const SwapResult& self, py::handle other) -> py::object {
             if (!py::isinstance<SwapResult>(other)) {
               return py::reinterpret_borrow<py::object>(Py_NotImplemented);
             }
             return py::bool_(Equal(self, other.cast<const SwapResult&>()));
           })
      .def("__repr__", &GetRepr)
      .def(py::pickle(&GetState, &SetState));
}

}  // namespace kvswap::bindings
