// Runs: copies with consecutive numbers that are alike, so that what submits
// them is decided once for all.

#ifndef KVSWAP_ENGINE_RUNS_H_
#define KVSWAP_ENGINE_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csrc/engine/copies.h"
#include "csrc/engine/memory_ranges.h"
#include "csrc/engine/span.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// What the copies of a run have in common.
struct RunKind {
  kvswap_direction direction = KVSWAP_DIRECTION_HOST_TO_HOST;
  // A kernel may read the sources and write the destinations, as far as the
  // driver's answers go.
  bool kernel_reaches = false;
  bool has_pinned = false;    // a side is pinned host memory
  bool has_managed = false;   // a side is managed memory
  bool has_pageable = false;  // a side is pageable host memory
  // Sizes are at least this power of two, and less than the next one.
  int size_class = 0;

  bool operator==(const RunKind& other) const {
    return direction == other.direction &&
           kernel_reaches == other.kernel_reaches &&
           has_pinned == other.has_pinned && has_managed == other.has_managed &&
           has_pageable == other.has_pageable && size_class == other.size_class;
  }
};

struct Run {
  std::size_t first;  // number of a copy
  std::size_t end;
  RunKind kind;
  CopySpan span;
  // Each side of all copies lies in one known range: no copy has to be split.
  bool in_one_range;

  std::size_t count() const { return end - first; }
};

class RunList {
 public:
  // Adds copies [first, end) that continue those before. May throw
  // std::bad_alloc.
  void Add(std::size_t first, std::size_t end, const RunKind& kind,
           const CopySpan& span, bool in_one_range);

  const std::vector<Run>& runs() const { return runs_; }
  // Copies of a direction.
  std::size_t CountOf(kvswap_direction direction) const {
    return counts_[direction];
  }
  // Copies of which a side is pageable.
  std::size_t pageable() const { return pageable_; }

 private:
  std::vector<Run> runs_;
  std::size_t counts_[4] = {};
  std::size_t pageable_ = 0;
};

// Checks the memory of copies [first, end), of which `span` tells, and adds
// them to `runs`. Where each side lies in one range, that takes a query for
// each and nothing for a copy. False: `report` says what is wrong. May throw
// std::bad_alloc.
bool FindRuns(const Copies& copies, std::size_t first, std::size_t end,
              const CopySpan& span, MemoryRanges* ranges, RunList* runs,
              kvswap_result* report);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_RUNS_H_
