// Registration of the user's own host memory.

#include <memory>

#include "csrc/sim/call.h"
#include "csrc/sim/captures.h"
#include "csrc/sim/contexts.h"
#include "csrc/sim/devices.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/host_memory.h"

namespace kvswap::sim {
namespace {

// Whether a device that the process can see needs an address of its own for
// registered memory.
bool NeedsSeparateDeviceAddress(const Driver& driver) {
  for (std::size_t i = 0; i < driver.devices.size(); ++i) {
    if (DeviceAttribute(driver, static_cast<Device>(i),
                        kDeviceAttributeCanUseHostPointerForRegistered) == 0) {
      return true;
    }
  }
  return false;
}

Result Register(Driver& driver, void* pointer, std::size_t size,
                unsigned flags) {
  const auto base = reinterpret_cast<std::uint64_t>(pointer);
  if (pointer == nullptr || size == 0 || base + size < base ||
      (flags & ~kHostRegisterFlagsKnown) != 0) {
    return abi::kErrorInvalidValue;
  }
  std::shared_ptr<Context> context;
  Result result = CurrentContext(driver, &context);
  if (result != abi::kSuccess) return result;
  result = RefuseUnsafeCall(driver);
  if (result != abi::kSuccess) return result;
  const bool read_only = (flags & kHostRegisterReadOnly) != 0;
  if (read_only && DeviceAttribute(driver, context->device,
                                   kDeviceAttributeReadOnlyHostRegister) == 0) {
    return abi::kErrorNotSupported;
  }
  for (const Range* other : driver.addresses.Overlapping(base, size)) {
    return other->kind == RangeKind::kRegistered
               ? abi::kErrorHostMemoryAlreadyRegistered
               : abi::kErrorInvalidValue;
  }
  HostMemoryMap host_memory;
  if (!host_memory.Accessible(base, size,
                              read_only ? Access::kRead : Access::kWrite)) {
    return abi::kErrorInvalidValue;
  }
  Range* range =
      driver.addresses.Register(base, size, NeedsSeparateDeviceAddress(driver));
  if (range == nullptr) return abi::kErrorOutOfMemory;
  range->context = context;
  range->device = context->device;
  range->flags = flags;
  return abi::kSuccess;
}

}  // namespace

extern "C" {

Result cuMemHostRegister_v2(void* pointer, std::size_t size, unsigned flags) {
  Call call(Entry::cuMemHostRegister_v2);
  call.Argument("pointer", pointer)
      .Argument("size", size)
      .Argument("flags", flags);
  return call.Run(
      [&](Driver& driver) { return Register(driver, pointer, size, flags); });
}

Result cuMemHostUnregister(void* pointer) {
  Call call(Entry::cuMemHostUnregister);
  call.Argument("pointer", pointer);
  return call.Run([&](Driver& driver) -> Result {
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    Range* range = driver.addresses.Find(address);
    if (pointer == nullptr) return abi::kErrorInvalidValue;
    if (range == nullptr) return abi::kErrorHostMemoryNotRegistered;
    if (range->kind != RangeKind::kRegistered || range->base != address) {
      return abi::kErrorInvalidValue;
    }
    const Result result = RefuseUnsafeCall(driver);
    if (result != abi::kSuccess) return result;
    driver.addresses.Remove(range);
    return FailureOfCurrent(driver);
  });
}

}  // extern "C"

}  // namespace kvswap::sim
