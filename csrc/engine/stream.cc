#include "csrc/engine/stream.h"

#include <cinttypes>
#include <cstdint>

#include "csrc/engine/report.h"

namespace kvswap::engine {
namespace {

// Where Linux lets no process have memory (vm.mmap_min_addr, its default): what
// is below is a number of another meaning.
constexpr std::uintptr_t kLowestAddress = 65536;

kvswap_stream_kind KindOf(const void* handle) {
  switch (reinterpret_cast<std::uintptr_t>(handle)) {
    case abi::kStreamNull:
    case abi::kStreamLegacy:
      return KVSWAP_STREAM_LEGACY;
    case abi::kStreamPerThread:
      return KVSWAP_STREAM_PER_THREAD;
    default:
      return KVSWAP_STREAM_CREATED;
  }
}

}  // namespace

Stream::Stream(void* raw_handle)
    : handle(static_cast<abi::Stream>(raw_handle)), kind(KindOf(raw_handle)) {}

bool CheckHandle(const Stream& stream, kvswap_result* report) {
  const auto number = reinterpret_cast<std::uintptr_t>(stream.handle);
  return stream.kind != KVSWAP_STREAM_CREATED || number >= kLowestAddress ||
         Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
              "stream %" PRIuPTR
              " is no stream's handle: handles are addresses, or 0, 1 or 2. Is "
              "it "
              "a number of another kind, as torch's stream_id? Pass the "
              "cudaStream_t (in torch: stream.cuda_stream)",
              number);
}

bool AskCapturing(const driver::DriverTable& table, const Stream& stream,
                  bool* capturing, kvswap_result* report) {
  auto status = abi::kStreamCaptureStatusNone;
  const int code = table.StreamIsCapturing(stream.handle, &status);
  if (code != abi::kSuccess) {
    FailDriverCall(table, code, "cuStreamIsCapturing of the stream", report);
    if (code == abi::kErrorStreamCaptureImplicit) {
      report->code = KVSWAP_ERROR_CAPTURE;
    }
    return false;
  }
  if (status == abi::kStreamCaptureStatusInvalidated) {
    return Fail(report, KVSWAP_ERROR_CAPTURE,
                "the stream's graph capture has been invalidated by an earlier "
                "call: end that capture, then begin a new one. Nothing was "
                "submitted");
  }
  *capturing = status == abi::kStreamCaptureStatusActive;
  return true;
}

}  // namespace kvswap::engine
