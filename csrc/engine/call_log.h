// What the log says of calls and of the GPUs that they copy to and from.

#ifndef KVSWAP_ENGINE_CALL_LOG_H_
#define KVSWAP_ENGINE_CALL_LOG_H_

#include "csrc/engine/call_counts.h"
#include "csrc/engine/kernel_module.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// The lines on a call that is over: each kind of fallback once a process, and
// the call itself. `function` is its name without "kvswap_".
void LogCall(const char* function, void* stream, const kvswap_result& report,
             const CallCounts& counts);

// The line on images of kernels that were refused, or are not there, once for
// a device.
void LogKernels(int device, int compute_capability, const KernelModule& module);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_CALL_LOG_H_
