// The batch engine: cuMemcpyBatchAsync, the 9-argument function, in chunks.

#ifndef KVSWAP_ENGINE_BATCH_H_
#define KVSWAP_ENGINE_BATCH_H_

#include "csrc/driver/driver_table.h"
#include "csrc/engine/copies.h"
#include "csrc/engine/settings.h"
#include "csrc/engine/submission.h"

namespace kvswap::engine {

// The stream is neither legacy nor capturing, the descriptors are not empty and
// no size is zero: the driver refuses all of these. Chunks of at most
// `settings.max_batch` descriptors let the copying start while later chunks are
// being submitted, and stay below the counts at which drivers were reported to
// fail.
Submission SubmitBatch(const driver::DriverTable& table,
                       const Descriptors& descriptors, abi::Stream stream,
                       const Settings& settings);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_BATCH_H_
