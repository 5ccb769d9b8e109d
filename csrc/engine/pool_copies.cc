#include "csrc/engine/pool_copies.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <numeric>

#include "csrc/engine/id_set.h"
#include "csrc/engine/report.h"
#include "csrc/engine/runs.h"
#include "csrc/engine/structures.h"

namespace kvswap::engine {
namespace {

const char* NameOf(Side side) {
  return side == Side::kSource ? "source" : "destination";
}

std::uintptr_t AddressOf(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// A pair that was at fault is so no more.
bool FailChanged(kvswap_result* report) {
  return Fail(
      report, KVSWAP_ERROR_INVALID_ARGUMENT,
      "pairs were changed while the call read them. Let no other thread "
      "change them before it returns. Nothing was submitted");
}

}  // namespace

std::uintptr_t PoolCopies::PoolSide::Address(std::size_t region,
                                             std::uint64_t id) const {
  const kvswap_region& r = pool.regions[region];
  if (factor == 1) return AddressOf(r.base) + id * r.stride;
  return AddressOf(r.base) + id / factor * r.stride +
         id % factor * (r.block_bytes / factor);
}

bool PoolCopies::CheckArguments(std::uint32_t flags, kvswap_result* report) {
  has_layers_ = (flags & KVSWAP_FLAG_LAYERS) != 0;
  if (!CheckPool(Side::kSource, report) ||
      !CheckPool(Side::kDestination, report) || !MatchRegions(report) ||
      (has_layers_ && !CheckLayers(report))) {
    return false;
  }
  if (pair_count_ == 0) return true;
  if (pairs_ == nullptr) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "pairs is a null array, with pair_count %zu", pair_count_);
  }
  if (!CheckIds(Side::kSource, report) ||
      !CheckIds(Side::kDestination, report)) {
    return false;
  }
  if ((flags & KVSWAP_FLAG_CHECK) != 0 &&
      (!CheckDuplicates(report) || !CheckReadAndWritten(report))) {
    return false;
  }
  order_.resize(sizes_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (has_layers_) {
    const kvswap_region* regions = side(Side::kSource).pool.regions;
    std::stable_sort(order_.begin(), order_.end(),
                     [regions](std::size_t a, std::size_t b) {
                       return regions[a].layer < regions[b].layer;
                     });
  }
  return true;
}

bool PoolCopies::CheckPool(Side side, kvswap_result* report) {
  const char* name = NameOf(side);
  const kvswap_pool* given = given_[static_cast<int>(side)];
  kvswap_pool& pool = sides_[static_cast<int>(side)].pool;
  if (given == nullptr) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT, "the %s pool is null",
                name);
  }
  if (!ReadStructure(given, &pool)) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "the %s pool's struct_size is %zu: set it to "
                "sizeof(kvswap_pool) (here %zu) and what this library does not "
                "know to zero",
                name, given->struct_size, sizeof(pool));
  }
  if (pool.regions == nullptr || pool.region_count == 0) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "the %s pool has no regions", name);
  }
  for (std::size_t index = 0; index < pool.region_count; ++index) {
    if (!CheckRegion(side, index, report)) return false;
  }
  return true;
}

bool PoolCopies::CheckRegion(Side which, std::size_t index,
                             kvswap_result* report) const {
  const kvswap_pool& pool = side(which).pool;
  const kvswap_region& region = pool.regions[index];
  const char* fault = nullptr;
  if (region.block_bytes == 0) {
    fault = "its blocks have no bytes";
  } else if (region.base == nullptr && pool.block_count != 0) {
    fault = "its base is null";
  } else if (region.reserved != 0 || region.layer < 0) {
    fault = "its layer is below zero, or what is reserved is not zero";
  } else if (pool.block_count > 1 && region.stride < region.block_bytes) {
    fault = "its blocks overlap: the stride is less than a block";
  } else if (pool.block_count != 0) {
    // The end of the last block, in a type that holds it.
    const auto end =
        static_cast<unsigned __int128>(AddressOf(region.base)) +
        static_cast<unsigned __int128>(pool.block_count - 1) * region.stride +
        region.block_bytes;
    if (end > UINTPTR_MAX) fault = "it runs past the end of the address space";
  }
  if (fault == nullptr) return true;
  report->region = index;
  return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
              "region %zu of the %s pool: %s (base %p, stride %zu, block_bytes "
              "%zu, layer %d, %zu blocks)",
              index, NameOf(which), fault, region.base, region.stride,
              region.block_bytes, static_cast<int>(region.layer),
              pool.block_count);
}

