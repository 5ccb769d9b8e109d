#include "csrc/engine/report.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "csrc/engine/structures.h"

namespace kvswap::engine {
namespace {

const char* ErrorAdvice(int error) {
  switch (error) {
    case abi::kErrorNotInitialized:
      return ". CUDA is not initialised in this process (or it was forked "
             "after CUDA was): create a context first";
    case abi::kErrorDeinitialized:
      return ". The driver is shutting down with the process";
    case abi::kErrorInvalidContext:
      return ". No context is current: make one current, or pass a created "
             "stream";
    case abi::kErrorInvalidHandle:
      return ". The stream handle is not one of this process";
    case abi::kErrorStreamCaptureImplicit:
      return ". Another stream of this context is capturing a graph, and work "
             "on the legacy stream would be ordered with it: use a created "
             "non-blocking stream";
    default:
      return "";
  }
}

}  // namespace

const char* DriverErrorName(const driver::DriverTable& table, int error) {
  const char* name = nullptr;
  if (table.GetErrorName == nullptr ||
      table.GetErrorName(static_cast<abi::Result>(error), &name) !=
          abi::kSuccess ||
      name == nullptr) {
    return "an error the driver has no name for";
  }
  return name;
}

void InitReport(kvswap_result* report) {
  std::memset(report, 0, offsetof(kvswap_result, message) + 1);
  report->struct_size = sizeof(*report);
  report->index = KVSWAP_NO_INDEX;
  report->device = -1;
  report->source_memory.device = -1;
  report->destination_memory.device = -1;
  report->region = KVSWAP_NO_INDEX;
  report->pageable = 0;
}

bool Fail(kvswap_result* report, kvswap_status code, const char* format, ...) {
  report->code = code;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(report->message, sizeof(report->message), format, arguments);
  va_end(arguments);
  return false;
}

bool FailDriverCall(const driver::DriverTable& table, int error,
                    const char* what, kvswap_result* report) {
  report->cuda_error = error;
  return Fail(report, KVSWAP_ERROR_DRIVER,
              "the driver answered %s (%d) to %s%s; %zu copies were submitted",
              DriverErrorName(table, error), error, what, ErrorAdvice(error),
              report->submitted);
}

bool FailOtherDriverCall(const driver::DriverTable& table, int error,
                         const char* what, kvswap_result* report) {
  report->cuda_error = error;
  return Fail(report, KVSWAP_ERROR_DRIVER,
              "the driver answered %s (%d) to %s%s",
              DriverErrorName(table, error), error, what, ErrorAdvice(error));
}

bool FailCopy(const driver::DriverTable& table, int error, kvswap_engine engine,
              std::size_t copies, const char* name, kvswap_result* report) {
  const bool is_batch = engine != KVSWAP_ENGINE_LOOP;
  const char* entry = is_batch ? "cuMemcpyBatchAsync" : "cuMemcpyAsync";
  report->cuda_error = error;
  if (name == nullptr) {
    return Fail(report, KVSWAP_ERROR_DRIVER,
                "the driver answered %s (%d) to %s and blamed no single copy; "
                "%zu of %zu copies were submitted before%s",
                DriverErrorName(table, error), error, entry, report->submitted,
                copies, ErrorAdvice(error));
  }
  char source[kMemoryTextSize];
  char destination[kMemoryTextSize];
  DescribeMemory(report->source_memory, source, sizeof(source));
  DescribeMemory(report->destination_memory, destination, sizeof(destination));
  return Fail(report, KVSWAP_ERROR_DRIVER,
              "the driver answered %s (%d) to %s for %s: "
              "%zu bytes from %p (%s) to %p (%s); %zu of %zu copies were "
              "submitted before%s%s",
              DriverErrorName(table, error), error, entry, name, report->size,
              report->source, source, report->destination, destination,
              report->submitted, copies,
              is_batch ? ", and the refused call may have enqueued some of its "
                         "own ahead of this one"
                       : "",
              ErrorAdvice(error));
}

void WriteResult(const kvswap_result& report, kvswap_result* out) {
  if (out == nullptr) return;
  constexpr std::size_t kSkip = sizeof(report.struct_size);
  constexpr std::size_t kTail = offsetof(kvswap_result, region);
  const auto* from = reinterpret_cast<const unsigned char*>(&report);
  auto* to = reinterpret_cast<unsigned char*>(out);
  // Of the message no more than there is: a result is written by every call.
  const std::size_t end =
      offsetof(kvswap_result, message) + std::strlen(report.message) + 1;
  std::memcpy(to + kSkip, from + kSkip,
              std::min(out->struct_size, end) - kSkip);
  const std::size_t size = std::min(out->struct_size, sizeof(report));
  if (size > kTail) std::memcpy(to + kTail, from + kTail, size - kTail);
}

void DescribeMemory(const kvswap_memory& memory, char* text,
                    std::size_t capacity) {
  int length = 0;
  switch (memory.kind) {
    case KVSWAP_MEMORY_NONE:
      length = std::snprintf(text, capacity, "no accessible memory");
      break;
    case KVSWAP_MEMORY_PAGEABLE:
      length = std::snprintf(text, capacity, "pageable host memory");
      break;
    case KVSWAP_MEMORY_PINNED:
      length = std::snprintf(text, capacity, "pinned host memory");
      break;
    case KVSWAP_MEMORY_DEVICE:
      length = std::snprintf(text, capacity, "memory of GPU %d",
                             static_cast<int>(memory.device));
      break;
    case KVSWAP_MEMORY_MANAGED:
      length = std::snprintf(text, capacity, "managed memory");
      break;
    default:
      length = std::snprintf(text, capacity, "memory of unknown kind");
      break;
  }
  if (memory.range_size == 0 || length < 0 ||
      static_cast<std::size_t>(length) >= capacity) {
    return;
  }
  std::snprintf(text + length, capacity - static_cast<std::size_t>(length),
                ", range 0x%" PRIx64 " + %" PRIu64 " bytes", memory.range_start,
                memory.range_size);
}

}  // namespace kvswap::engine
