#include "csrc/engine/bridge.h"

#include "csrc/engine/batch.h"
#include "csrc/engine/capture_mode.h"

namespace kvswap::engine {

bool HasBridgeEntries(const driver::DriverTable& table) {
  return table.StreamCreate != nullptr && table.EventCreate != nullptr &&
         table.EventRecord != nullptr && table.EventDestroy != nullptr &&
         table.StreamSynchronize != nullptr &&
         table.StreamWaitEvent != nullptr && table.CtxGetId != nullptr &&
         table.ThreadExchangeStreamCaptureMode != nullptr;
}

namespace {

// Waits on this thread, and disturbs no capture of another one.
int WaitFor(const driver::DriverTable& table, abi::Stream stream) {
  const RelaxedCaptureMode mode(table);
  return mode.code() == abi::kSuccess ? table.StreamSynchronize(stream)
                                      : mode.code();
}

}  // namespace

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
  }
  if (code == abi::kSuccess) return submission;
  // Where the legacy stream cannot wait, this thread does.
  const bool waited = WaitFor(table, stream_) == abi::kSuccess;
  if (submission.error == abi::kSuccess || !waited) {
    submission.error = code;
    submission.failed_index = KVSWAP_NO_INDEX;
    submission.failed_call =
        waited ? "joining the bridge to the legacy stream"
               : "joining the bridge to the legacy stream, which does not wait "
                 "for the copies: synchronise with the context before their "
                 "memory is used or freed";
  }
  return submission;
}

}  // namespace kvswap::engine
