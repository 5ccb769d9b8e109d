// The bridge engine: the batch call, which refuses the legacy stream, on a
// stream of kvswap's own that is forked from the legacy stream and joined to
// it.

#ifndef KVSWAP_ENGINE_BRIDGE_H_
#define KVSWAP_ENGINE_BRIDGE_H_

#include <mutex>

#include "csrc/driver/driver_table.h"
#include "csrc/engine/copies.h"
#include "csrc/engine/settings.h"
#include "csrc/engine/submission.h"

namespace kvswap::engine {

// Whether the driver has what the bridge calls.
bool HasBridgeEntries(const driver::DriverTable& table);

// One for a context, which it lives as long as: nothing of it is destroyed,
// since contexts and the driver may be gone when the process ends.
class Bridge {
 public:
  Bridge() = default;
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  // Makes the stream and the events in the current context. The CUresult of the
  // first call that failed; nothing is kept then.
  int Open(const driver::DriverTable& table);

  // Has the batch engine submit the descriptors between what was submitted to
  // the legacy stream before and what is submitted after. The legacy stream
  // waits for all that was submitted also where a chunk was refused; where it
  // cannot, this thread has waited, or the submission says that nobody has.
  Submission Submit(const driver::DriverTable& table,
                    const Descriptors& descriptors, abi::Stream legacy,
                    const Settings& settings);

 private:
  // An event is recorded and waited for by one thread at a time.
  std::mutex mutex_;
  abi::Stream stream_ = nullptr;
  abi::Event fork_ = nullptr;
  abi::Event join_ = nullptr;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_BRIDGE_H_
