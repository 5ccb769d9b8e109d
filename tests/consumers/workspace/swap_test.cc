// Swaps three blocks out of "GPU memory" of the simulated driver and compares
// them.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kvswap.h"

namespace {

void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  std::exit(1);
}

// Calls a function of the driver by its exported name.
template <typename... Arguments>
void Driver(const char* name, Arguments... arguments) {
  static void* const library = dlopen(std::getenv("KVSWAP_LIBCUDA"), RTLD_NOW);
  Check(library != nullptr, "the driver's library loads");
  auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  Check(function != nullptr && function(arguments...) == 0, name);
}

}  // namespace

int main() {
  constexpr size_t kBlock = 4096;
  constexpr size_t kBlocks = 3;
  static unsigned char content[kBlocks][kBlock];
  static unsigned char swapped_out[kBlocks][kBlock];
  for (size_t block = 0; block < kBlocks; ++block) {
    std::memset(content[block], static_cast<int>(block + 1), kBlock);
  }

  void* context = nullptr;
  void* stream = nullptr;
  uint64_t gpu_cache = 0;
  Driver("cuInit", 0u);
  Driver("cuDevicePrimaryCtxRetain", &context, 0);
  Driver("cuCtxSetCurrent", context);
  Driver("cuStreamCreate", &stream, 0u);
  Driver("cuMemAlloc_v2", &gpu_cache, sizeof(content));
  Driver("cuMemcpyHtoD_v2", gpu_cache, static_cast<const void*>(content),
         sizeof(content));

  const void* sources[kBlocks];
  void* destinations[kBlocks];
  size_t sizes[kBlocks];
  for (size_t block = 0; block < kBlocks; ++block) {
    sources[block] = reinterpret_cast<const void*>(gpu_cache + block * kBlock);
    destinations[block] = swapped_out[block];
    sizes[block] = kBlock;
  }
  kvswap_result result = KVSWAP_RESULT_INIT;
  const int code =
      kvswap_swap_blocks_batch(sources, destinations, sizes, kBlocks, stream,
                               /*options=*/nullptr, &result);
  Check(code == KVSWAP_OK, result.message);
  Check(result.submitted == kBlocks, "every block was submitted");
  Driver("cuStreamSynchronize", stream);
  Check(std::memcmp(content, swapped_out, sizeof(content)) == 0,
        "the bytes arrived");
  return 0;
}
