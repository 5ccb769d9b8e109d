// What the GPU's copy engines get: copies split where the driver refuses to
// copy across, and neighbours put together.

#ifndef KVSWAP_ENGINE_COPY_ENGINE_LIST_H_
#define KVSWAP_ENGINE_COPY_ENGINE_LIST_H_

#include <cstddef>
#include <cstdint>
#include <memory>

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

  // Adds copies, which have numbers from `first` on, until the list is full:
  // how many were added as a whole. What is left of the next one is remembered:
  // call it again with that copy first, after Clear.
  std::size_t Add(std::size_t first, const Descriptors& copies);

  bool IsEmpty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  Descriptors descriptors() const {
    return {sources_, destinations_, sizes_, count_};
  }
  // The number of the first copy that is in an element.
  std::size_t NumberOf(std::size_t element) const { return numbers_[element]; }
  // Copies that end in the elements below `end`, and their bytes.
  std::size_t CopiesBelow(std::size_t end) const {
    return end == 0 ? 0 : copies_[end - 1];
  }
  std::uint64_t BytesBelow(std::size_t end) const;
  // Copies that share an element with the one before, since the beginning.
  std::size_t coalesced() const { return coalesced_; }

  void Clear() {
    count_ = 0;
    carried_ = done_;
  }

 private:
  std::size_t AddWhole(std::size_t first, const Descriptors& copies);
  bool AddInPieces(std::size_t number, std::uint64_t source,
                   std::uint64_t destination, std::size_t size);
  void Append(std::size_t number, std::uint64_t source,
              std::uint64_t destination, std::size_t size, bool ends_copy);
  // Makes `*range` the known range that holds an address; empty where none
  // does.
  void Find(std::uint64_t address, MemoryRange* range) const;

  const MemoryRanges& ranges_;
  const std::size_t capacity_;
  const std::unique_ptr<unsigned char[]> memory_;  // of the arrays
  const void** const sources_;
  void** const destinations_;
  std::size_t* const sizes_;
  std::size_t* const numbers_;
  std::size_t* const copies_;  // that end in the elements up to this one
  std::size_t count_ = 0;
  std::size_t coalesced_ = 0;
  std::size_t done_ = 0;  // bytes of the copy being added that are in a list
  // Those of the first copy that ends in this list that were in former ones.
  std::size_t carried_ = 0;
  // Where each side of the last copy lay.
  MemoryRange source_;
  MemoryRange destination_;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_COPY_ENGINE_LIST_H_
