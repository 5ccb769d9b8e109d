// Calls that concern the driver as a whole.

#include "csrc/sim/call.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/error_texts.h"

namespace kvswap::sim {

extern "C" {

Result cuInit(unsigned flags) {
  Call call(Entry::cuInit);
  call.Argument("flags", flags);
  return call.RunBeforeInit([&](Driver& driver) -> Result {
    if (driver.forked) return abi::kErrorNotInitialized;
    if (flags != 0) return abi::kErrorInvalidValue;
    if (driver.devices.empty()) return abi::kErrorNoDevice;
    driver.initialized = true;
    return abi::kSuccess;
  });
}

Result cuDriverGetVersion(int* version) {
  Call call(Entry::cuDriverGetVersion);
  call.Argument("version", version);
  return call.RunBeforeInit([&](Driver& driver) -> Result {
    if (version == nullptr) return abi::kErrorInvalidValue;
    *version = driver.version;
    call.Output("version", *version);
    return abi::kSuccess;
  });
}

Result cuGetErrorName(Result error, const char** name) {
  Call call(Entry::cuGetErrorName);
  call.Argument("error", error).Argument("name", name);
  return call.RunBeforeInit([&](Driver&) -> Result {
    if (name == nullptr) call.Die("null argument");
    *name = ErrorName(error);
    return *name == nullptr ? abi::kErrorInvalidValue : abi::kSuccess;
  });
}

Result cuGetErrorString(Result error, const char** text) {
  Call call(Entry::cuGetErrorString);
  call.Argument("error", error).Argument("text", text);
  return call.RunBeforeInit([&](Driver&) -> Result {
    if (text == nullptr) call.Die("null argument");
    *text = ErrorText(error);
    return *text == nullptr ? abi::kErrorInvalidValue : abi::kSuccess;
  });
}

}  // extern "C"

}  // namespace kvswap::sim
