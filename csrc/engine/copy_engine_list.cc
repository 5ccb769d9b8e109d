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
  std::size_t added = 0;
  while (added < copies.count) {
    added += AddWhole(first + added,
                      {copies.sources + added, copies.destinations + added,
                       copies.sizes + added, copies.count - added});
    if (added == copies.count) break;
    if (!AddInPieces(first + added, AddressOf(copies.sources[added]),
                     AddressOf(copies.destinations[added]),
                     copies.sizes[added])) {
      break;
    }
    ++added;
  }
  return added;
}

// Adds copies as long as they lie in the ranges that the one before lay in: how
// many. Works on copies of what it needs, which would otherwise be read anew
// after every store.
std::size_t CopyEngineList::AddWhole(std::size_t first,
                                     const Descriptors& copies) {
  if (done_ != 0) return 0;
  const std::uint64_t source_start = source_.start;
  const std::uint64_t source_size = source_.end - source_.start;
  const std::uint64_t destination_start = destination_.start;
  const std::uint64_t destination_size = destination_.end - destination_.start;
  const void** const sources = sources_;
  void** const destinations = destinations_;
  std::size_t* const sizes = sizes_;
  std::size_t* const numbers = numbers_;
  std::size_t* const ends = copies_;
  const std::size_t capacity = capacity_;
  std::size_t count = count_;
  std::size_t ended = CopiesBelow(count);
  // Where the next copy would have to begin to join the last element.
  std::uint64_t source_end = 0;
  std::uint64_t destination_end = 0;
  if (count != 0) {
    source_end = AddressOf(sources[count - 1]) + sizes[count - 1];
    destination_end = AddressOf(destinations[count - 1]) + sizes[count - 1];
  }
  std::size_t i = 0;
  for (; i < copies.count; ++i) {
    const std::size_t size = copies.sizes[i];
    const std::uint64_t source = AddressOf(copies.sources[i]);
    const std::uint64_t destination = AddressOf(copies.destinations[i]);
    // An address before the start is a large number here.
    if (size > source_size || source - source_start > source_size - size ||
        size > destination_size ||
        destination - destination_start > destination_size - size) {
      break;
    }
    if (source == source_end && destination == destination_end) {
      sizes[count - 1] += size;
      ends[count - 1] = ++ended;
      ++coalesced_;
    } else {
      if (count == capacity) break;
      sources[count] = copies.sources[i];
      destinations[count] = copies.destinations[i];
      sizes[count] = size;
      numbers[count] = first + i;
      ends[count] = ++ended;
      ++count;
    }
    source_end = source + size;
    destination_end = destination + size;
  }
  count_ = count;
  return i;
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
