#include "csrc/engine/copy_engine_list.h"

#include <algorithm>

namespace kvswap::engine {
namespace {

constexpr std::size_t kArrays = 5;
static_assert(sizeof(void*) == sizeof(std::size_t));

std::uint64_t AddressOf(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// How far a copy may go from an address on, for the driver to take it.
std::size_t Limit(const MemoryRange& range, std::uint64_t address) {
  // The driver copies across mappings, and knows no borders in pageable memory.
  return range.IsEmpty() || range.kind != KVSWAP_MEMORY_PINNED
             ? SIZE_MAX
             : range.end - address;
}

template <typename Item>
Item* ArrayAt(unsigned char* memory, std::size_t capacity, std::size_t index) {
  return reinterpret_cast<Item*>(memory +
                                 index * capacity * sizeof(std::size_t));
}

}  // namespace

CopyEngineList::CopyEngineList(const MemoryRanges& ranges, std::size_t capacity)
    : ranges_(ranges),
      capacity_(capacity),
      // Left as it is: clearing it would cost more than a short call does.
      memory_(new unsigned char[kArrays * capacity * sizeof(std::size_t)]),
      sources_(ArrayAt<const void*>(memory_.get(), capacity, 0)),
      destinations_(ArrayAt<void*>(memory_.get(), capacity, 1)),
      sizes_(ArrayAt<std::size_t>(memory_.get(), capacity, 2)),
      numbers_(ArrayAt<std::size_t>(memory_.get(), capacity, 3)),
      copies_(ArrayAt<std::size_t>(memory_.get(), capacity, 4)) {}

void CopyEngineList::Find(std::uint64_t address, MemoryRange* range) const {
  if (range->Contains(address, 1)) return;
  const MemoryRange* const known = ranges_.Known(address);
  *range = known == nullptr ? MemoryRange() : *known;
}

void CopyEngineList::Append(std::size_t number, std::uint64_t source,
                            std::uint64_t destination, std::size_t size,
                            bool ends_copy) {
  sources_[count_] = reinterpret_cast<const void*>(source);
  destinations_[count_] = reinterpret_cast<void*>(destination);
  sizes_[count_] = size;
  numbers_[count_] = number;
  copies_[count_] = CopiesBelow(count_) + (ends_copy ? 1 : 0);
  ++count_;
}

std::size_t CopyEngineList::Add(std::size_t first, const Descriptors& copies) {
  // Where the next copy would have to begin to join the last element.
  std::uint64_t source_end = 0;
  std::uint64_t destination_end = 0;
  if (count_ != 0) {
    source_end = AddressOf(sources_[count_ - 1]) + sizes_[count_ - 1];
    destination_end = AddressOf(destinations_[count_ - 1]) + sizes_[count_ - 1];
  }
  for (std::size_t i = 0; i < copies.count; ++i) {
    const std::uint64_t source = AddressOf(copies.sources[i]);
    const std::uint64_t destination = AddressOf(copies.destinations[i]);
    const std::size_t size = copies.sizes[i];
    // The copy lies in the ranges of the one before, each of which is known.
    if (done_ == 0 && source_.Contains(source, size) &&
        destination_.Contains(destination, size)) {
      if (source == source_end && destination == destination_end &&
          count_ != 0) {
        sizes_[count_ - 1] += size;
        ++copies_[count_ - 1];
        ++coalesced_;
      } else {
        if (count_ == capacity_) return i;
        Append(first + i, source, destination, size, true);
      }
      source_end = source + size;
      destination_end = destination + size;
      continue;
    }
    if (!AddInPieces(first + i, source, destination, size)) return i;
    source_end = source + size;
    destination_end = destination + size;
  }
  return copies.count;
}

bool CopyEngineList::AddInPieces(std::size_t number, std::uint64_t source,
                                 std::uint64_t destination, std::size_t size) {
  while (done_ < size) {
    if (count_ == capacity_) return false;
    const std::uint64_t from = source + done_;
    const std::uint64_t to = destination + done_;
    Find(from, &source_);
    Find(to, &destination_);
    const std::size_t piece =
        std::min({size - done_, Limit(source_, from), Limit(destination_, to)});
    done_ += piece;
    Append(number, from, to, piece, done_ == size);
  }
  done_ = 0;
  return true;
}

std::uint64_t CopyEngineList::BytesBelow(std::size_t end) const {
  // Pieces at the end that are of a copy that goes on are not counted.
  while (end != 0 && copies_[end - 1] == CopiesBelow(end - 1)) --end;
  if (end == 0) return 0;
  std::uint64_t bytes = carried_;
  for (std::size_t i = 0; i < end; ++i) bytes += sizes_[i];
  return bytes;
}

}  // namespace kvswap::engine
