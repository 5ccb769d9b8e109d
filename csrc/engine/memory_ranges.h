// What the pointers of one call point to.

#ifndef KVSWAP_ENGINE_MEMORY_RANGES_H_
#define KVSWAP_ENGINE_MEMORY_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csrc/driver/driver_table.h"
#include "csrc/engine/copies.h"
#include "csrc/engine/memory_query.h"
#include "csrc/engine/span.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// What one side of a copy lies in.
struct SideMemory {
  int kind = KVSWAP_MEMORY_UNKNOWN;  // kvswap_memory_kind
  bool kernel_reads = false;
  bool kernel_writes = false;
};

// The ranges that the copies of one call lie in: one query of the driver for
// each range, none for a block whose range is known. Forgotten after the call,
// since freeing memory would falsify what was remembered.
//
// What kernels may touch is told for the context that was current at the
// queries.
class MemoryRanges {
 public:
  // May throw std::bad_alloc.
  explicit MemoryRanges(const driver::DriverTable& table) : table_(table) {
    // Most calls have one range on each side.
    ranges_.reserve(2);
    order_.reserve(2);
  }

  // Forgets everything, to ask again in another context.
  void Forget();

  // Whether one range of CUDA's memory holds all of one side, the blocks of at
  // most `largest` bytes that begin in `span`: `*holds`, and `*memory`. What
  // lies in them then need not be checked. False: the memory is of another GPU
  // than before, which is blamed on copy `number`, or the driver refused to
  // answer.
  bool CheckSpan(const Copies& copies, std::size_t number, Side side,
                 const AddressSpan& span, std::size_t largest,
                 SideMemory* memory, bool* holds, kvswap_result* report);

  // Asks about many addresses of one side at once, in ascending order, which
  // the driver answers in less time than in another, and so that later checks
  // find ranges by one look at a table. BeginPrepare is false where a table for
  // the span of `count` blocks is not worth its room; nothing is lost but time.
  // May throw std::bad_alloc.
  bool BeginPrepare(Side side, const AddressSpan& span, std::size_t count);
  void Note(Side side, std::uint64_t address) {
    Table& table = tables_[static_cast<int>(side)];
    const std::uint64_t position = Slot(table, address);
    // Outside of the span, where the caller's other threads change addresses
    // meanwhile.
    if (position >= table.slots.size()) return;
    std::uint64_t& slot = table.slots[position];
    if (slot == 0) slot = address;
  }
  bool EndPrepare(Side side, kvswap_result* report);

  // Checks one side, `size` bytes at `pointer`, of a copy: accessible memory,
  // without a gap, of the GPU of those before. False: `report` says what is
  // wrong.
  bool CheckSide(const Copies& copies, std::size_t number, Side side,
                 const void* pointer, std::size_t size, SideMemory* memory,
                 kvswap_result* report) {
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    MemoryRange& last = last_[static_cast<int>(side)];
    if (!last.Contains(address, size)) {
      const MemoryRange* range = Look(side, address);
      if (range == nullptr || !range->Contains(address, size) ||
          !IsNoted(*range)) {
        return CheckUnknownSide(copies, number, side, address, size, memory,
                                report);
      }
      last = *range;
    }
    *memory = {last.kind, last.kernel_reads, last.kernel_writes};
    return true;
  }

  // The known range that holds an address; null where none does.
  const MemoryRange* Known(std::uint64_t address) const;

  // After the checks: the GPU whose memory the copies name; where they name
  // none, a GPU for which some of their host memory was pinned; else -1.
  int device() const { return device_ >= 0 ? device_ : host_device_; }

 private:
  // Virtual memory is mapped in multiples of this, so that a mapping's slots
  // are its own.
  static constexpr int kSlotShift = 21;
  // Slots of a table for each block, at most.
  static constexpr std::uint64_t kSlotsForBlock = 16;

  struct Table {
    std::uint64_t first_slot = 0;
    // While preparing, an address that lies in the slot; then 1 + the position
    // in `ranges_` of the range that holds it; 0: none.
    std::vector<std::uint64_t> slots;
  };

  static std::uint64_t Slot(const Table& table, std::uint64_t address) {
    return (address >> kSlotShift) - table.first_slot;
  }

  const MemoryRange* Look(Side side, std::uint64_t address) const {
    const Table& table = tables_[static_cast<int>(side)];
    const std::uint64_t slot = Slot(table, address);
    if (slot >= table.slots.size()) return nullptr;
    const std::uint64_t position = table.slots[slot];
    return position == 0 ? nullptr : &ranges_[position - 1];
  }

  // Whether NoteDevice has nothing to say of the range.
  bool IsNoted(const MemoryRange& range) const {
    return range.kind == KVSWAP_MEMORY_DEVICE ? range.device == device_
                                              : host_device_ >= 0;
  }

  bool CheckUnknownSide(const Copies& copies, std::size_t number, Side side,
                        std::uint64_t address, std::size_t size,
                        SideMemory* memory, kvswap_result* report);
  bool CheckPageable(const Copies& copies, std::size_t number, Side side,
                     std::uint64_t address, std::size_t size,
                     kvswap_result* report);
  bool FailOverrun(const Copies& copies, std::size_t number, Side side,
                   std::uint64_t address, std::size_t size,
                   std::uint64_t border, kvswap_result* report);
  // The range that holds `address`: a known one, else as the driver says.
  bool FindRange(std::uint64_t address, MemoryRange* range,
                 kvswap_result* report);
  // Whether the range and what continues it hold [address, address + size):
  // `*memory`, of all of them. `border` is where they end.
  bool Holds(const MemoryRange& range, std::uint64_t address, std::size_t size,
             SideMemory* memory, std::uint64_t* border, kvswap_result* report);
  bool NoteDevice(const Copies& copies, std::size_t number,
                  const MemoryRange& range, kvswap_result* report);
  // The position in `order_` behind the last range that begins at or before
  // `address`.
  std::size_t PositionAfter(std::uint64_t address) const;
  void Keep(const MemoryRange& range);

  struct Start {
    std::uint64_t address;
    std::size_t position;  // in `ranges_`
  };

  const driver::DriverTable& table_;
  std::vector<MemoryRange> ranges_;  // CUDA's memory, in the order of queries
  std::vector<Start> order_;         // the same, sorted
  Table tables_[2];                  // per side
  MemoryRange last_[2];              // per side, where the last block lay
  // The last one that was found to consist of mappings.
  Allocation allocation_;
  int device_ = -1;
  int host_device_ = -1;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_MEMORY_RANGES_H_
