#include "csrc/engine/call_log.h"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "csrc/engine/names.h"
#include "csrc/engine/statistics.h"
#include "csrc/engine/stream.h"
#include "csrc/log/log.h"

namespace kvswap::engine {
namespace {

// What there is to do about a fallback, and whether it costs speed that was not
// given up on purpose.
struct Advice {
  kvswap_log_level level;
  const char* text;
};

Advice AdviceFor(int reason, const kvswap_result& report) {
  switch (reason) {
    case KVSWAP_REASON_NO_BATCH_SYMBOL:
      return {KVSWAP_LOG_WARNING,
              "Update the NVIDIA driver to one for CUDA 12.8 or newer"};
    case KVSWAP_REASON_LEGACY_STREAM:
      // The bridge is as fast.
      return {report.copies[KVSWAP_ENGINE_LOOP] == 0 ? KVSWAP_LOG_INFO
                                                     : KVSWAP_LOG_WARNING,
              "Pass a created stream (in torch: torch.cuda.Stream()), or leave "
              "the engine to auto"};
    case KVSWAP_REASON_NOT_REACHABLE:
      return {KVSWAP_LOG_WARNING,
              "Pin or register host memory; enable peer access between GPUs"};
    case KVSWAP_REASON_NO_KERNEL_ENTRY:
      return {KVSWAP_LOG_WARNING,
              "Update the NVIDIA driver to one for CUDA 12.0 or newer, best "
              "12.8"};
    case KVSWAP_REASON_LAUNCH_FAILED:
      return {KVSWAP_LOG_WARNING,
              "If calls go on like this, ask for the engine batch"};
    case KVSWAP_REASON_NO_BRIDGE:
      return {KVSWAP_LOG_WARNING, "Pass a created stream"};
    case KVSWAP_REASON_NOT_LEGACY_STREAM:
      return {KVSWAP_LOG_INFO, "Ask for the engine batch or auto"};
    case KVSWAP_REASON_NO_KERNEL_IMAGE:
      // Of which the line on the GPU warns.
      return {KVSWAP_LOG_INFO, "kvswap_get_kernel_info tells more"};
    default:
      // Capturing, as things stand.
      return {KVSWAP_LOG_INFO, "The engine kernel can run there"};
  }
}

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

void LogFallback(const char* function, void* stream, int engine,
                 const kvswap_result& report, const CallCounts& counts) {
  static log::Once said[KVSWAP_ENGINE_SLOTS][KVSWAP_REASON_SLOTS];
  const int reason = report.unavailable[engine];
  const Advice advice = AdviceFor(reason, report);
  if (!log::IsWanted(advice.level) || !said[engine][reason].IsFirst()) return;
  const CallText text(stream, report);
  log::Write(advice.level,
             "%s: %" PRIu64
             " of %zu copies on %s did not go by the engine %s "
             "(%s): %s. They went by: %s. %s. Said once",
             function, CopiesInPlaceOf(engine, report, counts),
             report.submitted, text.place, EngineName(engine),
             ReasonName(reason), ReasonText(reason), text.engines, advice.text);
}

}  // namespace

void LogCall(const char* function, void* stream, const kvswap_result& report,
             const CallCounts& counts) {
  if (report.submitted != 0) {
    for (int engine = 0; engine < KVSWAP_ENGINE_SLOTS; ++engine) {
      if (report.unavailable[engine] == KVSWAP_REASON_NONE) continue;
      LogFallback(function, stream, engine, report, counts);
    }
  }
  if (!log::IsWanted(KVSWAP_LOG_DEBUG)) return;
  const CallText text(stream, report);
  log::Write(KVSWAP_LOG_DEBUG,
             "%s: %s: %zu copies, %" PRIu64
             " bytes, %zu driver calls on %s%s%s"
             "%s%s",
             function, StatusName(report.code), report.submitted,
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
