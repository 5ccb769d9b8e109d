#include "csrc/engine/descriptor_span.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace kvswap::engine {
namespace {

std::uint64_t Address(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// What one pass over the arrays finds. Nearly always all sizes are equal: then
// one comparison does for the smallest, the largest and their sum.
struct Pass {
  AddressSpan source;
  AddressSpan destination;
  std::uint64_t bits = 0;         // of all addresses
  std::uint64_t differences = 0;  // of sizes from the first

  void Add(const Descriptors& descriptors, std::size_t number) {
    const std::uint64_t from = Address(descriptors.sources[number]);
    const std::uint64_t to = Address(descriptors.destinations[number]);
    source.Add(from);
    destination.Add(to);
    bits |= from | to;
    differences |= descriptors.sizes[number] ^ descriptors.sizes[0];
  }
};

CopySpan SpanOfPass(const Descriptors& descriptors, const Pass& pass) {
  const std::size_t size = descriptors.sizes[0];
  CopySpan span;
  span.source = pass.source;
  span.destination = pass.destination;
  span.bits = pass.bits | size | pass.differences;
  span.smallest = size;
  span.largest = size;
  span.bytes = std::uint64_t{size} * descriptors.count;
  if (pass.differences == 0) return span;
  span.bytes = 0;
  for (std::size_t i = 0; i < descriptors.count; ++i) {
    const std::size_t other = descriptors.sizes[i];
    span.smallest = std::min(span.smallest, other);
    span.largest = std::max(span.largest, other);
    span.bytes += other;
  }
  return span;
}

}  // namespace

CopySpan SpanOneByOne(const Descriptors& descriptors) {
  if (descriptors.count == 0) return CopySpan();
  Pass pass;
  for (std::size_t i = 0; i < descriptors.count; ++i) pass.Add(descriptors, i);
  return SpanOfPass(descriptors, pass);
}

#if defined(__x86_64__)

// Not __builtin_cpu_supports: what it reads lies in the compiler's runtime,
// which in releases would bring memory functions of its own in place of the
// system's. Source: Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 1, "Detection of Intel AVX2".
bool HasAvx2() {
  constexpr unsigned kSaved = bit_OSXSAVE | bit_AVX;
  constexpr unsigned kVectorState = 6;  // of XCR0: SSE and AVX registers
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSaved) != kSaved) {
    return false;
  }
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & kVectorState) != kVectorState) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_AVX2) != 0;
}

namespace {
// Asked once: a virtual machine takes microseconds to answer.
const bool kHasAvx2 = HasAvx2();
}  // namespace

// Half of the time of one by one: before anything is launched, this is what
// most of the time of a call goes into.
__attribute__((target("avx2"))) CopySpan
SpanByFours(const Descriptors& descriptors) {
  constexpr std::size_t kFour = 4;
  // Signed, as the CPU compares: addresses of a process are positive.
  using Four = std::int64_t __attribute__((vector_size(32)));
  if (descriptors.count == 0) return CopySpan();
  const auto first_size = static_cast<std::int64_t>(descriptors.sizes[0]);
  const Four size = {first_size, first_size, first_size, first_size};
  const Four most = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
  Four lowest_source = most;
  Four lowest_destination = most;
  Four highest_source = {};
  Four highest_destination = {};
  Four bits = {};
  Four differences = {};
  std::size_t next = 0;
  for (; next + kFour <= descriptors.count; next += kFour) {
    Four from;
    Four to;
    Four sizes;
    std::memcpy(&from, descriptors.sources + next, sizeof(from));
    std::memcpy(&to, descriptors.destinations + next, sizeof(to));
    std::memcpy(&sizes, descriptors.sizes + next, sizeof(sizes));
    lowest_source = from < lowest_source ? from : lowest_source;
    highest_source = from > highest_source ? from : highest_source;
    lowest_destination = to < lowest_destination ? to : lowest_destination;
    highest_destination = to > highest_destination ? to : highest_destination;
    bits |= from | to;
    differences |= sizes ^ size;
  }
  Pass pass;
  if (next != 0) {
    for (std::size_t i = 0; i < kFour; ++i) {
      pass.source.Add({static_cast<std::uint64_t>(lowest_source[i]),
                       static_cast<std::uint64_t>(highest_source[i])});
      pass.destination.Add(
          {static_cast<std::uint64_t>(lowest_destination[i]),
           static_cast<std::uint64_t>(highest_destination[i])});
      pass.bits |= static_cast<std::uint64_t>(bits[i]);
      pass.differences |= static_cast<std::uint64_t>(differences[i]);
    }
  }
  for (; next < descriptors.count; ++next) pass.Add(descriptors, next);
  return SpanOfPass(descriptors, pass);
}

#endif

CopySpan SpanOf(const Descriptors& descriptors) {
#if defined(__x86_64__)
  // Few copies are done one by one before the other way has begun.
  constexpr std::size_t kFew = 16;
  if (descriptors.count >= kFew && kHasAvx2) return SpanByFours(descriptors);
#endif
  return SpanOneByOne(descriptors);
}

}  // namespace kvswap::engine
