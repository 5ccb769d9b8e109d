// Streams: what kind a handle is, and whether it captures.

#ifndef KVSWAP_ENGINE_STREAM_H_
#define KVSWAP_ENGINE_STREAM_H_

#include "csrc/abi/cuda_driver_types.h"
#include "csrc/driver/driver_table.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

struct Stream {
  abi::Stream handle;
  kvswap_stream_kind kind;

  explicit Stream(void* raw_handle);
};

// False, with `report`: the handle can be none, and the driver would follow it
// to no memory.
bool CheckHandle(const Stream& stream, kvswap_result* report);

// Whether the stream captures. Asked before any call that could disturb a
// capture: asking harms nothing, while a copy on the legacy stream invalidates
// the capture of a blocking stream of the same context. False, with `report`:
// the capture is invalid, or the driver refused the question.
bool AskCapturing(const driver::DriverTable& table, const Stream& stream,
                  bool* capturing, kvswap_result* report);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_STREAM_H_
