// The devices' primary contexts.

#include <memory>

#include "csrc/sim/call.h"
#include "csrc/sim/contexts.h"
#include "csrc/sim/devices.h"
#include "csrc/sim/driver_functions.h"

namespace kvswap::sim {
namespace {

std::shared_ptr<Context> Primary(Driver& driver, Device device) {
  DeviceState& state = driver.devices[static_cast<std::size_t>(device)];
  if (state.primary == nullptr) {
    state.primary = std::make_shared<Context>();
    state.primary->primary = true;
    state.primary->alive = false;
    state.primary->device = device;
    state.primary->handle = driver.contexts.Add(state.primary);
  }
  return state.primary;
}

Result RetainPrimary(Driver& driver, Device device, Call* call,
                     ContextHandle* context) {
  if (context == nullptr) return abi::kErrorInvalidValue;
  if (!IsDevice(driver, device)) return abi::kErrorInvalidDevice;
  DeviceState& state = driver.devices[static_cast<std::size_t>(device)];
  const std::shared_ptr<Context> primary = Primary(driver, device);
  if (!primary->alive) BeginContext(driver, primary);
  ++state.primary_retained;
  *context = HandleOf(*primary);
  call->Output("context", *context);
  return abi::kSuccess;
}

Result ReleasePrimary(Driver& driver, Device device) {
  if (!IsDevice(driver, device)) return abi::kErrorInvalidDevice;
  DeviceState& state = driver.devices[static_cast<std::size_t>(device)];
  if (state.primary_retained == 0) return abi::kErrorInvalidContext;
  if (--state.primary_retained == 0 && state.primary->alive) {
    EndContext(driver, state.primary.get());
  }
  return abi::kSuccess;
}

Result ResetPrimary(Driver& driver, Device device) {
  if (!IsDevice(driver, device)) return abi::kErrorInvalidDevice;
  const std::shared_ptr<Context> primary = Primary(driver, device);
  if (primary->alive) EndContext(driver, primary.get());
  return abi::kSuccess;
}

}  // namespace

extern "C" {

Result cuDevicePrimaryCtxRetain(ContextHandle* context, Device device) {
  Call call(Entry::cuDevicePrimaryCtxRetain);
  call.Argument("context", context).Argument("device", device);
  return call.Run([&](Driver& driver) -> Result {
    return RetainPrimary(driver, device, &call, context);
  });
}

Result cuDevicePrimaryCtxRelease(Device device) {
  Call call(Entry::cuDevicePrimaryCtxRelease);
  call.Argument("device", device);
  return call.Run(
      [&](Driver& driver) { return ReleasePrimary(driver, device); });
}

Result cuDevicePrimaryCtxRelease_v2(Device device) {
  Call call(Entry::cuDevicePrimaryCtxRelease_v2);
  call.Argument("device", device);
  return call.Run(
      [&](Driver& driver) { return ReleasePrimary(driver, device); });
}

Result cuDevicePrimaryCtxReset(Device device) {
  Call call(Entry::cuDevicePrimaryCtxReset);
  call.Argument("device", device);
  return call.Run([&](Driver& driver) { return ResetPrimary(driver, device); });
}

Result cuDevicePrimaryCtxReset_v2(Device device) {
  Call call(Entry::cuDevicePrimaryCtxReset_v2);
  call.Argument("device", device);
  return call.Run([&](Driver& driver) { return ResetPrimary(driver, device); });
}

Result cuDevicePrimaryCtxGetState(Device device, unsigned* flags, int* active) {
  Call call(Entry::cuDevicePrimaryCtxGetState);
  call.Argument("device", device)
      .Argument("flags", flags)
      .Argument("active", active);
  return call.Run([&](Driver& driver) -> Result {
    if (flags == nullptr || active == nullptr) return abi::kErrorInvalidValue;
    if (!IsDevice(driver, device)) return abi::kErrorInvalidDevice;
    const std::shared_ptr<Context> primary = Primary(driver, device);
    *flags = primary->flags;
    *active = primary->alive ? 1 : 0;
    call.Output("active", *active);
    return abi::kSuccess;
  });
}

}  // extern "C"

}  // namespace kvswap::sim
