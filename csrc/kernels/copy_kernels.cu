// The device images: compiled by NVRTC, once for each GPU family and size of
// parameters. KVSWAP_PARAMETER_BYTES and KVSWAP_KERNEL_SUFFIX say which.

#include "csrc/kernels/kernel_parameters.h"
#include "csrc/kernels/plain_copy.h"
#if __CUDA_ARCH__ >= 900
#include "csrc/kernels/bulk_copy.h"
#endif

namespace kvswap::kernels {

// Blocks are read and written once: nothing is gained by keeping them in
// caches, and what other kernels keep there would be lost.
struct GlobalMemory {
  template <typename Word>
  __device__ __forceinline__ Word Load(Address address) const {
    return __ldcs(reinterpret_cast<const Word*>(address));
  }
  template <typename Word>
  __device__ __forceinline__ void Store(Address address, Word word) const {
    __stcs(reinterpret_cast<Word*>(address), word);
  }
};

#define KVSWAP_PLAIN_KERNEL(name, Item, parameter_bytes)                      \
  extern "C" __global__ void __launch_bounds__(1024)                          \
      name(const __grid_constant__ CopyParameters<Item, parameter_bytes> p) { \
    PlainCopy(p, Thread{threadIdx.x, blockDim.x, blockIdx.x, gridDim.x},      \
              GlobalMemory());                                                \
  }
#define KVSWAP_BULK_KERNEL(name, Item, parameter_bytes)                       \
  extern "C" __global__ void __launch_bounds__(32)                            \
      name(const __grid_constant__ CopyParameters<Item, parameter_bytes> p) { \
    BulkCopy(p);                                                              \
  }
// The suffix is a macro: it has to be replaced before the names are made.
#define KVSWAP_DEFINE(KERNELS, KERNEL, suffix) \
  KERNELS(KERNEL, suffix, KVSWAP_PARAMETER_BYTES)

KVSWAP_DEFINE(KVSWAP_PLAIN_KERNELS, KVSWAP_PLAIN_KERNEL, KVSWAP_KERNEL_SUFFIX)
#if __CUDA_ARCH__ >= 900
KVSWAP_DEFINE(KVSWAP_BULK_KERNELS, KVSWAP_BULK_KERNEL, KVSWAP_KERNEL_SUFFIX)
#endif

}  // namespace kvswap::kernels
