// Allocation of device, host and managed memory.

#include <algorithm>
#include <memory>

#include "csrc/sim/address_space.h"
#include "csrc/sim/call.h"
#include "csrc/sim/captures.h"
#include "csrc/sim/contexts.h"
#include "csrc/sim/driver_functions.h"

namespace kvswap::sim {
namespace {

// New memory of the current context.
Result Allocate(Driver& driver, RangeKind kind, std::size_t size,
                unsigned flags, DevicePointer* pointer) {
  if (pointer == nullptr || size == 0) return abi::kErrorInvalidValue;
  std::shared_ptr<Context> context;
  Result result = CurrentContext(driver, &context);
  if (result != abi::kSuccess) return result;
  result = RefuseUnsafeCall(driver);
  if (result != abi::kSuccess) return result;
  if (kind != RangeKind::kPinned &&
      (size > kDeviceMemory ||
       driver.addresses.BytesOnDevice(context->device) + size >
           kDeviceMemory)) {
    return abi::kErrorOutOfMemory;
  }
  Range* range = driver.addresses.Allocate(kind, size);
  if (range == nullptr) return abi::kErrorOutOfMemory;
  range->context = context;
  range->device = context->device;
  range->flags = flags;
  *pointer = range->base;
  return abi::kSuccess;
}

Result AllocateHost(Driver& driver, Call* call, void** pointer,
                    std::size_t size, unsigned flags) {
  if (pointer == nullptr || (flags & ~kHostAllocFlagsKnown) != 0) {
    return abi::kErrorInvalidValue;
  }
  if (size == 0) {
    *pointer = nullptr;
    return abi::kSuccess;
  }
  DevicePointer address = 0;
  const Result result =
      Allocate(driver, RangeKind::kPinned, size, flags, &address);
  if (result != abi::kSuccess) return result;
  *pointer = reinterpret_cast<void*>(address);
  call->Output("pointer", *pointer);
  return abi::kSuccess;
}

}  // namespace

extern "C" {

Result cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  Call call(Entry::cuMemGetInfo_v2);
  call.Argument("free_bytes", free_bytes).Argument("total_bytes", total_bytes);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Context> context;
    const Result result = CurrentContext(driver, &context);
    if (result != abi::kSuccess) return result;
    const std::size_t used = driver.addresses.BytesOnDevice(context->device);
    if (total_bytes != nullptr) *total_bytes = kDeviceMemory;
    if (free_bytes != nullptr) {
      *free_bytes = kDeviceMemory - std::min(used, kDeviceMemory);
    }
    return abi::kSuccess;
  });
}

Result cuMemAlloc_v2(DevicePointer* pointer, std::size_t size) {
  Call call(Entry::cuMemAlloc_v2);
  call.Argument("pointer", pointer).Argument("size", size);
  return call.Run([&](Driver& driver) -> Result {
    const Result result =
        Allocate(driver, RangeKind::kDevice, size, 0, pointer);
    if (result == abi::kSuccess) call.Output("pointer", *pointer);
    return result;
  });
}

Result cuMemAllocManaged(DevicePointer* pointer, std::size_t size,
                         unsigned flags) {
  Call call(Entry::cuMemAllocManaged);
  call.Argument("pointer", pointer)
      .Argument("size", size)
      .Argument("flags", flags);
  return call.Run([&](Driver& driver) -> Result {
    if (flags != kMemAttachGlobal && flags != kMemAttachHost) {
      return abi::kErrorInvalidValue;
    }
    const Result result =
        Allocate(driver, RangeKind::kManaged, size, flags, pointer);
    if (result == abi::kSuccess) call.Output("pointer", *pointer);
    return result;
  });
}

Result cuMemFree_v2(DevicePointer pointer) {
  Call call(Entry::cuMemFree_v2);
  call.Argument("pointer", pointer);
  return call.Run([&](Driver& driver) -> Result {
    if (pointer == 0) return abi::kSuccess;
    Range* range = driver.addresses.FindBase(pointer);
    if (range == nullptr || range->IsHost() ||
        range->kind == RangeKind::kReservation) {
      return abi::kErrorInvalidValue;
    }
    const Result result = RefuseUnsafeCall(driver);
    if (result != abi::kSuccess) return result;
    // A real driver may wait for work in flight here. This one does not: a
    // program must not count on it.
    driver.addresses.Remove(range);
    return FailureOfCurrent(driver);
  });
}

