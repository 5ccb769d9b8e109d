// What the GPU's copy engines get: copies split where the driver refuses to
// copy across, and neighbours put together.

#ifndef KVSWAP_ENGINE_COPY_ENGINE_LIST_H_
#define KVSWAP_ENGINE_COPY_ENGINE_LIST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csrc/engine/copies.h"
#include "csrc/engine/memory_ranges.h"

namespace kvswap::engine {

// A list of bounded length, filled and emptied again and again.
//
// A copy is split at the seams between registrations of host memory. Neighbours
// that are contiguous on both sides become one, inside one range on each side:
// never across the border of an allocation, a mapping or a registration, and
// never in pageable memory, whose borders are not known.
class CopyEngineList {
 public:
  // May throw std::bad_alloc; nothing after it does.
  CopyEngineList(const MemoryRanges& ranges, std::size_t capacity);

  // Adds a copy, or what is left of it; false where the list is full: to be
  // called with the same copy again after Clear.
  bool Add(std::size_t number, const Copy& copy);

  bool IsEmpty() const { return count_ == 0; }
  Descriptors descriptors() const {
    return {sources_.data(), destinations_.data(), sizes_.data(), count_};
  }
  // The number of the first copy that is in an element.
  std::size_t NumberOf(std::size_t element) const { return numbers_[element]; }
  // Copies whose last byte is in the elements below `end`, and their bytes.
  std::size_t CopiesBelow(std::size_t end) const;
  std::uint64_t BytesBelow(std::size_t end) const;
  // Copies that share an element with the one before, since the beginning.
  std::size_t coalesced() const { return coalesced_; }

  void Clear() { count_ = 0; }

 private:
  // A range that one side of the last copy lay in, and how far a copy may go.
  struct Place {
    const MemoryRange* range = nullptr;  // null: not known

    std::size_t Limit(std::uint64_t address) const;
  };

  Place Find(Place* last, std::uint64_t address) const;

  const MemoryRanges& ranges_;
  const std::size_t capacity_;
  std::vector<const void*> sources_;
  std::vector<void*> destinations_;
  std::vector<std::size_t> sizes_;
  std::vector<std::size_t> numbers_;
  std::vector<std::size_t> copies_;        // that end in the element
  std::vector<std::uint64_t> copy_bytes_;  // of those copies, as a whole
  std::size_t count_ = 0;
  std::size_t coalesced_ = 0;
  std::size_t done_ = 0;  // bytes of the copy being added that are in the list
  Place source_;
  Place destination_;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_COPY_ENGINE_LIST_H_
