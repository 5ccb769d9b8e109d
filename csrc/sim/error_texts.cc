#include "csrc/sim/error_texts.h"

namespace kvswap::sim {
namespace {

struct ErrorTexts {
  int code;
  const char* name;
  const char* text;
};

constexpr ErrorTexts kErrorTexts[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "a stub library was loaded"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "invalid kernel image"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {205, "CUDA_ERROR_MAP_FAILED", "mapping failed"},
    {206, "CUDA_ERROR_UNMAP_FAILED", "unmapping failed"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image for this device"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access not supported"},
    {218, "CUDA_ERROR_INVALID_PTX", "PTX compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "unsupported PTX version"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "operating system call failed"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "not permitted in the current state"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "illegal memory access"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources to launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "launch timed out"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access is not enabled"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is in use"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "memory is registered already"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "memory is not registered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not ready"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "driver versions do not match"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted while a stream captures"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "an earlier error invalidated the capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "would merge two captures"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "the capture did not begin on this stream"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "the capture has a stream that was not joined"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency on work outside the capture"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "implicit dependency on a capturing stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT",
     "the event was last recorded in a capture"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "the capture began in another thread"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "graph update failed"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorTexts* Find(Result code) {
  for (const ErrorTexts& texts : kErrorTexts) {
    if (texts.code == static_cast<int>(code)) return &texts;
  }
  return nullptr;
}

}  // namespace

const char* ErrorName(Result code) {
  const ErrorTexts* texts = Find(code);
  return texts == nullptr ? nullptr : texts->name;
}

const char* ErrorText(Result code) {
  const ErrorTexts* texts = Find(code);
  return texts == nullptr ? nullptr : texts->text;
}

}  // namespace kvswap::sim
