#include "csrc/engine/names.h"

#include <cstddef>
#include <cstring>

#include "csrc/kvswap.h"

namespace kvswap::engine {
namespace {

constexpr const char* kUnknown = "unknown";

// Each table is indexed by its enumerator.
constexpr const char* kStatusNames[] = {
    "ok",     "invalid_argument", "unsupported", "no_driver", "no_context",
    "memory", "devices",          "capture",     "driver",    "out_of_memory",
};
constexpr const char* kEngineNames[] = {"auto", "batch", "loop", "kernel",
                                        "bridge"};
constexpr const char* kAllEngineNames = "auto, batch, loop, kernel, bridge";
constexpr const char* kSourceAccessNames[] = {"stream", "during_api_call",
                                              "any"};
constexpr const char* kStreamKindNames[] = {"legacy", "per_thread", "created"};
constexpr const char* kMemoryKindNames[] = {"unknown", "none",   "pageable",
                                            "pinned",  "device", "managed"};
constexpr const char* kPriorityNames[] = {"throughput", "compute"};
constexpr const char* kDirectionNames[] = {"host_to_device", "device_to_host",
                                           "device_to_device", "host_to_host"};
constexpr const char* kKernelNames[] = {"none", "plain", "bulk"};
constexpr const char* kReasonNames[] = {
    "none",          "no_batch_symbol",   "legacy_stream",   "capturing",
    "source_access", "not_reachable",     "no_kernel_entry", "no_kernel_image",
    "launch_failed", "not_legacy_stream", "no_bridge"};
constexpr const char* kReasonTexts[] = {
    "nothing stands against it",
    "the driver has no cuMemcpyBatchAsync with 9 arguments: it is older than "
    "CUDA 12.8, or leaves the function out",
    "the driver's batch call refuses the legacy default stream (handles 0 and "
    "1)",
    "the stream captures a graph, and the driver's batch call would be missing "
    "from it",
    "only the batch engine can promise that sources are read before the call "
    "returns (during_api_call)",
    "the driver does not say that a kernel on the stream's GPU may touch some "
    "of the memory",
    "the driver lacks what the copy kernels need: it is older than CUDA 12.0",
    "no copy kernel could be loaded on this GPU",
    "the driver refused to launch a copy kernel",
    "the stream is not the legacy default stream: there is nothing to bridge",
    "the driver refused the stream or the events of the bridge",
};

template <std::size_t N>
const char* NameOf(const char* const (&names)[N], std::int32_t number) {
  return number >= 0 && static_cast<std::size_t>(number) < N ? names[number]
                                                             : kUnknown;
}

template <std::size_t N>
std::int32_t NumberOf(const char* const (&names)[N], const char* name) {
  if (name == nullptr) return -1;
  for (std::size_t i = 0; i < N; ++i) {
    if (std::strcmp(names[i], name) == 0) return static_cast<std::int32_t>(i);
  }
  return -1;
}

}  // namespace

const char* StatusName(std::int32_t status) {
  return NameOf(kStatusNames, status);
}
const char* EngineName(std::int32_t engine) {
  return NameOf(kEngineNames, engine);
}
const char* ReasonName(std::int32_t reason) {
  return NameOf(kReasonNames, reason);
}
const char* ReasonText(std::int32_t reason) {
  return NameOf(kReasonTexts, reason);
}
const char* SourceAccessName(std::int32_t source_access) {
  return NameOf(kSourceAccessNames, source_access);
}
const char* StreamKindName(std::int32_t stream_kind) {
  return NameOf(kStreamKindNames, stream_kind);
}
const char* MemoryKindName(std::int32_t memory_kind) {
  return NameOf(kMemoryKindNames, memory_kind);
}
const char* PriorityName(std::int32_t priority) {
  return NameOf(kPriorityNames, priority);
}
const char* DirectionName(std::int32_t direction) {
  return NameOf(kDirectionNames, direction);
}
const char* KernelName(std::int32_t kernel) {
  return NameOf(kKernelNames, kernel);
}
std::int32_t EngineFromName(const char* name) {
  return NumberOf(kEngineNames, name);
}
std::int32_t SourceAccessFromName(const char* name) {
  return NumberOf(kSourceAccessNames, name);
}
std::int32_t PriorityFromName(const char* name) {
  return NumberOf(kPriorityNames, name);
}
std::int32_t DirectionFromName(const char* name) {
  return NumberOf(kDirectionNames, name);
}
std::int32_t KernelFromName(const char* name) {
  return NumberOf(kKernelNames, name);
}
bool IsEngine(std::int32_t number) { return EngineName(number) != kUnknown; }
bool IsSourceAccess(std::int32_t number) {
  return SourceAccessName(number) != kUnknown;
}
bool IsPriority(std::int32_t number) {
  return PriorityName(number) != kUnknown;
}
bool IsDirection(std::int32_t number) {
  return DirectionName(number) != kUnknown;
}
bool IsKernel(std::int32_t number) { return KernelName(number) != kUnknown; }
const char* AllEngineNames() { return kAllEngineNames; }

}  // namespace kvswap::engine
