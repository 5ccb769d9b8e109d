// A build without device kernels.

#include "csrc/kernels/kernel_images.h"

namespace kvswap::kernels {

// C++ has no empty array.
const KernelImage kKernelImages[] = {{"", 0, false, 0, false, nullptr, 0}};
const std::size_t kKernelImageCount = 0;

}  // namespace kvswap::kernels