bool PoolCopies::MatchRegions(kvswap_result* report) {
  const kvswap_pool& source = side(Side::kSource).pool;
  const kvswap_pool& destination = side(Side::kDestination).pool;
  if (source.region_count != destination.region_count) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "the source pool has %zu regions and the destination pool has "
                "%zu: region i of the one is copied to region i of the other",
                source.region_count, destination.region_count);
  }
  sizes_.reserve(source.region_count);
  for (std::size_t index = 0; index < source.region_count; ++index) {
    const std::size_t sizes[] = {source.regions[index].block_bytes,
                                 destination.regions[index].block_bytes};
    const std::size_t smaller = std::min(sizes[0], sizes[1]);
    const std::size_t factors[] = {sizes[0] / smaller, sizes[1] / smaller};
    if (factors[0] * smaller != sizes[0] || factors[1] * smaller != sizes[1]) {
      report->region = index;
      return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                  "the pools do not correspond in region %zu: blocks of %zu "
                  "bytes in the source pool and of %zu in the destination "
                  "pool, of which neither is a multiple of the other",
                  index, sizes[0], sizes[1]);
    }
    if (index == 0) {
      sides_[0].factor = factors[0];
      sides_[1].factor = factors[1];
    } else if (factors[0] != sides_[0].factor ||
               factors[1] != sides_[1].factor) {
      report->region = index;
      return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                  "the pools do not correspond in region %zu: blocks of %zu "
                  "bytes in the source pool and of %zu in the destination pool "
                  "are in another ratio than those of region 0 (%zu to %zu)",
                  index, sizes[0], sizes[1], source.regions[0].block_bytes,
                  destination.regions[0].block_bytes);
    }
    sizes_.push_back(smaller);
  }
  return true;
}

bool PoolCopies::CheckLayers(kvswap_result* report) const {
  const kvswap_pool& source = side(Side::kSource).pool;
  const kvswap_pool& destination = side(Side::kDestination).pool;
  for (std::size_t index = 0; index < source.region_count; ++index) {
    const std::int32_t layers[] = {source.regions[index].layer,
                                   destination.regions[index].layer};
    if (layers[0] == layers[1]) continue;
    report->region = index;
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "region %zu is of layer %d in the source pool and of layer %d "
                "in the destination pool, and the copies are to be made layer "
                "by layer",
                index, static_cast<int>(layers[0]),
                static_cast<int>(layers[1]));
  }
  return true;
}

bool PoolCopies::CheckIds(Side which, kvswap_result* report) {
  PoolSide& side = sides_[static_cast<int>(which)];
  std::uint64_t first = UINT64_MAX;
  std::uint64_t last = 0;
  for (std::size_t pair = 0; pair < pair_count_; ++pair) {
    const std::uint64_t id = IdOf(pair, which);
    first = std::min(first, id);
    last = std::max(last, id);
  }
  side.first_id = first;
  side.last_id = last;
  // Below zero is a large number here.
  const auto ids =
      static_cast<unsigned __int128>(side.pool.block_count) * side.factor;
  if (last < ids) return true;
  std::size_t pair = 0;
  while (pair < pair_count_ && IdOf(pair, which) < ids) ++pair;
  if (pair == pair_count_) return FailChanged(report);
  report->index = pair;
  char units[96] = "";
  if (side.factor != 1) {
    std::snprintf(units, sizeof(units),
                  ", each %zu blocks of the size that ids count", side.factor);
  }
  const auto count = static_cast<std::uint64_t>(ids);
  return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
              "pairs[%zu] = (%" PRId64 ", %" PRId64 "): block %" PRId64
              " is out of range in the %s pool, which has %zu blocks%s (ids 0 "
              "to %" PRId64 "). Nothing was submitted",
              pair, pairs_[2 * pair], pairs_[2 * pair + 1],
              static_cast<std::int64_t>(IdOf(pair, which)), NameOf(which),
              side.pool.block_count, units,
              static_cast<std::int64_t>(count) - 1);
}

