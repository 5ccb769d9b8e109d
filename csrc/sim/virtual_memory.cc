// Virtual memory management: reservations, memory without an address, mappings.

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "csrc/sim/address_space.h"
#include "csrc/sim/call.h"
#include "csrc/sim/devices.h"
#include "csrc/sim/driver_functions.h"

namespace kvswap::sim {
namespace {

bool IsGranular(std::uint64_t value) {
  return value % kMappingGranularity == 0;
}

bool IsSupported(const Driver& driver,
                 const MemAllocationProperties& properties) {
  return properties.type == kMemAllocationPinned &&
         properties.location.type == abi::kMemLocationTypeDevice &&
         IsDevice(driver, properties.location.id);
}

// The mappings that [pointer, pointer + size) consists of exactly; empty where
// it has gaps or cuts one.
std::vector<Mapping*> MappingsOf(Range* reservation, std::uint64_t pointer,
                                 std::size_t size) {
  std::vector<Mapping*> found;
  std::uint64_t position = pointer;
  while (position < pointer + size) {
    const auto mapping = reservation->mappings.find(position);
    if (mapping == reservation->mappings.end()) return {};
    found.push_back(&mapping->second);
    position += mapping->second.size;
  }
  if (position != pointer + size) return {};
  return found;
}

bool HasNoMapping(const Range& reservation, std::uint64_t pointer,
                  std::size_t size) {
  const auto next = reservation.mappings.lower_bound(pointer);
  return reservation.FindMapping(pointer) == nullptr &&
         (next == reservation.mappings.end() || next->first >= pointer + size);
}

Range* FindReservation(Driver& driver, std::uint64_t pointer,
                       std::size_t size) {
  Range* range = driver.addresses.Find(pointer);
  if (range == nullptr || range->kind != RangeKind::kReservation || size == 0 ||
      pointer + size > range->end() || pointer + size < pointer) {
    return nullptr;
  }
  return range;
}

}  // namespace

extern "C" {

Result cuMemAddressReserve(DevicePointer* pointer, std::size_t size,
                           std::size_t alignment, DevicePointer wish,
                           unsigned long long flags) {
  Call call(Entry::cuMemAddressReserve);
  call.Argument("pointer", pointer)
      .Argument("size", size)
      .Argument("alignment", alignment)
      .Argument("wish", wish)
      .Argument("flags", flags);
  return call.Run([&](Driver& driver) -> Result {
    if (pointer == nullptr || size == 0 || !IsGranular(size) || flags != 0 ||
        (alignment & (alignment - 1)) != 0) {
      return abi::kErrorInvalidValue;
    }
    // The wish for an address is one that a driver may ignore.
    Range* range = driver.addresses.Reserve(
        size, std::max(alignment, kMappingGranularity));
    if (range == nullptr) return abi::kErrorOutOfMemory;
    *pointer = range->base;
    call.Output("pointer", *pointer);
    return abi::kSuccess;
  });
}

Result cuMemAddressFree(DevicePointer pointer, std::size_t size) {
  Call call(Entry::cuMemAddressFree);
  call.Argument("pointer", pointer).Argument("size", size);
  return call.Run([&](Driver& driver) -> Result {
    Range* range = driver.addresses.FindBase(pointer);
    if (range == nullptr || range->kind != RangeKind::kReservation ||
        range->size != size || !range->mappings.empty()) {
      return abi::kErrorInvalidValue;
    }
    driver.addresses.Remove(range);
    return abi::kSuccess;
  });
}

Result cuMemGetAllocationGranularity(std::size_t* granularity,
                                     const MemAllocationProperties* properties,
                                     int option) {
  Call call(Entry::cuMemGetAllocationGranularity);
  call.Argument("granularity", granularity)
      .Argument("properties", properties)
      .Argument("option", option);
  return call.Run([&](Driver& driver) -> Result {
    if (granularity == nullptr || properties == nullptr ||
        !IsSupported(driver, *properties) || option < 0 || option > 1) {
      return abi::kErrorInvalidValue;
    }
    *granularity = kMappingGranularity;
    call.Output("granularity", *granularity);
    return abi::kSuccess;
  });
}

Result cuMemCreate(PhysicalHandle* handle, std::size_t size,
                   const MemAllocationProperties* properties,
                   unsigned long long flags) {
  Call call(Entry::cuMemCreate);
  call.Argument("handle", handle)
      .Argument("size", size)
      .Argument("properties", properties)
      .Argument("flags", flags);
  return call.Run([&](Driver& driver) -> Result {
    if (handle == nullptr || properties == nullptr || size == 0 ||
        !IsGranular(size) || flags != 0) {
      return abi::kErrorInvalidValue;
    }
    if (properties->type != kMemAllocationPinned ||
        properties->location.type != abi::kMemLocationTypeDevice) {
      return abi::kErrorNotSupported;
    }
    if (!IsDevice(driver, properties->location.id)) {
      return abi::kErrorInvalidDevice;
    }
    if (size > kDeviceMemory) return abi::kErrorOutOfMemory;
    PhysicalAllocation allocation;
    allocation.device = properties->location.id;
    allocation.memory = PhysicalMemory::Create(size);
    if (allocation.memory == nullptr) return abi::kErrorOutOfMemory;
    *handle = driver.NextId();
    call.Output("handle", *handle);
    driver.physical_allocations[*handle] = std::move(allocation);
    return abi::kSuccess;
  });
}

Result cuMemRelease(PhysicalHandle handle) {
  Call call(Entry::cuMemRelease);
  call.Argument("handle", handle);
  return call.Run([&](Driver& driver) -> Result {
    // Mappings keep the memory itself.
    return driver.physical_allocations.erase(handle) == 1
               ? abi::kSuccess
               : abi::kErrorInvalidValue;
  });
}

Result cuMemMap(DevicePointer pointer, std::size_t size, std::size_t offset,
                PhysicalHandle handle, unsigned long long flags) {
  Call call(Entry::cuMemMap);
  call.Argument("pointer", pointer)
      .Argument("size", size)
      .Argument("offset", offset)
      .Argument("handle", handle)
      .Argument("flags", flags);
  return call.Run([&](Driver& driver) -> Result {
    Range* range = FindReservation(driver, pointer, size);
    const auto found = driver.physical_allocations.find(handle);
    if (found == driver.physical_allocations.end()) {
      call.Die("the handle " + std::to_string(handle) +
               " is no memory of cuMemCreate");
    }
    const PhysicalAllocation& allocation = found->second;
    // Seen on driver 580: memory is mapped as a whole or not at all.
    if (offset != 0 || size != allocation.memory->size() ||
        !IsGranular(pointer)) {
      return abi::kErrorNotSupported;
    }
    if (range == nullptr || flags != 0) return abi::kErrorInvalidValue;
    if (!HasNoMapping(*range, pointer, size)) return abi::kErrorInvalidValue;
    if (!allocation.memory->MapAt(pointer, offset, size, PROT_NONE)) {
      return abi::kErrorOutOfMemory;
    }
    Mapping& mapping = range->mappings[pointer];
    mapping.base = pointer;
    mapping.size = size;
    mapping.offset = offset;
    mapping.memory = allocation.memory;
    mapping.device = allocation.device;
    return abi::kSuccess;
  });
}

Result cuMemUnmap(DevicePointer pointer, std::size_t size) {
  Call call(Entry::cuMemUnmap);
  call.Argument("pointer", pointer).Argument("size", size);
  return call.Run([&](Driver& driver) -> Result {
    Range* range = FindReservation(driver, pointer, size);
    if (range == nullptr) return abi::kErrorInvalidValue;
    // Seen on driver 580: unmapping what is not mapped succeeds.
    if (HasNoMapping(*range, pointer, size)) return abi::kSuccess;
    const std::vector<Mapping*> mappings = MappingsOf(range, pointer, size);
    if (mappings.empty()) return abi::kErrorInvalidValue;
    AddressSpace::Vanish(pointer, size);
    for (const Mapping* mapping : mappings) {
      const std::uint64_t base = mapping->base;
      range->mappings.erase(base);
    }
    return abi::kSuccess;
  });
}

Result cuMemSetAccess(DevicePointer pointer, std::size_t size,
                      const MemAccessDescriptor* descriptors,
                      std::size_t count) {
  Call call(Entry::cuMemSetAccess);
  call.Argument("pointer", pointer)
      .Argument("size", size)
      .Argument("descriptors", descriptors)
      .Argument("count", count);
  return call.Run([&](Driver& driver) -> Result {
    Range* range = FindReservation(driver, pointer, size);
    if (range == nullptr || descriptors == nullptr || count == 0) {
      return abi::kErrorInvalidValue;
    }
    const std::vector<Mapping*> mappings = MappingsOf(range, pointer, size);
    if (mappings.empty()) return abi::kErrorInvalidValue;
    for (std::size_t i = 0; i < count; ++i) {
      const MemAccessDescriptor& descriptor = descriptors[i];
      if (descriptor.location.type != abi::kMemLocationTypeDevice ||
          !IsDevice(driver, descriptor.location.id) ||
          (descriptor.flags != kMemAccessNone &&
           descriptor.flags != kMemAccessRead &&
           descriptor.flags != kMemAccessReadWrite)) {
        return abi::kErrorInvalidValue;
      }
    }
    for (Mapping* mapping : mappings) {
      for (std::size_t i = 0; i < count; ++i) {
        mapping->access[descriptors[i].location.id] = descriptors[i].flags;
      }
    }
    return abi::kSuccess;
  });
}

Result cuMemGetAccess(unsigned long long* flags,
                      const abi::MemLocation* location, DevicePointer pointer) {
  Call call(Entry::cuMemGetAccess);
  call.Argument("flags", flags)
      .Argument("location", location)
      .Argument("pointer", pointer);
  return call.Run([&](Driver& driver) -> Result {
    Range* range = FindReservation(driver, pointer, 1);
    if (flags == nullptr || location == nullptr || range == nullptr) {
      return abi::kErrorInvalidValue;
    }
    const Mapping* mapping = range->FindMapping(pointer);
    if (mapping == nullptr || location->type != abi::kMemLocationTypeDevice ||
        !IsDevice(driver, location->id)) {
      return abi::kErrorInvalidValue;
    }
    *flags = static_cast<unsigned long long>(mapping->AccessOf(location->id));
    call.Output("flags", *flags);
    return abi::kSuccess;
  });
}

}  // extern "C"

}  // namespace kvswap::sim
