// A driver that takes its time over what a context needs once: the simulated
// driver that SLOW_DRIVER_OF names, with a pause before its functions that load
// modules and create streams. A race for the first use then really is one.
//
// With SLOW_DRIVER_SIGNAL, the number of a signal, there is no pause: the
// calling thread gets that signal in the function, in the middle of a call of
// kvswap.

#include <dlfcn.h>
#include <unistd.h>

#include <csignal>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "csrc/abi/cuda_driver_types.h"

namespace kvswap::tests {
namespace {

constexpr useconds_t kPause = 20000;

abi::ModuleLoadData_v2000 load_module;
abi::StreamCreate_v2000 create_stream;

void Pause() {
  const char* signal = std::getenv("SLOW_DRIVER_SIGNAL");
  if (signal != nullptr) {
    std::raise(std::atoi(signal));
  } else {
    usleep(kPause);
  }
}

abi::Result SlowModuleLoadData(abi::Module* module, const void* image) {
  Pause();
  return load_module(module, image);
}

abi::Result SlowStreamCreate(abi::Stream* stream, unsigned int flags) {
  Pause();
  return create_stream(stream, flags);
}

}  // namespace
}  // namespace kvswap::tests

extern "C" __attribute__((visibility("default"))) kvswap::abi::Result
cuGetProcAddress_v2(const char* symbol, void** function, int version,
                    std::uint64_t flags,
                    kvswap::abi::ProcAddressQueryResult* status) {
  namespace tests = kvswap::tests;
  using Lookup = decltype(&cuGetProcAddress_v2);
  static const auto lookup = reinterpret_cast<Lookup>(dlsym(
      dlopen(std::getenv("SLOW_DRIVER_OF"), RTLD_NOW), "cuGetProcAddress_v2"));
  const kvswap::abi::Result code =
      lookup(symbol, function, version, flags, status);
  if (code != kvswap::abi::kSuccess || *function == nullptr) return code;
  if (std::strcmp(symbol, "cuModuleLoadData") == 0) {
    tests::load_module =
        reinterpret_cast<decltype(tests::load_module)>(*function);
    *function = reinterpret_cast<void*>(&tests::SlowModuleLoadData);
  } else if (std::strcmp(symbol, "cuStreamCreate") == 0) {
    tests::create_stream =
        reinterpret_cast<decltype(tests::create_stream)>(*function);
    *function = reinterpret_cast<void*>(&tests::SlowStreamCreate);
  }
  return code;
}
