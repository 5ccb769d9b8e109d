#include "csrc/engine/bridge.h"

#include "csrc/engine/batch.h"

namespace kvswap::engine {

bool HasBridgeEntries(const driver::DriverTable& table) {
  return table.StreamCreate != nullptr && table.EventCreate != nullptr &&
         table.EventRecord != nullptr && table.EventDestroy != nullptr &&
         table.EventSynchronize != nullptr &&
         table.StreamWaitEvent != nullptr && table.CtxGetId != nullptr;
}

int Bridge::Open(const driver::DriverTable& table) {
  abi::Event events[2] = {};
  int code = abi::kSuccess;
  for (abi::Event& event : events) {
    if (code == abi::kSuccess) {
      code = table.EventCreate(&event, abi::kEventDisableTiming);
    }
  }
  if (code == abi::kSuccess) {
    code = table.StreamCreate(&stream_, abi::kStreamNonBlocking);
  }
  if (code != abi::kSuccess) {
    for (const abi::Event event : events) {
      if (event != nullptr) table.EventDestroy(event);
    }
    return code;
  }
  fork_ = events[0];
  join_ = events[1];
  return abi::kSuccess;
}

Submission Bridge::Submit(const driver::DriverTable& table,
                          const Descriptors& descriptors, abi::Stream legacy,
                          const Settings& settings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Submission submission;
  submission.error = table.EventRecord(fork_, legacy);
  if (submission.error == abi::kSuccess) {
    submission.error = table.StreamWaitEvent(stream_, fork_, 0);
  }
  if (submission.error != abi::kSuccess) {
    submission.failed_call = "forking the bridge from the legacy stream";
    return submission;
  }
  submission = SubmitBatch(table, descriptors, stream_, settings);
  int code = table.EventRecord(join_, stream_);
  if (code == abi::kSuccess) {
    code = table.StreamWaitEvent(legacy, join_, 0);
    // Where the legacy stream cannot wait, this thread does.
    if (code != abi::kSuccess) table.EventSynchronize(join_);
  }
  if (code != abi::kSuccess && submission.error == abi::kSuccess) {
    submission.error = code;
    submission.failed_call = "joining the bridge to the legacy stream";
  }
  return submission;
}

}  // namespace kvswap::engine
