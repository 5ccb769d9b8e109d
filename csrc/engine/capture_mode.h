// Calls that would disturb a capture in another thread.

#ifndef KVSWAP_ENGINE_CAPTURE_MODE_H_
#define KVSWAP_ENGINE_CAPTURE_MODE_H_

#include "csrc/abi/cuda_driver_types.h"
#include "csrc/driver/driver_table.h"

namespace kvswap::engine {

// While it lives, this thread's capture mode is relaxed. In the mode that
// threads begin with, asking an event whether it is done invalidates every
// capture in global mode, in whichever thread, which torch's captures are.
class RelaxedCaptureMode {
 public:
  explicit RelaxedCaptureMode(const driver::DriverTable& table)
      : table_(table),
        code_(table.ThreadExchangeStreamCaptureMode(&mode_)),
        exchanged_(code_ == abi::kSuccess) {}
  ~RelaxedCaptureMode() {
    if (exchanged_) table_.ThreadExchangeStreamCaptureMode(&mode_);
  }
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

  // The CUresult of changing the mode: unless it is kSuccess, make no call that
  // could disturb a capture.
  int code() const { return code_; }

 private:
  const driver::DriverTable& table_;
  abi::StreamCaptureMode mode_ = abi::kStreamCaptureModeRelaxed;
  const int code_;
  const bool exchanged_;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_CAPTURE_MODE_H_
