// A driver that does nothing: every entry returns success at once, so that what
// a call costs is the library's own.
//
// It has one GPU of compute capability 9.0 with one range of device memory and
// one of pinned memory (noop_driver.h), which nobody may touch: they are
// addresses only. No stream captures.

#include "tests/engine/noop_driver.h"

#include <cstring>

#include "csrc/abi/cuda_driver_types.h"

namespace kvswap::tests {
namespace {

using abi::Result;

// Any address will do for a handle.
int handle_target;

template <typename Handle>
Result ReturnHandle(Handle* handle) {
  *handle = reinterpret_cast<Handle>(&handle_target);
  return abi::kSuccess;
}

Result DoNothing() { return abi::kSuccess; }

Result DriverGetVersion(int* version) {
  *version = 13000;
  return abi::kSuccess;
}

Result GetText(Result, const char** text) {
  *text = "no error";
  return abi::kSuccess;
}

Result DeviceGet(abi::Device* device, int ordinal) {
  *device = ordinal;
  return abi::kSuccess;
}

Result DeviceGetAttribute(int* value, abi::DeviceAttribute attribute,
                          abi::Device) {
  switch (attribute) {
    case abi::kDeviceAttributeComputeCapabilityMajor:
      *value = 9;
      break;
    case abi::kDeviceAttributeComputeCapabilityMinor:
      *value = 0;
      break;
    case abi::kDeviceAttributeMaxSharedMemoryPerBlockOptin:
      *value = 227 * 1024;
      break;
    default:
      *value = 1;
  }
  return abi::kSuccess;
}

Result CtxGetDevice(abi::Device* device) {
  *device = 0;
  return abi::kSuccess;
}

Result CtxGetId(abi::Context, std::uint64_t* id) {
  *id = 1;
  return abi::kSuccess;
}

Result DevicePrimaryCtxGetState(abi::Device, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return abi::kSuccess;
}

Result StreamGetCtx(abi::Stream, abi::Context* context) {
  return ReturnHandle(context);
}

Result StreamIsCapturing(abi::Stream, abi::StreamCaptureStatus* status) {
  *status = abi::kStreamCaptureStatusNone;
  return abi::kSuccess;
}

Result ModuleGetFunction(abi::Function* function, abi::Module, const char*) {
  return ReturnHandle(function);
}

Result PointerGetAttributes(unsigned count, abi::PointerAttribute* attributes,
                            void** values, abi::DevicePointer pointer) {
  const bool is_device = pointer - kDeviceMemory < kMemorySize;
  const std::uint64_t start = is_device ? kDeviceMemory : kPinnedMemory;
  for (unsigned i = 0; i < count; ++i) {
    const auto write = [&](auto value) {
      std::memcpy(values[i], &value, sizeof(value));
    };
    switch (attributes[i]) {
      case abi::kPointerAttributeContext:
      case abi::kPointerAttributeHostPointer:
        write(static_cast<void*>(&handle_target));
        break;
      case abi::kPointerAttributeMemoryType:
        write(is_device ? abi::kMemoryTypeDevice : abi::kMemoryTypeHost);
        break;
      case abi::kPointerAttributeDevicePointer:
        write(pointer);
        break;
      case abi::kPointerAttributeIsManaged:
      case abi::kPointerAttributeDeviceOrdinal:
        write(0);
        break;
      case abi::kPointerAttributeMapped:
        write(1);
        break;
      case abi::kPointerAttributeRangeStartAddress:
      case abi::kPointerAttributeMappingBaseAddress:
        write(start);
        break;
      case abi::kPointerAttributeRangeSize:
      case abi::kPointerAttributeMappingSize:
        write(kMemorySize);
        break;
      case abi::kPointerAttributeAccessFlags:
        write(abi::kMemoryAccessReadWrite);
        break;
    }
  }
  return abi::kSuccess;
}

struct Entry {
  const char* name;
  void* function;
};

template <typename Function>
Entry MakeEntry(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

// Entries that answer more than success.
const Entry kEntries[] = {
    MakeEntry("cuDriverGetVersion", &DriverGetVersion),
    MakeEntry("cuGetErrorName", &GetText),
    MakeEntry("cuGetErrorString", &GetText),
    MakeEntry("cuDeviceGet", &DeviceGet),
    MakeEntry("cuDeviceGetAttribute", &DeviceGetAttribute),
    MakeEntry("cuCtxGetCurrent", &ReturnHandle<abi::Context>),
    MakeEntry("cuCtxPopCurrent", &ReturnHandle<abi::Context>),
    MakeEntry("cuCtxGetDevice", &CtxGetDevice),
    MakeEntry("cuCtxGetId", &CtxGetId),
    MakeEntry("cuDevicePrimaryCtxGetState", &DevicePrimaryCtxGetState),
    MakeEntry("cuDevicePrimaryCtxRetain", &ReturnHandle<abi::Context>),
    MakeEntry("cuStreamCreate", &ReturnHandle<abi::Stream>),
    MakeEntry("cuStreamGetCtx", &StreamGetCtx),
    MakeEntry("cuStreamIsCapturing", &StreamIsCapturing),
    MakeEntry("cuPointerGetAttributes", &PointerGetAttributes),
    MakeEntry("cuEventCreate", &ReturnHandle<abi::Event>),
    MakeEntry("cuModuleLoadData", &ReturnHandle<abi::Module>),
    MakeEntry("cuModuleGetFunction", &ModuleGetFunction),
};

}  // namespace
}  // namespace kvswap::tests

extern "C" __attribute__((visibility("default"))) kvswap::abi::Result
cuGetProcAddress_v2(const char* symbol, void** function, int /*version*/,
                    std::uint64_t /*flags*/,
                    kvswap::abi::ProcAddressQueryResult* status) {
  *status = kvswap::abi::kProcAddressQuerySuccess;
  *function = reinterpret_cast<void*>(&kvswap::tests::DoNothing);
  for (const auto& entry : kvswap::tests::kEntries) {
    if (std::strcmp(entry.name, symbol) == 0) *function = entry.function;
  }
  return kvswap::abi::kSuccess;
}
