// What the linker needs of libcuda.so.1 to link the naive op. Never loaded.

__attribute__((visibility("default"))) void cuMemcpyBatchAsync(void);
__attribute__((visibility("default"))) void cuMemcpyBatchAsync(void) {}
