// The device images that this library holds: data, compiled at build time.

#ifndef KVSWAP_KERNELS_KERNEL_IMAGES_H_
#define KVSWAP_KERNELS_KERNEL_IMAGES_H_

#include <cstddef>

namespace kvswap::kernels {

struct KernelImage {
  const char* name;        // "sm_90, 32764 bytes of parameters, NVRTC 12.8"
  int compute_capability;  // as 90 for 9.0: what it was compiled for
  // PTX, which a driver compiles for that capability and all newer ones; else a
  // cubin, which runs on it and newer minor ones of the same major.
  bool is_ptx;
  unsigned parameter_bytes;  // kLargeParameterBytes or kSmallParameterBytes
  bool has_bulk;             // whether it holds the bulk kernels
  const void* data;
  std::size_t size;  // in bytes; PTX ends with a null character
};

extern const KernelImage kKernelImages[];
extern const std::size_t kKernelImageCount;

}  // namespace kvswap::kernels

#endif  // KVSWAP_KERNELS_KERNEL_IMAGES_H_
