// The loop engine: cuMemcpyAsync for each descriptor.

#ifndef KVSWAP_ENGINE_LOOP_H_
#define KVSWAP_ENGINE_LOOP_H_

#include "csrc/driver/driver_table.h"
#include "csrc/engine/copies.h"
#include "csrc/engine/submission.h"

namespace kvswap::engine {

// Runs on every driver and every stream; on a capturing stream each copy
// becomes a node. Stops at the first copy that the driver refuses.
Submission SubmitLoop(const driver::DriverTable& table,
                      const Descriptors& descriptors, abi::Stream stream);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_LOOP_H_
