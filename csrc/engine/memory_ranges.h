// What the pointers of one call point to.

#ifndef KVSWAP_ENGINE_MEMORY_RANGES_H_
#define KVSWAP_ENGINE_MEMORY_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csrc/driver/driver_table.h"
#include "csrc/engine/memory_query.h"
#include "csrc/engine/report.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// The ranges that the descriptors of one call lie in: one query of the driver
// for each range, none for a block whose range is known. Forgotten after the
// call, since freeing memory would falsify what was remembered.
class MemoryRanges {
 public:
  explicit MemoryRanges(const driver::DriverTable& table) : table_(table) {}

  // Checks both sides of every descriptor of a size other than zero: accessible
  // memory, inside one range, of one GPU. False: `report` says what is wrong.
  bool Check(const Descriptors& descriptors, kvswap_result* report);

  // After Check: the GPU whose memory the descriptors name; where they name
  // none, a GPU for which some of their host memory was pinned; else -1.
  int device() const { return device_ >= 0 ? device_ : host_device_; }

 private:
  enum class Side { kSource, kDestination };

  // One side of one descriptor that does not lie in that side's last range.
  bool CheckSide(const Descriptors& descriptors, std::size_t index, Side side,
                 kvswap_result* report);
  // The range that holds `address`: a known one, else as the driver says.
  bool FindRange(std::uint64_t address, MemoryRange* range,
                 kvswap_result* report);
  // Whether the range and what continues it hold [address, address + size).
  // `border` is where they end.
  bool Holds(const MemoryRange& range, std::uint64_t address, std::size_t size,
             std::uint64_t* border, kvswap_result* report);
  bool NoteDevice(const Descriptors& descriptors, std::size_t index,
                  const MemoryRange& range, kvswap_result* report);

  const driver::DriverTable& table_;
  std::vector<MemoryRange> ranges_;  // CUDA's memory, sorted by start
  MemoryRange last_[2];              // per side, where the last block lay
  int device_ = -1;
  int host_device_ = -1;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_MEMORY_RANGES_H_
