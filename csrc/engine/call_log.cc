#include "csrc/engine/call_log.h"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "csrc/engine/advice.h"
#include "csrc/engine/names.h"
#include "csrc/engine/statistics.h"
#include "csrc/engine/stream.h"
#include "csrc/log/log.h"

namespace kvswap::engine {
namespace {

// "the legacy default stream of GPU 0", "loop 4, kernel 2".
struct CallText {
  char place[96];
  char engines[128];

  CallText(void* handle, const kvswap_result& report) {
    const Stream stream(handle);
    char name[40];
    if (stream.kind == KVSWAP_STREAM_CREATED) {
      std::snprintf(name, sizeof(name), "stream %p", handle);
    } else {
      std::snprintf(
          name, sizeof(name), "the %s default stream",
          stream.kind == KVSWAP_STREAM_LEGACY ? "legacy" : "per-thread");
    }
    std::snprintf(place, sizeof(place),
                  report.device < 0 ? "%s" : "%s of GPU %d", name,
                  static_cast<int>(report.device));
    engines[0] = '\0';
    std::size_t length = 0;
    for (int engine = 0; engine < KVSWAP_ENGINE_SLOTS; ++engine) {
      if (report.copies[engine] == 0 || length >= sizeof(engines)) continue;
      length += static_cast<std::size_t>(std::snprintf(
          engines + length, sizeof(engines) - length, "%s%s %" PRIu64,
          length == 0 ? "" : ", ", EngineName(engine), report.copies[engine]));
    }
  }
};

void LogFallback(const char* operation, void* stream, int engine,
                 const kvswap_result& report, const CallCounts& counts) {
  // By advice, not by reason: what was said of a call that lost nothing says
  // nothing of one that did.
  static log::Once said[KVSWAP_ENGINE_SLOTS][kMostAdvices];
  const int reason = report.unavailable[engine];
  const Advice& advice = AdviceOn(reason, engine, counts.asked_for,
                                  report.copies[KVSWAP_ENGINE_LOOP] != 0);
  if (!log::IsWanted(advice.level) ||
      !said[engine][PositionOf(advice)].IsFirst()) {
    return;
  }
  const CallText text(stream, report);
  log::Write(advice.level,
             "%s: %" PRIu64
             " of %zu copies on %s did not go by the engine %s "
             "(%s): %s. They went by: %s. %s. Said once",
             operation, CopiesInPlaceOf(engine, report, counts),
             report.submitted, text.place, EngineName(engine),
             ReasonName(reason), ReasonText(reason), text.engines, advice.text);
}

}  // namespace

void LogCall(const char* operation, void* stream, const kvswap_result& report,
             const CallCounts& counts) {
  if (report.submitted != 0) {
    for (int engine = 0; engine < KVSWAP_ENGINE_SLOTS; ++engine) {
      if (report.unavailable[engine] == KVSWAP_REASON_NONE) continue;
      LogFallback(operation, stream, engine, report, counts);
    }
  }
  if (!log::IsWanted(KVSWAP_LOG_DEBUG)) return;
  const CallText text(stream, report);
  log::Write(KVSWAP_LOG_DEBUG,
             "%s: %s: %zu copies, %" PRIu64
             " bytes, %zu driver calls on %s%s%s"
             "%s%s",
             operation, StatusName(report.code), report.submitted,
             report.submitted_bytes, counts.driver_calls, text.place,
             text.engines[0] == '\0' ? "" : "; ", text.engines,
             report.message[0] == '\0' ? "" : ": ", report.message);
}

void LogKernels(int device, int compute_capability,
                const KernelModule& module) {
  // A bit for each device; the last one is for all that follow.
  static std::atomic<std::uint64_t> said{0};
  const bool has_none = module.reason != KVSWAP_REASON_NONE;
  const kvswap_log_level level =
      has_none ? KVSWAP_LOG_WARNING : KVSWAP_LOG_INFO;
  if ((!has_none && module.refused.empty()) || !log::IsWanted(level)) return;
  const std::uint64_t bit = std::uint64_t{1} << std::min(device, 63);
  if ((said.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return;
  log::Write(level, "GPU %d, of compute capability %d.%d, %s: %s. Said once",
             device, compute_capability / 10, compute_capability % 10,
             has_none ? "gets no copy kernels, which makes small copies slower"
                      : "gets copy kernels of another image",
             has_none ? module.message.c_str() : module.refused.c_str());
}

}  // namespace kvswap::engine
