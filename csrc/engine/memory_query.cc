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

}  // namespace

int QueryRange(const driver::DriverTable& table, std::uint64_t address,
               MemoryRange* range) {
  unsigned int memory_type = 0;
  int is_managed = 0;
  int device = -1;
  abi::DevicePointer range_start = 0;
  std::size_t range_size = 0;
  abi::DevicePointer mapping_start = 0;
  std::size_t mapping_size = 0;
  abi::DevicePointer device_pointer = 0;
  unsigned int access = abi::kMemoryAccessNone;
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
  void* values[] = {&memory_type,  &is_managed,     &device,
                    &range_start,  &range_size,     &mapping_start,
                    &mapping_size, &device_pointer, &access};
  constexpr unsigned int kCount = sizeof(attributes) / sizeof(attributes[0]);
  const unsigned int count =
      table.version >= kLastAttributesSince ? kCount : kCount - kLastAttributes;
  const abi::Result code =
      table.PointerGetAttributes(count, attributes, values, address);
  if (code != abi::kSuccess) return code;

  *range = MemoryRange();
  range->start = address;
  range->end = address;
  if (memory_type == 0) {
    range->kind = KVSWAP_MEMORY_PAGEABLE;
    return abi::kSuccess;
  }
  range->kind = is_managed != 0                       ? KVSWAP_MEMORY_MANAGED
                : memory_type == abi::kMemoryTypeHost ? KVSWAP_MEMORY_PINNED
                                                      : KVSWAP_MEMORY_DEVICE;
  range->device = device;
  if (device_pointer == address) {
    range->kernel_reads = (access & abi::kMemoryAccessRead) != 0;
    range->kernel_writes =
        (access & abi::kMemoryAccessReadWrite) == abi::kMemoryAccessReadWrite;
  }
  if (range_size == 0) return abi::kSuccess;
  // The range is the whole allocation, or for virtual memory the whole
  // reservation, mapped or not. It can consist of several mappings (a
  // reservation, a large allocation of a memory pool), and a mapping can hold
  // several ranges (small allocations): what is known is where both overlap.
  const std::uint64_t range_end = range_start + range_size;
  range->start = range_start;
  range->end = range_end;
  if (mapping_size != 0) {
    range->start = std::max(range_start, mapping_start);
    range->end = std::min(range_end, mapping_start + mapping_size);
  }
  range->continues = range->end < range_end;
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
