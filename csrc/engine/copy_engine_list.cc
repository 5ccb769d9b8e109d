#include "csrc/engine/copy_engine_list.h"

#include <algorithm>
#include <numeric>

namespace kvswap::engine {

std::size_t CopyEngineList::Place::Limit(std::uint64_t address) const {
  // The driver copies across mappings, and knows no borders in pageable memory.
  return range == nullptr || range->kind != KVSWAP_MEMORY_PINNED
             ? SIZE_MAX
             : range->end - address;
}

CopyEngineList::CopyEngineList(const MemoryRanges& ranges, std::size_t capacity)
    : ranges_(ranges),
      capacity_(capacity),
      sources_(capacity),
      destinations_(capacity),
      sizes_(capacity),
      numbers_(capacity),
      copies_(capacity),
      copy_bytes_(capacity) {}

CopyEngineList::Place CopyEngineList::Find(Place* last,
                                           std::uint64_t address) const {
  if (last->range == nullptr || !last->range->Contains(address, 1)) {
    last->range = ranges_.Known(address);
  }
  return *last;
}

bool CopyEngineList::Add(std::size_t number, const Copy& copy) {
  const auto source = reinterpret_cast<std::uint64_t>(copy.source);
  const auto destination = reinterpret_cast<std::uint64_t>(copy.destination);
  while (done_ < copy.size) {
    const std::uint64_t from = source + done_;
    const std::uint64_t to = destination + done_;
    const MemoryRange* const source_before = source_.range;
    const MemoryRange* const destination_before = destination_.range;
    const Place source_place = Find(&source_, from);
    const Place destination_place = Find(&destination_, to);
    const std::size_t size =
        std::min({copy.size - done_, source_place.Limit(from),
                  destination_place.Limit(to)});
    const std::size_t last = count_ - 1;
    const bool joins =
        count_ != 0 && source_place.range != nullptr &&
        destination_place.range != nullptr &&
        source_place.range == source_before &&
        destination_place.range == destination_before &&
        source_place.range->Contains(from, size) &&
        destination_place.range->Contains(to, size) &&
        reinterpret_cast<std::uint64_t>(sources_[last]) + sizes_[last] ==
            from &&
        reinterpret_cast<std::uint64_t>(destinations_[last]) + sizes_[last] ==
            to;
    if (!joins) {
      if (count_ == capacity_) return false;
      sources_[count_] = reinterpret_cast<const void*>(from);
      destinations_[count_] = reinterpret_cast<void*>(to);
      sizes_[count_] = 0;
      numbers_[count_] = number;
      copies_[count_] = 0;
      copy_bytes_[count_] = 0;
      ++count_;
    } else if (done_ == 0) {
      ++coalesced_;
    }
    sizes_[count_ - 1] += size;
    done_ += size;
  }
  ++copies_[count_ - 1];
  copy_bytes_[count_ - 1] += copy.size;
  done_ = 0;
  return true;
}

std::size_t CopyEngineList::CopiesBelow(std::size_t end) const {
  return std::accumulate(copies_.begin(),
                         copies_.begin() + static_cast<std::ptrdiff_t>(end),
                         std::size_t{0});
}

std::uint64_t CopyEngineList::BytesBelow(std::size_t end) const {
  return std::accumulate(copy_bytes_.begin(),
                         copy_bytes_.begin() + static_cast<std::ptrdiff_t>(end),
                         std::uint64_t{0});
}

}  // namespace kvswap::engine
