// Ranges of tracing tools around calls: NVTX's, the torch profiler's.

#ifndef KVSWAP_BINDINGS_TRACE_RANGE_H_
#define KVSWAP_BINDINGS_TRACE_RANGE_H_

#include <cstddef>

#include "csrc/bindings/python_objects.h"
#include "csrc/bindings/swap_result.h"
#include "csrc/bindings/torch_objects.h"

namespace kvswap::bindings {

// A range from its construction to its end, where a tool wants one: while NVTX
// ranges are on, or a profiler of the imported torch is. Else a look at a
// variable, and with torch at an entry of a dictionary.
class TraceRange {
 public:
  // `copies` is how many the caller asks for: descriptors or pairs of blocks.
  TraceRange(const char* function, std::size_t copies,
             const TorchObjects* torch);
  // The end of a call that failed.
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;

  // The end of one that went well.
  void End(const SwapResult& result);

 private:
  void Close(const py::object& result);

  py::object range_;  // of kvswap.tracing; null: none
};

// Adds _set_nvtx(bool).
void AddTraceRanges(py::module_& module);

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_TRACE_RANGE_H_
