#include "csrc/engine/memory_query.h"

#include <algorithm>

#include "csrc/engine/host_memory.h"

namespace kvswap::engine {
namespace {

// Drivers before this version refuse the attributes of mappings, and have no
// kernel engine that would ask about access.
constexpr int kLastAttributesSince = 12000;
constexpr unsigned kLastAttributes = 4;

std::uint64_t Address(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// What the driver writes for an address.
struct Answers {
  unsigned int memory_type = 0;
  int device = -1;
  abi::DevicePointer mapping_start = 0;
  std::size_t mapping_size = 0;
  abi::DevicePointer device_pointer = 0;
  unsigned int access = abi::kMemoryAccessNone;
};

MemoryRange RangeOf(const Answers& answers, bool is_managed,
                    const Allocation& allocation, std::uint64_t address) {
  MemoryRange range;
  range.start = address;
  range.end = address;
  if (answers.memory_type == 0) {
    range.kind = KVSWAP_MEMORY_PAGEABLE;
    return range;
  }
  range.kind = is_managed ? KVSWAP_MEMORY_MANAGED
               : answers.memory_type == abi::kMemoryTypeHost
                   ? KVSWAP_MEMORY_PINNED
                   : KVSWAP_MEMORY_DEVICE;
  range.device = answers.device;
  if (answers.device_pointer == address) {
    range.kernel_reads = (answers.access & abi::kMemoryAccessRead) != 0;
    range.kernel_writes = (answers.access & abi::kMemoryAccessReadWrite) ==
                          abi::kMemoryAccessReadWrite;
  }
  if (allocation.start == allocation.end) return range;
  // The range is the whole allocation, or for virtual memory the whole
  // reservation, mapped or not. It can consist of several mappings (a
  // reservation, a large allocation of a memory pool), and a mapping can hold
  // several ranges (small allocations): what is known is where both overlap.
  range.allocation = allocation;
  range.start = allocation.start;
  range.end = allocation.end;
  if (answers.mapping_size != 0) {
    range.start = std::max(allocation.start, answers.mapping_start);
    range.end =
        std::min(allocation.end, answers.mapping_start + answers.mapping_size);
  }
  range.continues = range.end < allocation.end;
  return range;
}

}  // namespace

int QueryRange(const driver::DriverTable& table, std::uint64_t address,
               MemoryRange* range) {
  Answers answers;
  int is_managed = 0;
  abi::DevicePointer range_start = 0;
  std::size_t range_size = 0;
  abi::PointerAttribute attributes[] = {
      abi::kPointerAttributeMemoryType,
      abi::kPointerAttributeIsManaged,
      abi::kPointerAttributeDeviceOrdinal,
      abi::kPointerAttributeRangeStartAddress,
      abi::kPointerAttributeRangeSize,
      abi::kPointerAttributeMappingBaseAddress,
      abi::kPointerAttributeMappingSize,
      abi::kPointerAttributeDevicePointer,
      abi::kPointerAttributeAccessFlags,
  };
  void* values[] = {&answers.memory_type,  &is_managed,
                    &answers.device,       &range_start,
                    &range_size,           &answers.mapping_start,
                    &answers.mapping_size, &answers.device_pointer,
                    &answers.access};
  constexpr unsigned int kCount = sizeof(attributes) / sizeof(attributes[0]);
  const unsigned int count =
      table.version >= kLastAttributesSince ? kCount : kCount - kLastAttributes;
  const abi::Result code =
      table.PointerGetAttributes(count, attributes, values, address);
  if (code != abi::kSuccess) return code;
  const Allocation allocation = {
      range_start, range_start + range_size,
      answers.mapping_size != 0 && answers.mapping_size < range_size};
  *range = RangeOf(answers, is_managed != 0, allocation, address);
  return abi::kSuccess;
}

int QueryMapping(const driver::DriverTable& table, std::uint64_t address,
                 const Allocation& allocation, MemoryRange* range) {
  Answers answers;
  abi::PointerAttribute attributes[] = {
      abi::kPointerAttributeMemoryType,
      abi::kPointerAttributeDeviceOrdinal,
      abi::kPointerAttributeMappingBaseAddress,
      abi::kPointerAttributeMappingSize,
      abi::kPointerAttributeDevicePointer,
      abi::kPointerAttributeAccessFlags,
  };
  void* values[] = {&answers.memory_type,    &answers.device,
                    &answers.mapping_start,  &answers.mapping_size,
                    &answers.device_pointer, &answers.access};
  const abi::Result code = table.PointerGetAttributes(
      sizeof(attributes) / sizeof(attributes[0]), attributes, values, address);
  if (code != abi::kSuccess) return code;
  // Managed memory has no mappings.
  *range = RangeOf(answers, false, allocation, address);
  return abi::kSuccess;
}

namespace {

kvswap_memory LookAt(const driver::DriverTable& table, const void* pointer,
                     std::size_t size) {
  kvswap_memory memory = {KVSWAP_MEMORY_UNKNOWN, -1, 0, 0};
  MemoryRange range;
  if (QueryRange(table, Address(pointer), &range) != abi::kSuccess) {
    return memory;
  }
  memory.kind = range.kind;
  if (range.kind != KVSWAP_MEMORY_PAGEABLE) {
    memory.device = range.device;
    memory.range_start = range.start;
    memory.range_size = range.end - range.start;
  } else if (FirstUnreadableByte(Address(pointer), size).has_value()) {
    memory.kind = KVSWAP_MEMORY_NONE;
  }
  return memory;
}

}  // namespace

void BlameCopy(const driver::DriverTable& table, const Copies& copies,
               std::size_t number, kvswap_result* report) {
  copies.Locate(number, report);
  const Copy copy = copies.At(number);
  report->source = copy.source;
  report->destination = copy.destination;
  report->size = copy.size;
  report->source_memory = LookAt(table, report->source, report->size);
  report->destination_memory = LookAt(table, report->destination, report->size);
}

int FirstDevice(const driver::DriverTable& table,
                const Descriptors& descriptors) {
  if (!table.Usable()) return -1;
  // Host memory lies in few ranges, which need not be asked about again.
  MemoryRange host[2];
  for (std::size_t i = 0; i < descriptors.count; ++i) {
    if (descriptors.sizes[i] == 0) continue;
    const std::uint64_t addresses[] = {Address(descriptors.sources[i]),
                                       Address(descriptors.destinations[i])};
    for (int side = 0; side < 2; ++side) {
      if (host[side].Contains(addresses[side], 1)) continue;
      if (QueryRange(table, addresses[side], &host[side]) != abi::kSuccess) {
        return -1;
      }
      if (host[side].kind == KVSWAP_MEMORY_DEVICE) return host[side].device;
    }
  }
  return -1;
}

}  // namespace kvswap::engine
