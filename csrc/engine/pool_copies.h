// Copies between two block pools: each region of each pair of blocks.

#ifndef KVSWAP_ENGINE_POOL_COPIES_H_
#define KVSWAP_ENGINE_POOL_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csrc/engine/copies.h"
#include "csrc/engine/span.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// Copies are numbered region by region, in the order in which they are to be
// submitted: as the regions are given, or layer by layer. No list of them is
// made; View computes those that are asked for.
class PoolCopies : public Copies {
 public:
  // What is passed must outlive this.
  PoolCopies(const kvswap_pool* source, const kvswap_pool* destination,
             const std::int64_t* pairs, std::size_t pair_count)
      : given_{source, destination}, pairs_(pairs), pair_count_(pair_count) {}

  std::uint32_t KnownFlags() const override {
    return KVSWAP_FLAG_STRICT | KVSWAP_FLAG_PREFER_OVERLAP | KVSWAP_FLAG_CHECK |
           KVSWAP_FLAG_LAYERS;
  }
  bool CheckArguments(std::uint32_t flags, kvswap_result* report) override;
  bool FindRuns(MemoryRanges* ranges, RunList* runs,
                kvswap_result* report) const override;
  std::size_t count() const override { return order_.size() * pair_count_; }
  std::uint64_t bytes() const override { return BytesBefore(count()); }
  std::size_t dropped() const override { return 0; }
  Copy At(std::size_t number) const override;
  void MakeRoom(std::size_t count, DescriptorBuffer* buffer) const override {
    buffer->Resize(count);
  }
  Descriptors View(std::size_t first, std::size_t count,
                   DescriptorBuffer* buffer) const override;
  void Locate(std::size_t number, kvswap_result* report) const override;
  void NameCopy(std::size_t number, char* text,
                std::size_t capacity) const override;
  void NameSide(std::size_t number, Side side, char* text,
                std::size_t capacity) const override;

  // The number of the first copy of a later layer than copy `number` is of; all
  // are of one without KVSWAP_FLAG_LAYERS.
  std::size_t EndOfLayer(std::size_t number) const;
  // A copy's layer; KVSWAP_ALL_LAYERS without KVSWAP_FLAG_LAYERS.
  std::int32_t LayerOf(std::size_t number) const;

 private:
  // One side of a call.
  struct PoolSide {
    kvswap_pool pool = KVSWAP_POOL_INIT;
    std::size_t factor = 1;  // ids in one of its blocks
    std::uint64_t first_id = 0;
    std::uint64_t last_id = 0;

    // Where the part of block `id` begins.
    std::uintptr_t Address(std::size_t region, std::uint64_t id) const;
  };

  bool CheckPool(Side side, kvswap_result* report);
  bool CheckRegion(Side side, std::size_t index, kvswap_result* report) const;
  bool MatchRegions(kvswap_result* report);
  bool CheckLayers(kvswap_result* report) const;
  bool CheckIds(Side side, kvswap_result* report);
  bool CheckDuplicates(kvswap_result* report) const;
  bool CheckReadAndWritten(kvswap_result* report) const;
  bool IsOneMemory() const;
  // What copies [position * pair_count, …) of a region have in common.
  CopySpan SpanOfRegion(std::size_t region) const;
  // Bytes of the copies below a number.
  std::uint64_t BytesBefore(std::size_t number) const;
  template <bool source_is_split, bool destination_is_split>
  void FillRegion(std::size_t region, std::size_t first_pair, std::size_t count,
                  const void** sources, void** destinations) const;

  const PoolSide& side(Side side) const {
    return sides_[static_cast<int>(side)];
  }
  std::uint64_t IdOf(std::size_t pair, Side side) const {
    return static_cast<std::uint64_t>(
        pairs_[2 * pair + static_cast<std::size_t>(side)]);
  }
  std::size_t RegionOf(std::size_t number) const {
    return order_[number / pair_count_];
  }

  const kvswap_pool* const given_[2];
  const std::int64_t* const pairs_;
  const std::size_t pair_count_;
  PoolSide sides_[2];
  bool has_layers_ = false;
  std::vector<std::size_t> order_;  // regions, as they are to be submitted
  std::vector<std::size_t> sizes_;  // per region: bytes of a copy
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_POOL_COPIES_H_
