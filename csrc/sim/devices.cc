#include "csrc/sim/devices.h"

#include <cstdio>
#include <cstring>

#include "csrc/sim/call.h"
#include "csrc/sim/driver_functions.h"

namespace kvswap::sim {

namespace {

// Of a block, at most, by compute capability. Source: CUDA C++ Programming
// Guide, "Compute Capabilities", technical specifications.
int MaxSharedMemory(int capability) {
  constexpr int kKibi = 1024;
  switch (capability) {
    case 75:
      return 64 * kKibi;
    case 80:
    case 87:
      return 163 * kKibi;
    case 86:
    case 89:
    case 120:
    case 121:
      return 99 * kKibi;
    default:
      return capability < 80 ? 96 * kKibi : 227 * kKibi;
  }
}

}  // namespace

std::map<int, int> PresetDeviceAttributes() {
  // An H200's values where a program might look.
  return {
      {1, 1024},        // MAX_THREADS_PER_BLOCK
      {2, 1024},        // MAX_BLOCK_DIM_X
      {5, 2147483647},  // MAX_GRID_DIM_X
      {kDeviceAttributeMaxSharedMemory, 49152},
      {10, 32},    // WARP_SIZE
      {16, 132},   // MULTIPROCESSOR_COUNT
      {19, 1},     // CAN_MAP_HOST_MEMORY
      {31, 1},     // CONCURRENT_KERNELS
      {39, 2048},  // MAX_THREADS_PER_MULTIPROCESSOR
      {40, 3},     // ASYNC_ENGINE_COUNT
      {41, 1},     // UNIFIED_ADDRESSING
      {kDeviceAttributeCapabilityMajor, 9},
      {kDeviceAttributeCapabilityMinor, 0},
      {78, 1},  // STREAM_PRIORITIES_SUPPORTED
      {83, 1},  // MANAGED_MEMORY
      {kDeviceAttributePageableMemoryAccess, 0},
      {89, 1},  // CONCURRENT_MANAGED_ACCESS
      {kDeviceAttributeCanUseHostPointerForRegistered, 1},
      {kDeviceAttributeMaxSharedMemoryOptin, 232448},
      {99, 1},   // HOST_REGISTER_SUPPORTED
      {100, 0},  // PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
      {102, 1},  // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
      {kDeviceAttributeReadOnlyHostRegister, 1},
      {115, 1},  // MEMORY_POOLS_SUPPORTED
  };
}

void SetComputeCapability(DeviceState* device, int capability) {
  device->attributes[kDeviceAttributeCapabilityMajor] = capability / 10;
  device->attributes[kDeviceAttributeCapabilityMinor] = capability % 10;
  device->attributes[kDeviceAttributeMaxSharedMemoryOptin] =
      MaxSharedMemory(capability);
}

int ComputeCapability(const Driver& driver, Device device) {
  return DeviceAttribute(driver, device, kDeviceAttributeCapabilityMajor) * 10 +
         DeviceAttribute(driver, device, kDeviceAttributeCapabilityMinor);
}

bool IsDevice(const Driver& driver, Device device) {
  return device >= 0 &&
         static_cast<std::size_t>(device) < driver.devices.size();
}

int DeviceAttribute(const Driver& driver, Device device, int attribute) {
  const std::map<int, int>& attributes =
      driver.devices[static_cast<std::size_t>(device)].attributes;
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? 0 : found->second;
}

namespace {

Result WriteUuid(Driver& driver, Uuid* uuid, Device device) {
  if (uuid == nullptr) return abi::kErrorInvalidValue;
  if (!IsDevice(driver, device)) return abi::kErrorInvalidDevice;
  std::memset(uuid->bytes, 0, sizeof uuid->bytes);
  std::snprintf(uuid->bytes, sizeof uuid->bytes, "simulated %d", device);
  return abi::kSuccess;
}

}  // namespace

extern "C" {

Result cuDeviceGet(Device* device, int ordinal) {
  Call call(Entry::cuDeviceGet);
  call.Argument("device", device).Argument("ordinal", ordinal);
  return call.Run([&](Driver& driver) -> Result {
    if (device == nullptr) return abi::kErrorInvalidValue;
    if (!IsDevice(driver, ordinal)) return abi::kErrorInvalidDevice;
    *device = ordinal;
    call.Output("device", *device);
    return abi::kSuccess;
  });
}

Result cuDeviceGetCount(int* count) {
  Call call(Entry::cuDeviceGetCount);
  call.Argument("count", count);
  return call.Run([&](Driver& driver) -> Result {
    if (count == nullptr) return abi::kErrorInvalidValue;
    *count = static_cast<int>(driver.devices.size());
    call.Output("count", *count);
    return abi::kSuccess;
  });
}

Result cuDeviceGetName(char* name, int length, Device device) {
  Call call(Entry::cuDeviceGetName);
  call.Argument("name", name)
      .Argument("length", length)
      .Argument("device", device);
  return call.Run([&](Driver& driver) -> Result {
    if (name == nullptr || length <= 0) return abi::kErrorInvalidValue;
    if (!IsDevice(driver, device)) return abi::kErrorInvalidDevice;
    std::snprintf(name, static_cast<std::size_t>(length),
                  "Simulated CUDA device %d", device);
    return abi::kSuccess;
  });
}

Result cuDeviceGetUuid(Uuid* uuid, Device device) {
  Call call(Entry::cuDeviceGetUuid);
  call.Argument("uuid", uuid).Argument("device", device);
  return call.Run([&](Driver& driver) -> Result {
    return WriteUuid(driver, uuid, device);
  });
}

Result cuDeviceGetUuid_v2(Uuid* uuid, Device device) {
  Call call(Entry::cuDeviceGetUuid_v2);
  call.Argument("uuid", uuid).Argument("device", device);
  return call.Run([&](Driver& driver) -> Result {
    return WriteUuid(driver, uuid, device);
  });
}

Result cuDeviceTotalMem_v2(std::size_t* bytes, Device device) {
  Call call(Entry::cuDeviceTotalMem_v2);
  call.Argument("bytes", bytes).Argument("device", device);
  return call.Run([&](Driver& driver) -> Result {
    if (bytes == nullptr) return abi::kErrorInvalidValue;
    if (!IsDevice(driver, device)) return abi::kErrorInvalidDevice;
    *bytes = kDeviceMemory;
    call.Output("bytes", *bytes);
    return abi::kSuccess;
  });
}

Result cuDeviceGetAttribute(int* value, int attribute, Device device) {
  Call call(Entry::cuDeviceGetAttribute);
  call.Argument("value", value)
      .Argument("attribute", attribute)
      .Argument("device", device);
  return call.Run([&](Driver& driver) -> Result {
    if (value == nullptr) return abi::kErrorInvalidValue;
    if (!IsDevice(driver, device)) return abi::kErrorInvalidDevice;
    const std::map<int, int>& attributes =
        driver.devices[static_cast<std::size_t>(device)].attributes;
    const auto found = attributes.find(attribute);
    // Attributes that are not simulated: as one that the driver does not know.
    if (found == attributes.end()) return abi::kErrorInvalidValue;
    *value = found->second;
    call.Output("value", *value);
    return abi::kSuccess;
  });
}

Result cuDeviceCanAccessPeer(int* can_access, Device device, Device peer) {
  Call call(Entry::cuDeviceCanAccessPeer);
  call.Argument("can_access", can_access)
      .Argument("device", device)
      .Argument("peer", peer);
  return call.Run([&](Driver& driver) -> Result {
    if (can_access == nullptr) return abi::kErrorInvalidValue;
    if (!IsDevice(driver, device) || !IsDevice(driver, peer)) {
      return abi::kErrorInvalidDevice;
    }
    *can_access = device != peer ? 1 : 0;
    call.Output("can_access", *can_access);
    return abi::kSuccess;
  });
}

}  // extern "C"

}  // namespace kvswap::sim
