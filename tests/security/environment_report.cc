// Prints what kvswap and the simulated driver, whose file is the argument, make
// of their environment variables.

#include <dlfcn.h>
#include <sys/auxv.h>

#include <cstdio>

#include "csrc/kvswap.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::printf("secure %lu\n", getauxval(AT_SECURE));

  kvswap_result result = KVSWAP_RESULT_INIT;
  kvswap_plan plan = KVSWAP_PLAN_INIT;
  kvswap_plan_blocks_batch(nullptr, nullptr, nullptr, 0, nullptr, nullptr,
                           &plan, &result);
  std::printf("plan %s\n", result.message);

  kvswap_driver_info info = KVSWAP_DRIVER_INFO_INIT;
  kvswap_get_driver_info(&info);
  std::printf("tried %s\n", info.tried);

  void* simulator = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (simulator == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  const auto get_version =
      reinterpret_cast<int (*)(int*)>(dlsym(simulator, "cuDriverGetVersion"));
  int version = 0;
  if (get_version == nullptr || get_version(&version) != 0) return 1;
  std::printf("simulated %d\n", version);
  return 0;
}
