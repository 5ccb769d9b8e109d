// A control of the ABI matrix: the driver's batch call made directly, through
// the declaration in <cuda.h>. It compiles with the headers of CUDA 12.8
// and 12.9, with no older ones, which lack the function, and with no newer
// ones, where its name stands for another function with eight arguments. What
// it compiles to cannot be loaded on a driver that does not export the symbol.

#include <cuda.h>

#include <cstddef>

#include "tests/abi/naive_op.h"

int NaiveSwapBlocksBatch(void** srcs, void** dsts, std::size_t* sizes,
                         std::size_t count, void* stream) {
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t attribute_index = 0;
  std::size_t failed_index = 0;
  return cuMemcpyBatchAsync(reinterpret_cast<CUdeviceptr*>(dsts),
                            reinterpret_cast<CUdeviceptr*>(srcs), sizes, count,
                            &attributes, &attribute_index, 1, &failed_index,
                            static_cast<CUstream>(stream));
}
