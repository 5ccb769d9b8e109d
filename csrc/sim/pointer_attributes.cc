// What the driver tells about a pointer.

#include <cstring>
#include <memory>
#include <string>

#include "csrc/sim/call.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/reach.h"

namespace kvswap::sim {
namespace {

// The ordinal that stands for "not CUDA's memory".
constexpr int kNoDevice = -2;

// Everything there is to tell. The initial values are what unknown memory gets.
struct Description {
  bool known = false;
  ContextHandle context = nullptr;
  unsigned memory_type = 0;
  DevicePointer device_pointer = 0;
  std::uint64_t host_pointer = 0;
  unsigned long long buffer_id = 0;
  int is_managed = 0;
  int device = kNoDevice;
  DevicePointer range_start = 0;
  std::size_t range_size = 0;
  int mapped = 0;
  int access_flags = kMemAccessNone;
  std::size_t mapping_size = 0;
  DevicePointer mapping_base = 0;
};

// The access flags. Except for mappings they do not depend on who asks: whether
// the current context reaches the memory at all is in the device pointer.
int AccessFrom(const Context* current, const Range& range,
               const Mapping* mapping) {
  if (mapping != nullptr) {
    return current == nullptr ? kMemAccessNone
                              : mapping->AccessOf(current->device);
  }
  if (range.kind == RangeKind::kRegistered &&
      (range.flags & kHostRegisterReadOnly) != 0) {
    return kMemAccessRead;
  }
  return kMemAccessReadWrite;
}

// The memory behind a range comes in units of the driver's own.
void DescribeMapping(const Range& range, const Mapping* mapping,
                     Description* description) {
  constexpr std::size_t kPoolUnit = std::size_t{32} << 20;
  description->mapping_base = description->range_start;
  switch (range.kind) {
    case RangeKind::kReservation:
      description->mapping_base = mapping->base;
      description->mapping_size = mapping->size;
      break;
    case RangeKind::kRegistered: {
      const std::size_t before = description->range_start % kPageSize;
      description->mapping_base -= before;
      description->mapping_size = RoundUp(before + range.size, kPageSize);
      break;
    }
    case RangeKind::kPool:
      description->mapping_size = RoundUp(range.size, kPoolUnit);
      break;
    case RangeKind::kDevice:
    case RangeKind::kManaged:
    case RangeKind::kPinned:
      description->mapping_size = RoundUp(range.size, kMappingGranularity);
      break;
  }
}

Description Describe(Driver& driver, DevicePointer pointer) {
  Description description;
  // Also of memory that CUDA does not know, the host may have something there.
  description.host_pointer = pointer;
  const Range* range = driver.addresses.Find(pointer);
  if (range == nullptr) return description;
  const bool by_host = pointer >= range->base && pointer < range->end();
  const std::uint64_t offset =
      pointer - (by_host ? range->base : range->device_base);
  description.range_start = by_host ? range->base : range->device_base;
  description.range_size = range->size;
  const Mapping* mapping = range->FindMapping(pointer);
  // An address that is only reserved has a range and nothing else.
  if (range->kind == RangeKind::kReservation && mapping == nullptr) {
    return description;
  }

  description.known = true;
  if (range->context != nullptr) {
    description.context = static_cast<ContextHandle>(range->context->handle);
  }
  description.memory_type =
      range->IsHost() ? abi::kMemoryTypeHost : abi::kMemoryTypeDevice;
  description.buffer_id = range->id;
  description.is_managed = range->kind == RangeKind::kManaged ? 1 : 0;
  description.device = mapping != nullptr ? mapping->device : range->device;
  description.mapped = 1;
  DescribeMapping(*range, mapping, &description);
  description.host_pointer =
      range->IsHost() || range->kind == RangeKind::kManaged
          ? range->base + offset
          : 0;
  std::shared_ptr<Context> current = driver.Current();
  if (current != nullptr && !current->alive) current = nullptr;
  description.access_flags = AccessFrom(current.get(), *range, mapping);
  if (current != nullptr && Reaches(*current, *range, mapping)) {
    description.device_pointer = range->device_base + offset;
  }
  return description;
}

template <typename Value>
void Write(void* to, const Value& value) {
  std::memcpy(to, &value, sizeof value);
}

// The CUDA version that brought an attribute; 0 for one that is not simulated.
int FirstVersion(int attribute) {
  switch (attribute) {
    case abi::kPointerAttributeContext:
    case abi::kPointerAttributeMemoryType:
    case abi::kPointerAttributeDevicePointer:
    case abi::kPointerAttributeHostPointer:
    case kPointerAttributeBufferId:
    case abi::kPointerAttributeIsManaged:
    case kPointerAttributeSyncMemops:
    case abi::kPointerAttributeDeviceOrdinal:
    case kPointerAttributeIsLegacyIpcCapable:
    case abi::kPointerAttributeRangeStartAddress:
    case abi::kPointerAttributeRangeSize:
    case abi::kPointerAttributeMapped:
    case kPointerAttributeAllowedHandleTypes:
    case kPointerAttributeIsRdmaCapable:
    case abi::kPointerAttributeAccessFlags:
    case kPointerAttributeMempoolHandle:
      return 11000;
    case abi::kPointerAttributeMappingSize:
    case abi::kPointerAttributeMappingBaseAddress:
    case kPointerAttributeMemoryBlockId:
      return 12000;
    case kPointerAttributeIsDecompressCapable:
      return 12080;
    default:
      return 0;
  }
}

bool IsAttribute(const Driver& driver, int attribute) {
  const int first = FirstVersion(attribute);
  return first != 0 && driver.version >= first;
}

// Writes one attribute that IsAttribute knows.
void WriteAttribute(const Description& description, int attribute,
                    void* value) {
  switch (attribute) {
    case abi::kPointerAttributeContext:
      return Write(value, description.context);
    case abi::kPointerAttributeMemoryType:
      return Write(value, description.memory_type);
    case abi::kPointerAttributeDevicePointer:
      return Write(value, description.device_pointer);
    case abi::kPointerAttributeHostPointer:
      return Write(value, description.host_pointer);
    case kPointerAttributeBufferId:
    case kPointerAttributeMemoryBlockId:
      return Write(value, description.buffer_id);
    case abi::kPointerAttributeIsManaged:
      return Write(value, description.is_managed);
    case abi::kPointerAttributeDeviceOrdinal:
      return Write(value, description.device);
    case abi::kPointerAttributeRangeStartAddress:
      return Write(value, description.range_start);
    case abi::kPointerAttributeRangeSize:
      return Write(value, description.range_size);
    case abi::kPointerAttributeMapped:
      return Write(value, description.mapped);
    case abi::kPointerAttributeAccessFlags:
      return Write(value, description.access_flags);
    case kPointerAttributeMempoolHandle:
      return Write(value, static_cast<void*>(nullptr));
    case abi::kPointerAttributeMappingSize:
      return Write(value, description.mapping_size);
    case abi::kPointerAttributeMappingBaseAddress:
      return Write(value, description.mapping_base);
    case kPointerAttributeSyncMemops:
    case kPointerAttributeIsLegacyIpcCapable:
    case kPointerAttributeAllowedHandleTypes:
    case kPointerAttributeIsRdmaCapable:
    case kPointerAttributeIsDecompressCapable:
      return Write(value, 0);
    default:
      return;
  }
}

}  // namespace

extern "C" {

Result cuPointerGetAttribute(void* value, int attribute,
                             DevicePointer pointer) {
  Call call(Entry::cuPointerGetAttribute);
  call.Argument("value", value)
      .Argument("attribute", attribute)
      .Argument("pointer", pointer);
  return call.Run([&](Driver& driver) -> Result {
    if (value == nullptr || !IsAttribute(driver, attribute)) {
      return abi::kErrorInvalidValue;
    }
    const Description description = Describe(driver, pointer);
    // Unlike the call for several attributes, this one refuses what it does not
    // know.
    if (!description.known) return abi::kErrorInvalidValue;
    if (attribute == abi::kPointerAttributeDevicePointer &&
        description.device_pointer == 0) {
      return driver.Current() == nullptr ? abi::kErrorInvalidContext
                                         : abi::kErrorInvalidValue;
    }
    if (attribute == abi::kPointerAttributeHostPointer &&
        description.host_pointer == 0) {
      return abi::kErrorInvalidValue;
    }
    WriteAttribute(description, attribute, value);
    return abi::kSuccess;
  });
}

Result cuPointerGetAttributes(unsigned attribute_count,
                              PointerAttribute* attributes, void** values,
                              DevicePointer pointer) {
  Call call(Entry::cuPointerGetAttributes);
  call.Argument("attribute_count", attribute_count)
      .Array("attributes", reinterpret_cast<int*>(attributes), attribute_count)
      .Argument("values", values)
      .Argument("pointer", pointer);
  return call.Run([&](Driver& driver) -> Result {
    if (attribute_count == 0 || attributes == nullptr || values == nullptr) {
      return abi::kErrorInvalidValue;
    }
    for (unsigned i = 0; i < attribute_count; ++i) {
      if (!IsAttribute(driver, attributes[i])) {
        call.Note("attribute " + std::to_string(attributes[i]) +
                  " is not known to this driver");
        return abi::kErrorInvalidValue;
      }
    }
    const Description description = Describe(driver, pointer);
    for (unsigned i = 0; i < attribute_count; ++i) {
      WriteAttribute(description, attributes[i], values[i]);
    }
    return abi::kSuccess;
  });
}

}  // extern "C"

}  // namespace kvswap::sim
