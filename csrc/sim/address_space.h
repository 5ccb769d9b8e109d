// What the simulated driver knows about addresses: allocations, registrations,
// reservations and mappings.
//
// Device memory lives in memory of this process, at addresses that the host may
// not touch, as with a real driver: the simulation reaches it by a second
// mapping. Addresses that were freed are never given out again, so work that
// still uses one is noticed.

#ifndef KVSWAP_SIM_ADDRESS_SPACE_H_
#define KVSWAP_SIM_ADDRESS_SPACE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "csrc/sim/driver_abi.h"

namespace kvswap::sim {

struct Context;

// What a read of freed memory gives.
inline constexpr unsigned char kPoison = 0xdb;

// Granularity of virtual memory management.
inline constexpr std::size_t kMappingGranularity = std::size_t{2} << 20;

inline constexpr std::size_t kPageSize = 4096;

inline std::size_t RoundUp(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

// Memory, apart from any address that the user sees.
class PhysicalMemory {
 public:
  // Null where the host has no memory left.
  static std::shared_ptr<PhysicalMemory> Create(std::size_t size);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  char* data() const { return data_; }
  std::size_t size() const { return size_; }

  // Makes [offset, offset + size) appear at `address`, replacing what is there.
  bool MapAt(std::uint64_t address, std::size_t offset, std::size_t size,
             int protection) const;

 private:
  PhysicalMemory(char* data, std::size_t size) : data_(data), size_(size) {}

  char* data_;
  std::size_t size_;
};

enum class RangeKind {
  kDevice,       // cuMemAlloc
  kPool,         // cuMemAllocAsync
  kManaged,      // cuMemAllocManaged
  kPinned,       // cuMemHostAlloc
  kRegistered,   // cuMemHostRegister
  kReservation,  // cuMemAddressReserve
};

// A part of a reservation with memory behind it.
struct Mapping {
  std::uint64_t base = 0;
  std::size_t size = 0;
  std::size_t offset = 0;
  std::shared_ptr<PhysicalMemory> memory;
  Device device = 0;  // of the memory
  // By device ordinal; devices that are missing have no access.
  std::map<Device, MemAccessFlags> access;

  MemAccessFlags AccessOf(Device accessor) const {
    const auto found = access.find(accessor);
    return found == access.end() ? kMemAccessNone : found->second;
  }
};

struct Range {
  std::uint64_t id = 0;
  RangeKind kind = RangeKind::kDevice;
  std::uint64_t base = 0;
  std::size_t size = 0;
  // The address that devices use. Differs from `base` only for registered
  // memory where a device cannot use the host's pointer.
  std::uint64_t device_base = 0;
  unsigned flags = 0;
  // Null for reservations and pools.
  std::shared_ptr<Context> context;
  Device device = 0;
  // Null for registered memory, which is the user's, and for reservations.
  std::shared_ptr<PhysicalMemory> memory;
  // By base address; reservations only.
  std::map<std::uint64_t, Mapping> mappings;

  std::uint64_t end() const { return base + size; }
  bool IsHost() const {
    return kind == RangeKind::kPinned || kind == RangeKind::kRegistered;
  }
  // The mapping that holds an address, or null.
  const Mapping* FindMapping(std::uint64_t address) const;
};

// A stretch of memory that an access meets.
struct Piece {
  enum class Kind {
    kOwned,  // `data` is the simulation's own view
    kUser,   // `data` is the user's memory
    kFreed,  // nothing is there any more
  };
  Kind kind = Kind::kFreed;
  char* data = nullptr;
  std::size_t size = 0;
};

class AddressSpace {
 public:
  AddressSpace() = default;
  // Leaves nothing at any address that was given out.
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // Adds a range of `kind` with new memory. Null where there is no memory.
  Range* Allocate(RangeKind kind, std::size_t size);
  // Adds an address range without memory, aligned to `alignment`.
  Range* Reserve(std::size_t size, std::size_t alignment);
  // Adds the user's memory. `separate_device_address`: devices get an address
  // of their own for it.
  Range* Register(std::uint64_t base, std::size_t size,
                  bool separate_device_address);
  // Takes a range out; its memory is gone.
  void Remove(Range* range);

  // The range that an address belongs to, or null. Device addresses of
  // registered memory find their range too.
  Range* Find(std::uint64_t address);
  // The range that begins at an address, or null.
  Range* FindBase(std::uint64_t base);
  // The ranges that share addresses with [address, address + size).
  std::vector<const Range*> Overlapping(std::uint64_t address,
                                        std::size_t size) const;

  // The stretch at the beginning of [address, address + size), for an access
  // that happens now.
  Piece PieceAt(std::uint64_t address, std::size_t size);

  // Ranges in the order of their creation.
  std::vector<Range*> Select(const std::function<bool(const Range&)>& chosen);
  std::size_t Count(RangeKind kind) const;
  std::size_t CountMappings() const;
  std::size_t BytesOnDevice(Device device) const;

  // Gives [base, base + size) back to "nothing is there".
  static void Vanish(std::uint64_t base, std::size_t size);

 private:
  // Addresses that nobody uses, and that nobody was given before; 0 where the
  // process has none left.
  std::uint64_t FreshAddresses(std::size_t size, std::size_t alignment,
                               bool host);

  struct Arena {
    std::uint64_t next = 0;
    std::uint64_t end = 0;
  };

  Arena device_arena_;
  Arena host_arena_;
  // All that was reserved for arenas, base to size.
  std::map<std::uint64_t, std::size_t> reserved_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Range> ranges_;
  // Device addresses of registered memory that differ from the host's: to base.
  std::map<std::uint64_t, std::uint64_t> device_addresses_;
  // Freed addresses, begin to end.
  std::map<std::uint64_t, std::uint64_t> freed_;
};

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_ADDRESS_SPACE_H_
