// What the pointers of one call point to.

#ifndef KVSWAP_ENGINE_MEMORY_RANGES_H_
#define KVSWAP_ENGINE_MEMORY_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csrc/driver/driver_table.h"
#include "csrc/engine/copies.h"
#include "csrc/engine/memory_query.h"
#include "csrc/engine/report.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// The ranges that the copies of one call lie in: one query of the driver for
// each range, none for a block whose range is known. Forgotten after the call,
// since freeing memory would falsify what was remembered.
class MemoryRanges {
 public:
  explicit MemoryRanges(const driver::DriverTable& table) : table_(table) {}

  // Checks one side, `size` bytes at `pointer`, of a copy: accessible memory,
  // inside one range, of the GPU of those before. False: `report` says what is
  // wrong.
  bool CheckSide(const Copies& copies, std::size_t number, Side side,
                 const void* pointer, std::size_t size, kvswap_result* report) {
    return last_[static_cast<int>(side)].Contains(
               reinterpret_cast<std::uint64_t>(pointer), size) ||
           CheckUnknownSide(copies, number, side, pointer, size, report);
  }

  // Whether one range of CUDA's memory holds all `size` bytes at `pointer`:
  // `*holds`. What lies in them then need not be checked. False: the memory is
  // of another GPU than those before, which is blamed on copy `number`, or the
  // driver refused to answer.
  bool CheckSpan(const Copies& copies, std::size_t number, const void* pointer,
                 std::size_t size, bool* holds, kvswap_result* report);

  // After the checks: the GPU whose memory the copies name; where they name
  // none, a GPU for which some of their host memory was pinned; else -1.
  int device() const { return device_ >= 0 ? device_ : host_device_; }

  // Copies of which a side is pageable, where both sides of a copy were checked
  // before the next one.
  std::size_t pageable() const { return pageable_; }

 private:
  bool CheckUnknownSide(const Copies& copies, std::size_t number, Side side,
                        const void* pointer, std::size_t size,
                        kvswap_result* report);
  // The range that holds `address`: a known one, else as the driver says.
  bool FindRange(std::uint64_t address, MemoryRange* range,
                 kvswap_result* report);
  // Whether the range and what continues it hold [address, address + size).
  // `border` is where they end.
  bool Holds(const MemoryRange& range, std::uint64_t address, std::size_t size,
             std::uint64_t* border, kvswap_result* report);
  bool NoteDevice(const Copies& copies, std::size_t number,
                  const MemoryRange& range, kvswap_result* report);

  const driver::DriverTable& table_;
  std::vector<MemoryRange> ranges_;  // CUDA's memory, sorted by start
  MemoryRange last_[2];              // per side, where the last block lay
  int device_ = -1;
  int host_device_ = -1;
  std::size_t pageable_ = 0;
  std::size_t last_pageable_ = KVSWAP_NO_INDEX;  // number of a copy
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_MEMORY_RANGES_H_
