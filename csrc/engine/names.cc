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
constexpr const char* kEngineNames[] = {"auto", "batch", "loop"};
constexpr const char* kAllEngineNames = "auto, batch, loop";
constexpr const char* kSourceAccessNames[] = {"stream", "during_api_call",
                                              "any"};
constexpr const char* kStreamKindNames[] = {"legacy", "per_thread", "created"};
constexpr const char* kMemoryKindNames[] = {"unknown", "none",   "pageable",
                                            "pinned",  "device", "managed"};
constexpr const char* kReasonNames[] = {
    "none", "no_batch_symbol", "legacy_stream", "capturing", "source_access"};
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
std::int32_t EngineFromName(const char* name) {
  return NumberOf(kEngineNames, name);
}
std::int32_t SourceAccessFromName(const char* name) {
  return NumberOf(kSourceAccessNames, name);
}
bool IsEngine(std::int32_t number) { return EngineName(number) != kUnknown; }
bool IsSourceAccess(std::int32_t number) {
  return SourceAccessName(number) != kUnknown;
}
const char* AllEngineNames() { return kAllEngineNames; }

}  // namespace kvswap::engine
