// What a set of copies has in common: found in one pass, a few instructions for
// each.

#ifndef KVSWAP_ENGINE_SPAN_H_
#define KVSWAP_ENGINE_SPAN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kvswap::engine {

// Addresses from the lowest start of a block to the highest.
struct AddressSpan {
  std::uint64_t lowest = UINT64_MAX;
  std::uint64_t highest = 0;

  void Add(std::uint64_t address) {
    lowest = std::min(lowest, address);
    highest = std::max(highest, address);
  }
  void Add(const AddressSpan& other) {
    lowest = std::min(lowest, other.lowest);
    highest = std::max(highest, other.highest);
  }
};

struct CopySpan {
  AddressSpan source;
  AddressSpan destination;
  std::size_t smallest = SIZE_MAX;
  std::size_t largest = 0;
  // All addresses and sizes, or-ed: they are multiples of what this is one of.
  std::uint64_t bits = 0;
  std::uint64_t bytes = 0;

  void Add(std::uint64_t from, std::uint64_t to, std::size_t size) {
    source.Add(from);
    destination.Add(to);
    smallest = std::min(smallest, size);
    largest = std::max(largest, size);
    bits |= from | to | size;
    bytes += size;
  }
  void Add(const CopySpan& other) {
    source.Add(other.source);
    destination.Add(other.destination);
    smallest = std::min(smallest, other.smallest);
    largest = std::max(largest, other.largest);
    bits |= other.bits;
    bytes += other.bytes;
  }

  bool IsUniform() const { return smallest == largest; }
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_SPAN_H_
