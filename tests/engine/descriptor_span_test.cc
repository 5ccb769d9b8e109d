// Both ways of finding a span find the same.

#include "csrc/engine/descriptor_span.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/engine/check.h"

namespace kvswap::engine {
namespace {

// Descriptor arrays, one element past the start of what holds them: they are
// aligned as little as a caller's may be.
struct Arrays {
  explicit Arrays(std::size_t count)
      : sources(count + 1), destinations(count + 1), sizes(count + 1) {}

  Descriptors View() const {
    return {sources.data() + 1, destinations.data() + 1, sizes.data() + 1,
            sizes.size() - 1};
  }

  std::vector<const void*> sources;
  std::vector<void*> destinations;
  std::vector<std::size_t> sizes;
};

void* Pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

// By the definition, without anything that makes it fast.
CopySpan Expected(const Descriptors& descriptors) {
  CopySpan span;
  for (std::size_t i = 0; i < descriptors.count; ++i) {
    span.Add(reinterpret_cast<std::uint64_t>(descriptors.sources[i]),
             reinterpret_cast<std::uint64_t>(descriptors.destinations[i]),
             descriptors.sizes[i]);
  }
  return span;
}

bool AreEqual(const CopySpan& a, const CopySpan& b) {
  return a.source.lowest == b.source.lowest &&
         a.source.highest == b.source.highest &&
         a.destination.lowest == b.destination.lowest &&
         a.destination.highest == b.destination.highest &&
         a.smallest == b.smallest && a.largest == b.largest &&
         a.bytes == b.bytes;
}

// Whether the bits tell the same: their lowest and highest are what is used.
bool HaveEqualBits(const CopySpan& a, const CopySpan& b) {
  return (a.bits & (~a.bits + 1)) == (b.bits & (~b.bits + 1)) &&
         (a.bits >> 63) == (b.bits >> 63);
}

void CheckAll(const Descriptors& descriptors) {
  const CopySpan expected = Expected(descriptors);
  std::vector<CopySpan> found = {SpanOf(descriptors),
                                 SpanOneByOne(descriptors)};
#if defined(__x86_64__)
  if (HasAvx2()) {
    found.push_back(SpanByFours(descriptors));
  }
#endif
  for (const CopySpan& span : found) {
    CHECK(HaveEqualBits(span, expected));
    if (expected.bits >> 63 == 0) CHECK(AreEqual(span, expected));
  }
}

void TestRandomArrays() {
  std::mt19937_64 random(1);
  for (std::size_t count = 0; count < 100; ++count) {
    for (int round = 0; round < 50; ++round) {
      Arrays arrays(count);
      const int shift = 17 + static_cast<int>(random() % 46);
      const std::uint64_t unit = std::uint64_t{1} << (random() % 13);
      const bool is_uniform = random() % 2 == 0;
      const std::size_t size = unit * (random() % 100);
      for (std::size_t i = 1; i <= count; ++i) {
        arrays.sources[i] = Pointer((random() >> shift) / unit * unit);
        arrays.destinations[i] = Pointer((random() >> shift) / unit * unit);
        arrays.sizes[i] = is_uniform ? size : unit * (random() % 5);
      }
      CheckAll(arrays.View());
    }
  }
}

// What is special stands at each place once: first, last, in a full four and
// behind it.
void TestEachPlace() {
  constexpr std::size_t kCount = 39;
  constexpr std::uint64_t kSpecial[] = {0, 1, 0x7fffffffffffffff,
                                        0x8000000000000000, 0xffffffffffffffff};
  for (std::size_t place = 1; place <= kCount; ++place) {
    for (const std::uint64_t special : kSpecial) {
      for (int array = 0; array < 3; ++array) {
        Arrays arrays(kCount);
        for (std::size_t i = 1; i <= kCount; ++i) {
          arrays.sources[i] = Pointer(0x10000 + 64 * i);
          arrays.destinations[i] = Pointer(0x90000 - 64 * i);
          arrays.sizes[i] = 64;
        }
        if (array == 0) arrays.sources[place] = Pointer(special);
        if (array == 1) arrays.destinations[place] = Pointer(special);
        if (array == 2) arrays.sizes[place] = special;
        CheckAll(arrays.View());
      }
    }
  }
}

}  // namespace
}  // namespace kvswap::engine

int main() {
#if defined(__x86_64__)
  CHECK(kvswap::engine::HasAvx2() == (__builtin_cpu_supports("avx2") != 0));
#endif
  kvswap::engine::TestRandomArrays();
  kvswap::engine::TestEachPlace();
  return 0;
}