bool PoolCopies::CheckDuplicates(kvswap_result* report) const {
  const PoolSide& destination = side(Side::kDestination);
  IdSet written(destination.first_id, destination.last_id, pair_count_);
  for (std::size_t pair = 0; pair < pair_count_; ++pair) {
    written.Add(IdOf(pair, Side::kDestination));
  }
  written.Seal();
  if (!written.repeated().has_value()) return true;
  const std::uint64_t id = *written.repeated();
  std::size_t positions[2] = {};
  int found = 0;
  for (std::size_t pair = 0; pair < pair_count_ && found < 2; ++pair) {
    if (IdOf(pair, Side::kDestination) == id) positions[found++] = pair;
  }
  if (found < 2) return FailChanged(report);
  report->index = positions[1];
  return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
              "pairs[%zu] and pairs[%zu] both write block %" PRIu64
              " of the destination pool: copies of one call have no order, so "
              "its content would be undefined. Nothing was submitted",
              positions[0], positions[1], id);
}

// Whether block i is the same memory in both pools, for every id i.
bool PoolCopies::IsOneMemory() const {
  const PoolSide& source = side(Side::kSource);
  const PoolSide& destination = side(Side::kDestination);
  for (std::size_t index = 0; index < sizes_.size(); ++index) {
    const kvswap_region& a = source.pool.regions[index];
    const kvswap_region& b = destination.pool.regions[index];
    if (a.base != b.base) continue;
    // Of pools without gaps, also where blocks of the one are several of the
    // other's.
    const bool has_gaps =
        a.stride != a.block_bytes || b.stride != b.block_bytes;
    if (!has_gaps || (a.stride == b.stride && a.block_bytes == b.block_bytes)) {
      return true;
    }
  }
  return false;
}

bool PoolCopies::CheckReadAndWritten(kvswap_result* report) const {
  if (!IsOneMemory()) return true;
  const PoolSide& source = side(Side::kSource);
  IdSet read(source.first_id, source.last_id, pair_count_);
  for (std::size_t pair = 0; pair < pair_count_; ++pair) {
    read.Add(IdOf(pair, Side::kSource));
  }
  read.Seal();
  for (std::size_t pair = 0; pair < pair_count_; ++pair) {
    const std::uint64_t id = IdOf(pair, Side::kDestination);
    if (!read.Contains(id)) continue;
    std::size_t reader = 0;
    while (reader < pair_count_ && IdOf(reader, Side::kSource) != id) ++reader;
    if (reader == pair_count_) return FailChanged(report);
    report->index = pair;
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "pairs[%zu] writes block %" PRIu64
                ", which pairs[%zu] reads from the same memory: copies of one "
                "call have no order. Make a call for each. Nothing was "
                "submitted",
                pair, id, reader);
  }
  return true;
}

CopySpan PoolCopies::SpanOfRegion(std::size_t region) const {
  const PoolSide& source = side(Side::kSource);
  const PoolSide& destination = side(Side::kDestination);
  CopySpan span;
  span.Add(source.Address(region, source.first_id),
           destination.Address(region, destination.first_id), sizes_[region]);
  span.Add(source.Address(region, source.last_id),
           destination.Address(region, destination.last_id), sizes_[region]);
  // Blocks in between lie on multiples of what these are multiples of.
  for (const PoolSide* pool : {&source, &destination}) {
    const kvswap_region& r = pool->pool.regions[region];
    span.bits |= r.stride | (r.block_bytes / pool->factor) | AddressOf(r.base);
  }
  span.bytes = std::uint64_t{sizes_[region]} * pair_count_;
  return span;
}

bool PoolCopies::FindRuns(MemoryRanges* ranges, RunList* runs,
                          kvswap_result* report) const {
  for (std::size_t position = 0; position < order_.size(); ++position) {
    const std::size_t first = position * pair_count_;
    if (!engine::FindRuns(*this, first, first + pair_count_,
                          SpanOfRegion(order_[position]), ranges, runs,
                          report)) {
      return false;
    }
  }
  return true;
}

Copy PoolCopies::At(std::size_t number) const {
  const std::size_t region = RegionOf(number);
  const std::size_t pair = number % pair_count_;
  const std::uintptr_t source =
      side(Side::kSource).Address(region, IdOf(pair, Side::kSource));
  const std::uintptr_t destination =
      side(Side::kDestination).Address(region, IdOf(pair, Side::kDestination));
  return {reinterpret_cast<const void*>(source),
          reinterpret_cast<void*>(destination), sizes_[region]};
}

void PoolCopies::Locate(std::size_t number, kvswap_result* report) const {
  report->index = number % pair_count_;
  report->region = RegionOf(number);
}

void PoolCopies::NameCopy(std::size_t number, char* text,
                          std::size_t capacity) const {
  const std::size_t pair = number % pair_count_;
  std::snprintf(text, capacity,
                "pairs[%zu], block %" PRId64
                " of the source pool to block %" PRId64
                " of the destination pool, region %zu",
                pair, pairs_[2 * pair], pairs_[2 * pair + 1], RegionOf(number));
}

