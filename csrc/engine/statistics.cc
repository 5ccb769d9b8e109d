#include "csrc/engine/statistics.h"

#include <atomic>

namespace kvswap::engine {
namespace {

using Counter = std::atomic<std::uint64_t>;

struct Counters {
  Counter calls;
  Counter errors;
  Counter dropped;
  Counter copies[KVSWAP_ENGINE_SLOTS];
  Counter bytes[KVSWAP_ENGINE_SLOTS];
  Counter fallbacks[KVSWAP_REASON_SLOTS];
};

Counters counters;

// Counters are independent of one another and order nothing.
void Add(Counter& counter, std::uint64_t amount) {
  if (amount != 0) counter.fetch_add(amount, std::memory_order_relaxed);
}

std::uint64_t Read(const Counter& counter) {
  return counter.load(std::memory_order_relaxed);
}

}  // namespace

void CountCall(const kvswap_result& report) {
  Add(counters.calls, 1);
  Add(counters.errors, report.code == KVSWAP_OK ? 0 : 1);
  Add(counters.dropped, report.dropped);
  Add(counters.bytes[report.engine], report.submitted_bytes);
  for (int engine = 0; engine < KVSWAP_ENGINE_SLOTS; ++engine) {
    Add(counters.copies[engine], report.copies[engine]);
    const int reason = report.unavailable[engine];
    if (reason != KVSWAP_REASON_NONE) Add(counters.fallbacks[reason], 1);
  }
}

void ReadStatistics(kvswap_statistics* statistics) {
  statistics->calls = Read(counters.calls);
  statistics->errors = Read(counters.errors);
  statistics->dropped = Read(counters.dropped);
  for (int engine = 0; engine < KVSWAP_ENGINE_SLOTS; ++engine) {
    statistics->copies[engine] = Read(counters.copies[engine]);
    statistics->bytes[engine] = Read(counters.bytes[engine]);
  }
  for (int reason = 0; reason < KVSWAP_REASON_SLOTS; ++reason) {
    statistics->fallbacks[reason] = Read(counters.fallbacks[reason]);
  }
}

}  // namespace kvswap::engine
