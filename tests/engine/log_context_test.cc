// Callbacks of the log have the context current that the thread has, and not
// one that a call works in: here the stream's, whose GPU refuses the kernels.

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "csrc/kvswap.h"
#include "csrc/sim/cuda_sim.h"
#include "tests/engine/check.h"

namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::size_t kHalf = kBytes / 2;

struct Driver {
  void* library = dlopen(std::getenv("KVSWAP_LIBCUDA"), RTLD_NOW);

  template <typename... Arguments>
  void Call(const char* name, Arguments... arguments) const {
    CHECK(library != nullptr);
    void* const function = dlsym(library, name);
    CHECK(function != nullptr);
    CHECK(reinterpret_cast<int (*)(Arguments...)>(function)(arguments...) == 0);
  }
  void* Current() const {
    void* context = nullptr;
    Call("cuCtxGetCurrent", &context);
    return context;
  }
};

struct Lines {
  const Driver* driver;
  void* context;  // that has to be current
  int about_kernels;
};

void TakeLine(void* user_data, std::int32_t /*level*/, const char* message) {
  auto* const lines = static_cast<Lines*>(user_data);
  CHECK(lines->driver->Current() == lines->context);
  if (std::strstr(message, "gets no copy kernels") != nullptr) {
    ++lines->about_kernels;
  }
}

}  // namespace

int main() {
  const Driver driver;
  void* own = nullptr;
  void* others = nullptr;
  void* popped = nullptr;
  void* stream = nullptr;
  unsigned char* pinned = nullptr;
  std::uint64_t device = 0;
  driver.Call("cuInit", 0u);
  driver.Call("cuCtxCreate_v2", &own, 0u, 0);
  driver.Call("cuCtxCreate_v2", &others, 0u, 0);
  driver.Call("cuStreamCreate", &stream, 1u);
  driver.Call("cuMemAlloc_v2", &device, kBytes);
  driver.Call("cuMemHostAlloc", &pinned, kBytes, 0u);
  driver.Call("cuCtxPopCurrent_v2", &popped);
  CHECK(driver.Current() == own && popped == others);
  driver.Call("cuda_sim_fail", "cuModuleLoadData", CUDA_SIM_EVERY_CALL, 209,
              CUDA_SIM_NO_INDEX, 0);

  Lines lines = {&driver, own, 0};
  CHECK(kvswap_set_log(&TakeLine, &lines, KVSWAP_LOG_DEBUG) == KVSWAP_OK);
  const void* sources[] = {pinned, pinned + kHalf};
  void* destinations[] = {reinterpret_cast<void*>(device + kHalf),
                          reinterpret_cast<void*>(device)};
  const std::size_t sizes[] = {kHalf, kHalf};
  kvswap_options options = KVSWAP_OPTIONS_INIT;
  options.engine = KVSWAP_ENGINE_KERNEL;
  CHECK(kvswap_swap_blocks_batch(sources, destinations, sizes, 2, stream,
                                 &options, nullptr) == KVSWAP_OK);
  CHECK(lines.about_kernels == 1);
  CHECK(driver.Current() == own);
  return 0;
}
