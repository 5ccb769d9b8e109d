// The plug-in of the simulated driver that has the copy kernels.

#include <cstring>

#include "csrc/sim/kernels/host_kernels.h"

namespace kvswap::kernels {
namespace {

struct NamedKernel {
  const char* name;
  cuda_sim_kernel kernel;
};

constexpr unsigned kPlainThreads = 1024;
constexpr unsigned kBulkThreads = 32;
// More than any device has.
constexpr unsigned kAnySharedBytes = 1 << 20;
constexpr int kOldestForPlain = 50;
constexpr int kOldestForBulk = 90;

#define KVSWAP_SIM_PLAIN_KERNEL(name, Item, parameter_bytes)      \
  {#name,                                                         \
   {sizeof(CopyParameters<Item, parameter_bytes>), kPlainThreads, \
    kAnySharedBytes, kOldestForPlain,                             \
    &RunPlain<CopyParameters<Item, parameter_bytes>>}},
#define KVSWAP_SIM_BULK_KERNEL(name, Item, parameter_bytes)      \
  {#name,                                                        \
   {sizeof(CopyParameters<Item, parameter_bytes>), kBulkThreads, \
    kAnySharedBytes, kOldestForBulk,                             \
    &RunBulk<CopyParameters<Item, parameter_bytes>>}},

const NamedKernel kKernels[] = {
    KVSWAP_PLAIN_KERNELS(KVSWAP_SIM_PLAIN_KERNEL, 4k, kSmallParameterBytes)
        KVSWAP_PLAIN_KERNELS(KVSWAP_SIM_PLAIN_KERNEL, 32k, kLargeParameterBytes)
            KVSWAP_BULK_KERNELS(KVSWAP_SIM_BULK_KERNEL, 4k,
                                kSmallParameterBytes)
                KVSWAP_BULK_KERNELS(KVSWAP_SIM_BULK_KERNEL, 32k,
                                    kLargeParameterBytes)};

}  // namespace
}  // namespace kvswap::kernels

extern "C" __attribute__((visibility("default"))) const cuda_sim_kernel*
cuda_sim_find_kernel(const char* name) {
  for (const auto& known : kvswap::kernels::kKernels) {
    if (std::strcmp(known.name, name) == 0) return &known.kernel;
  }
  return nullptr;
}