void PoolCopies::NameSide(std::size_t number, Side which, char* text,
                          std::size_t capacity) const {
  const std::size_t pair = number % pair_count_;
  const std::size_t region = RegionOf(number);
  const std::uint64_t id = IdOf(pair, which);
  std::snprintf(text, capacity,
                "block %" PRIu64
                " of the %s pool, region %zu (pairs[%zu], %zu "
                "bytes at 0x%" PRIxPTR ")",
                id, NameOf(which), region, pair, sizes_[region],
                side(which).Address(region, id));
}

template <bool source_is_split, bool destination_is_split>
void PoolCopies::FillRegion(std::size_t region, std::size_t first_pair,
                            std::size_t count, const void** sources,
                            void** destinations) const {
  // Copies of what the loop reads, so that it need not be read anew after each
  // store.
  struct Geometry {
    explicit Geometry(const PoolSide& side, std::size_t index)
        : base(AddressOf(side.pool.regions[index].base)),
          stride(side.pool.regions[index].stride),
          factor(side.factor),
          part(side.pool.regions[index].block_bytes / side.factor) {}
    std::uintptr_t base;
    std::size_t stride;
    std::size_t factor;
    std::size_t part;
  };
  const Geometry source(side(Side::kSource), region);
  const Geometry destination(side(Side::kDestination), region);
  const auto address = [](const Geometry& geometry, std::uint64_t id,
                          auto is_split) {
    if constexpr (is_split.value) {
      return geometry.base + id / geometry.factor * geometry.stride +
             id % geometry.factor * geometry.part;
    } else {
      return geometry.base + id * geometry.stride;
    }
  };
  const std::int64_t* const pairs = pairs_ + 2 * first_pair;
  for (std::size_t i = 0; i < count; ++i) {
    sources[i] = reinterpret_cast<const void*>(
        address(source, static_cast<std::uint64_t>(pairs[2 * i]),
                std::bool_constant<source_is_split>()));
    destinations[i] = reinterpret_cast<void*>(
        address(destination, static_cast<std::uint64_t>(pairs[2 * i + 1]),
                std::bool_constant<destination_is_split>()));
  }
}

Descriptors PoolCopies::View(std::size_t first, std::size_t count,
                             DescriptorBuffer* buffer) const {
  const void** const sources = buffer->sources.data();
  void** const destinations = buffer->destinations.data();
  std::size_t* const sizes = buffer->sizes.data();
  const bool source_is_split = side(Side::kSource).factor != 1;
  const bool destination_is_split = side(Side::kDestination).factor != 1;
  std::size_t filled = 0;
  while (filled < count) {
    const std::size_t region = RegionOf(first + filled);
    const std::size_t pair = (first + filled) % pair_count_;
    const std::size_t run = std::min(count - filled, pair_count_ - pair);
    if (source_is_split) {
      FillRegion<true, false>(region, pair, run, sources + filled,
                              destinations + filled);
    } else if (destination_is_split) {
      FillRegion<false, true>(region, pair, run, sources + filled,
                              destinations + filled);
    } else {
      FillRegion<false, false>(region, pair, run, sources + filled,
                               destinations + filled);
    }
    std::fill_n(sizes + filled, run, sizes_[region]);
    filled += run;
  }
  return {sources, destinations, sizes, count};
}

std::uint64_t PoolCopies::BytesBefore(std::size_t number) const {
  if (pair_count_ == 0) return 0;
  std::uint64_t bytes = 0;
  for (std::size_t position = 0; position * pair_count_ < number; ++position) {
    const std::size_t copies =
        std::min(number - position * pair_count_, pair_count_);
    bytes += std::uint64_t{sizes_[order_[position]]} * copies;
  }
  return bytes;
}

std::int32_t PoolCopies::LayerOf(std::size_t number) const {
  return has_layers_ ? side(Side::kSource).pool.regions[RegionOf(number)].layer
                     : KVSWAP_ALL_LAYERS;
}

std::size_t PoolCopies::EndOfLayer(std::size_t number) const {
  const std::int32_t layer = LayerOf(number);
  std::size_t end = (number / pair_count_ + 1) * pair_count_;
  while (end < count() && LayerOf(end) == layer) end += pair_count_;
  return end;
}

}  // namespace kvswap::engine
