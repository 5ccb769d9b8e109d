// A libcuda.so.1 of two symbols: what the dynamic linker needs to load the naive op, or
// to refuse it.

#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int cuDriverGetVersion(int* version);
EXPORTED int cuDriverGetVersion(int* version) {
#ifdef WITH_MEMCPY_BATCH_ASYNC
  *version = 12080;
#else
  *version = 12040;
#endif
  return 0;
}

#ifdef WITH_MEMCPY_BATCH_ASYNC
EXPORTED int cuMemcpyBatchAsync(void* dsts, void* srcs, size_t* sizes,
                                size_t count, void* attributes,
                                size_t* attribute_indices,
                                size_t attribute_count, size_t* failed_index,
                                void* stream);
EXPORTED int cuMemcpyBatchAsync(void* dsts, void* srcs, size_t* sizes,
                                size_t count, void* attributes,
                                size_t* attribute_indices,
                                size_t attribute_count, size_t* failed_index,
                                void* stream) {
  (void)dsts, (void)srcs, (void)sizes, (void)attributes;
  (void)attribute_indices, (void)failed_index, (void)stream;
  return count == 0 && attribute_count == 1 ? 0 : 1;
}
#endif
