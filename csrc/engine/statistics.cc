#include "csrc/engine/statistics.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "csrc/log/thread_number.h"

namespace kvswap::engine {
namespace {

using Counter = std::atomic<std::uint64_t>;

// A counter for each field of kvswap_statistics behind struct_size, in its
// order.
constexpr std::size_t kCounters =
    (sizeof(kvswap_statistics) - sizeof(kvswap_statistics::struct_size)) /
    sizeof(std::uint64_t);
static_assert(offsetof(kvswap_statistics, calls) == sizeof(std::uint64_t) &&
                  sizeof(kvswap_statistics) ==
                      (kCounters + 1) * sizeof(std::uint64_t),
              "all fields are uint64_t");

constexpr std::size_t Position(std::size_t offset) {
  return offset / sizeof(std::uint64_t) - 1;
}
#define KVSWAP_POSITION(field) Position(offsetof(kvswap_statistics, field))

// Threads count in shards of their own, as far as there are enough, so that
// they do not wait for each other's cache lines. Whoever reads adds them up.
constexpr std::size_t kShards = 16;
struct alignas(128) Shard {
  Counter counters[kCounters];
};
Shard shards[kShards];

Shard& ShardOfThread() {
  static log::ThreadNumber number_of_thread;  // from 1 on
  static std::atomic<unsigned> threads{0};
  std::uintptr_t number = number_of_thread.Get();
  if (number == 0) {
    number = threads.fetch_add(1, std::memory_order_relaxed) % kShards + 1;
    number_of_thread.Set(number);  // Else it takes another one the next time.
  }
  return shards[number - 1];
}

// Counters are independent of one another and order nothing.
void Add(Counter& counter, std::uint64_t amount) {
  if (amount != 0) counter.fetch_add(amount, std::memory_order_relaxed);
}

}  // namespace

std::uint64_t CopiesInPlaceOf(int engine, const kvswap_result& report,
                              const CallCounts& counts) {
  const std::uint64_t by_loop = report.copies[KVSWAP_ENGINE_LOOP];
  const std::uint64_t by_bridge = report.copies[KVSWAP_ENGINE_BRIDGE];
  switch (engine) {
    case KVSWAP_ENGINE_BATCH:
      return by_loop + by_bridge;
    case KVSWAP_ENGINE_BRIDGE:
      return by_loop + report.copies[KVSWAP_ENGINE_BATCH];
    case KVSWAP_ENGINE_KERNEL:
      return std::min<std::uint64_t>(
          counts.kernel_fallbacks,
          by_loop + by_bridge + report.copies[KVSWAP_ENGINE_BATCH]);
    default:
      return 0;
  }
}

void CountCall(const kvswap_result& report, const CallCounts& counts) {
  Counter* const counters = ShardOfThread().counters;
  Add(counters[KVSWAP_POSITION(calls)], 1);
  Add(counters[KVSWAP_POSITION(errors)], report.code == KVSWAP_OK ? 0 : 1);
  Add(counters[KVSWAP_POSITION(dropped)], report.dropped);
  Add(counters[KVSWAP_POSITION(driver_calls)], counts.driver_calls);
  Add(counters[KVSWAP_POSITION(coalesced)], counts.coalesced);
  for (int engine = 0; engine < KVSWAP_ENGINE_SLOTS; ++engine) {
    Add(counters[KVSWAP_POSITION(copies) + engine], report.copies[engine]);
    Add(counters[KVSWAP_POSITION(bytes) + engine], counts.engine_bytes[engine]);
    const int reason = report.unavailable[engine];
    if (reason == KVSWAP_REASON_NONE) continue;
    Add(counters[KVSWAP_POSITION(fallbacks) + reason], 1);
    Add(counters[KVSWAP_POSITION(fallback_copies) + reason],
        CopiesInPlaceOf(engine, report, counts));
  }
  for (int i = 0; i < KVSWAP_DIRECTION_SLOTS; ++i) {
    Add(counters[KVSWAP_POSITION(direction_copies) + i],
        counts.direction_copies[i]);
    Add(counters[KVSWAP_POSITION(direction_bytes) + i],
        counts.direction_bytes[i]);
  }
}

void ReadStatistics(kvswap_statistics* statistics) {
  auto* const fields = reinterpret_cast<std::uint64_t*>(statistics) + 1;
  for (std::size_t i = 0; i < kCounters; ++i) {
    fields[i] = 0;
    for (const Shard& shard : shards) {
      fields[i] += shard.counters[i].load(std::memory_order_relaxed);
    }
  }
}

#undef KVSWAP_POSITION

}  // namespace kvswap::engine
