// What the log says of calls and of the GPUs that they copy to and from.

#ifndef KVSWAP_ENGINE_CALL_LOG_H_
#define KVSWAP_ENGINE_CALL_LOG_H_

#include "csrc/engine/call_counts.h"
#include "csrc/engine/kernel_module.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// What lines call an operation: a name that users of every language know, since
// a function has one for each of them.
inline constexpr char kOperationOnPointers[] = "swap_blocks_batch";
inline constexpr char kOperationOnPools[] = "copies between pools";

// The lines on a call that is over: each kind of fallback once a process, and
// the call itself.
void LogCall(const char* operation, void* stream, const kvswap_result& report,
             const CallCounts& counts);

// The line on images of kernels that were refused, or are not there, once for
// a device.
void LogKernels(int device, int compute_capability, const KernelModule& module);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_CALL_LOG_H_
