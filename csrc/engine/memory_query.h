// What the driver says of an address.

#ifndef KVSWAP_ENGINE_MEMORY_QUERY_H_
#define KVSWAP_ENGINE_MEMORY_QUERY_H_

#include <cstddef>
#include <cstdint>

#include "csrc/driver/driver_table.h"
#include "csrc/engine/copies.h"
#include "csrc/engine/report.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// What the driver calls a range: an allocation, a registration, or the whole
// reservation that mappings lie in.
struct Allocation {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool has_mappings = false;  // of which each was less than the whole

  bool Contains(std::uint64_t address) const {
    return address >= start && address < end;
  }
};

// Addresses [start, end) of one kind of memory. Empty where its extent is not
// known: pageable memory, or a driver that does not tell.
struct MemoryRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  int kind = KVSWAP_MEMORY_UNKNOWN;  // kvswap_memory_kind
  int device = -1;
  // What a kernel in the context that was current at the query may do, and only
  // where the driver says so: its own pointer to the memory is the same
  // address, and it has that access (contract page, "Pointer attributes,
  // reachability").
  bool kernel_reads = false;
  bool kernel_writes = false;
  // More of the same allocation or reservation may follow at `end`, under a
  // mapping of its own. The driver copies across such a border, while the end
  // of an allocation or registration is the end for a copy.
  bool continues = false;
  Allocation allocation;  // that the driver says it is part of

  bool IsEmpty() const { return start == end; }

  bool Contains(std::uint64_t address, std::size_t size) const {
    return address >= start && address < end && size <= end - address;
  }
};

// Asks the driver about one address.
//
// Returns the CUresult. An address that CUDA does not know is called
// KVSWAP_MEMORY_PAGEABLE, whatever is there.
int QueryRange(const driver::DriverTable& table, std::uint64_t address,
               MemoryRange* range);

// The same for an address in an allocation or reservation that is known from
// another one: a question about the mapping alone, which takes less time.
int QueryMapping(const driver::DriverTable& table, std::uint64_t address,
                 const Allocation& allocation, MemoryRange* range);

// Names the copy at fault in `report`: where the caller described it, its
// pointers and size, and what memory the driver says that both sides are.
void BlameCopy(const driver::DriverTable& table, const Copies& copies,
               std::size_t number, kvswap_result* report);

// The GPU of the first descriptor with memory of a GPU; -1 where none has, or
// the driver is not usable. Descriptors of size zero are passed over.
int FirstDevice(const driver::DriverTable& table,
                const Descriptors& descriptors);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_MEMORY_QUERY_H_
