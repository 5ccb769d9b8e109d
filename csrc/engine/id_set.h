// A set of block ids of a known span.

#ifndef KVSWAP_ENGINE_ID_SET_H_
#define KVSWAP_ENGINE_ID_SET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace kvswap::engine {

// For up to `count` ids in [first, last]. A bit for each possible id, or where
// that would be far more than there are ids, a sorted list.
class IdSet {
 public:
  IdSet(std::uint64_t first, std::uint64_t last, std::size_t count)
      : first_(first), is_dense_((last - first) / kDensity <= count) {
    if (is_dense_) {
      bits_.resize((last - first) / kBits + 1);
    } else {
      sorted_.reserve(count);
    }
  }

  void Add(std::uint64_t id) {
    if (!is_dense_) {
      sorted_.push_back(id);
      return;
    }
    // None of the span: the caller's other threads have changed it meanwhile.
    if ((id - first_) / kBits >= bits_.size()) return;
    std::uint64_t& word = bits_[(id - first_) / kBits];
    if ((word & Bit(id)) != 0 && !repeated_.has_value()) repeated_ = id;
    word |= Bit(id);
  }

  // To be called once all ids have been added, before the functions below.
  void Seal() {
    if (is_dense_) return;
    std::sort(sorted_.begin(), sorted_.end());
    const auto found = std::adjacent_find(sorted_.begin(), sorted_.end());
    if (found != sorted_.end()) repeated_ = *found;
  }

  // An id that was added twice.
  const std::optional<std::uint64_t>& repeated() const { return repeated_; }

  bool Contains(std::uint64_t id) const {
    if (!is_dense_) {
      return std::binary_search(sorted_.begin(), sorted_.end(), id);
    }
    return id >= first_ && (id - first_) / kBits < bits_.size() &&
           (bits_[(id - first_) / kBits] & Bit(id)) != 0;
  }

 private:
  static constexpr std::uint64_t kBits = 64;
  // Bits for an id at most: as much memory as 16 entries of a list.
  static constexpr std::uint64_t kDensity = 16 * kBits;

  std::uint64_t Bit(std::uint64_t id) const {
    return std::uint64_t{1} << ((id - first_) % kBits);
  }

  const std::uint64_t first_;
  const bool is_dense_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint64_t> sorted_;
  std::optional<std::uint64_t> repeated_;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_ID_SET_H_
