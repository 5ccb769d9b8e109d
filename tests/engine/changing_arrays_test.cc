// Arrays that another thread of the caller's changes during a call, against the
// contract: what is copied is undefined, and the library still reads and writes
// no host memory outside of the arrays and of its own.
//
// The driver is the one that does nothing, so that no wrong address is used.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "csrc/kvswap.h"
#include "tests/engine/check.h"
#include "tests/engine/noop_driver.h"

namespace kvswap::tests {
namespace {

constexpr std::size_t kCount = 48;
constexpr int kCalls = 5000;

template <typename Value>
void Store(Value* value, Value changed) {
  __atomic_store_n(value, changed, __ATOMIC_RELAXED);
}

// Calls while another thread changes what they read, again and again.
template <typename Change, typename Call>
void Race(const Change& change, const Call& call) {
  std::atomic<bool> ends{false};
  std::thread changing([&] {
    for (std::uint64_t round = 0; !ends.load(); ++round) change(round);
  });
  for (int i = 0; i < kCalls; ++i) call();
  ends.store(true);
  changing.join();
}

struct Arrays {
  std::vector<const void*> sources;
  std::vector<void*> destinations;
  std::vector<std::size_t> sizes;

  Arrays() {
    for (std::size_t i = 0; i < kCount; ++i) {
      // Apart by more than a slot of the tables of ranges.
      const std::uint64_t offset = i << 22;
      sources.push_back(reinterpret_cast<const void*>(kPinnedMemory + offset));
      destinations.push_back(reinterpret_cast<void*>(kDeviceMemory + offset));
      sizes.push_back(64);
    }
  }

  void Swap(kvswap_engine engine) const {
    kvswap_options options = KVSWAP_OPTIONS_INIT;
    options.engine = engine;
    kvswap_result result = KVSWAP_RESULT_INIT;
    const int status = kvswap_swap_blocks_batch(
        sources.data(), destinations.data(), sizes.data(), kCount,
        reinterpret_cast<void*>(2), &options, &result);
    CHECK(status == result.code);
    CHECK(result.index == KVSWAP_NO_INDEX || result.index < kCount);
  }
};

void TestSizesThatBecomeZero(kvswap_engine engine) {
  Arrays arrays;
  Race(
      [&](std::uint64_t round) {
        for (std::size_t i = 0; i < kCount; ++i) {
          Store(&arrays.sizes[i], std::size_t{round % 2 == 0 ? 0u : 64u});
        }
      },
      [&] { arrays.Swap(engine); });
}

void TestAddresses(kvswap_engine engine) {
  Arrays arrays;
  // Of the driver's memory, and far outside.
  Race(
      [&](std::uint64_t round) {
        for (std::size_t i = 0; i < kCount; ++i) {
          const std::uint64_t address =
              round % 2 == 0 ? kDeviceMemory + (i << 22)
                             : kPinnedMemory + kMemorySize - 64 - i;
          Store(&arrays.destinations[i], reinterpret_cast<void*>(address));
        }
        // Sizes of two classes: copies are looked at one by one.
        Store(&arrays.sizes[1], std::size_t{round % 3 == 0 ? 64u : 640u});
      },
      [&] { arrays.Swap(engine); });
}

void TestPairs(std::uint32_t flags) {
  std::vector<std::int64_t> pairs(2 * kCount);
  const kvswap_region host_region = {reinterpret_cast<void*>(kPinnedMemory),
                                     1u << 22, 64, 0, 0};
  const kvswap_region gpu_region = {reinterpret_cast<void*>(kDeviceMemory),
                                    1u << 22, 64, 0, 0};
  kvswap_pool host = KVSWAP_POOL_INIT;
  host.regions = &host_region;
  host.region_count = 1;
  host.block_count = 1000;
  kvswap_pool gpu = host;
  gpu.regions = &gpu_region;
  kvswap_options options = KVSWAP_OPTIONS_INIT;
  options.flags = flags;
  const auto change = [&](std::uint64_t round) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto id = static_cast<std::int64_t>(i);
      // In order; all the same one; out of range; far apart.
      const std::int64_t ids[] = {id, 7, id * 1000, id * 20};
      Store(&pairs[i], ids[round % 4]);
    }
  };
  change(0);
  Race(change, [&] {
    // Within one pool, where reading and writing is looked for as well.
    for (const kvswap_pool* source : {&host, &gpu}) {
      kvswap_result result = KVSWAP_RESULT_INIT;
      const int status = kvswap_swap_pools(source, &gpu, pairs.data(), kCount,
                                           reinterpret_cast<void*>(2), &options,
                                           nullptr, &result);
      CHECK(status == result.code);
      CHECK(result.index == KVSWAP_NO_INDEX || result.index < kCount);
    }
  });
}

}  // namespace
}  // namespace kvswap::tests

int main() {
#if defined(__SANITIZE_THREAD__)
  // It would find what is done here on purpose.
  return 0;
#endif
  for (const kvswap_engine engine :
       {KVSWAP_ENGINE_AUTO, KVSWAP_ENGINE_BATCH, KVSWAP_ENGINE_KERNEL}) {
    kvswap::tests::TestSizesThatBecomeZero(engine);
    kvswap::tests::TestAddresses(engine);
  }
  kvswap::tests::TestPairs(0);
  kvswap::tests::TestPairs(KVSWAP_FLAG_CHECK);
  return 0;
}
