// Tells of the kernel engine of the current context.

#ifndef KVSWAP_ENGINE_KERNEL_INFO_H_
#define KVSWAP_ENGINE_KERNEL_INFO_H_

#include "csrc/driver/driver_table.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// Fills in `info`; loads the image if that has not been done. May throw
// std::bad_alloc.
void DescribeKernels(const driver::DriverTable& table,
                     kvswap_kernel_info* info);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_KERNEL_INFO_H_