Result cuMemGetAddressRange_v2(DevicePointer* base, std::size_t* size,
                               DevicePointer pointer) {
  Call call(Entry::cuMemGetAddressRange_v2);
  call.Argument("base", base)
      .Argument("size", size)
      .Argument("pointer", pointer);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Context> context;
    const Result result = CurrentContext(driver, &context);
    if (result != abi::kSuccess) return result;
    const Range* range = driver.addresses.Find(pointer);
    if (range == nullptr) return abi::kErrorNotFound;
    std::uint64_t found_base = range->device_base;
    std::size_t found_size = range->size;
    if (range->kind == RangeKind::kReservation) {
      const Mapping* mapping = range->FindMapping(pointer);
      if (mapping == nullptr ||
          mapping->AccessOf(context->device) == kMemAccessNone) {
        return abi::kErrorNotFound;
      }
      found_base = mapping->base;
      found_size = mapping->size;
    }
    if (base != nullptr) *base = found_base;
    if (size != nullptr) *size = found_size;
    return abi::kSuccess;
  });
}

Result cuMemAllocHost_v2(void** pointer, std::size_t size) {
  Call call(Entry::cuMemAllocHost_v2);
  call.Argument("pointer", pointer).Argument("size", size);
  return call.Run([&](Driver& driver) {
    return AllocateHost(driver, &call, pointer, size, 0);
  });
}

Result cuMemHostAlloc(void** pointer, std::size_t size, unsigned flags) {
  Call call(Entry::cuMemHostAlloc);
  call.Argument("pointer", pointer)
      .Argument("size", size)
      .Argument("flags", flags);
  return call.Run([&](Driver& driver) {
    return AllocateHost(driver, &call, pointer, size, flags);
  });
}

Result cuMemFreeHost(void* pointer) {
  Call call(Entry::cuMemFreeHost);
  call.Argument("pointer", pointer);
  return call.Run([&](Driver& driver) -> Result {
    if (pointer == nullptr) return abi::kSuccess;
    Range* range =
        driver.addresses.FindBase(reinterpret_cast<std::uint64_t>(pointer));
    if (range == nullptr || range->kind != RangeKind::kPinned) {
      return abi::kErrorInvalidValue;
    }
    const Result result = RefuseUnsafeCall(driver);
    if (result != abi::kSuccess) return result;
    driver.addresses.Remove(range);
    return FailureOfCurrent(driver);
  });
}

Result cuMemHostGetDevicePointer_v2(DevicePointer* device_pointer,
                                    void* pointer, unsigned flags) {
  Call call(Entry::cuMemHostGetDevicePointer_v2);
  call.Argument("device_pointer", device_pointer)
      .Argument("pointer", pointer)
      .Argument("flags", flags);
  return call.Run([&](Driver& driver) -> Result {
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    std::shared_ptr<Context> context;
    const Result result = CurrentContext(driver, &context);
    if (result != abi::kSuccess) return result;
    const Range* range = driver.addresses.Find(address);
    if (device_pointer == nullptr || flags != 0 || range == nullptr ||
        !range->IsHost()) {
      return abi::kErrorInvalidValue;
    }
    *device_pointer = range->device_base + (address - range->base);
    call.Output("device_pointer", *device_pointer);
    return abi::kSuccess;
  });
}

Result cuMemHostGetFlags(unsigned* flags, void* pointer) {
  Call call(Entry::cuMemHostGetFlags);
  call.Argument("flags", flags).Argument("pointer", pointer);
  return call.Run([&](Driver& driver) -> Result {
    const Range* range =
        driver.addresses.Find(reinterpret_cast<std::uint64_t>(pointer));
    if (flags == nullptr || range == nullptr || !range->IsHost()) {
      return abi::kErrorInvalidValue;
    }
    *flags = range->flags;
    return abi::kSuccess;
  });
}

}  // extern "C"

}  // namespace kvswap::sim
