/* A driver without cuMemcpyBatchAsync, as those before CUDA 12.8: asks the real
 * one for everything else. Used as KVSWAP_LIBCUDA. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

/* The real driver's library. */
#ifndef REAL_DRIVER
#define REAL_DRIVER "libcuda.so.1"
#endif

typedef int (*with_status)(const char*, void**, int, uint64_t, int*);
typedef int (*without_status)(const char*, void**, int, uint64_t);

enum { NOT_INITIALIZED = 3, SYMBOL_NOT_FOUND = 1 };

static void* real(const char* name) {
  static void* library;
  if (library == NULL) library = dlopen(REAL_DRIVER, RTLD_NOW | RTLD_LOCAL);
  return library == NULL ? NULL : dlsym(library, name);
}

static int is_left_out(const char* name) {
  return strcmp(name, "cuMemcpyBatchAsync") == 0;
}

__attribute__((visibility("default"))) int cuGetProcAddress_v2(const char* name,
                                                               void** function,
                                                               int version,
                                                               uint64_t flags,
                                                               int* status) {
  with_status ask = (with_status)real("cuGetProcAddress_v2");
  if (ask == NULL) return NOT_INITIALIZED;
  if (is_left_out(name)) {
    *function = NULL;
    if (status != NULL) *status = SYMBOL_NOT_FOUND;
    return 0;
  }
  return ask(name, function, version, flags, status);
}

__attribute__((visibility("default"))) int cuGetProcAddress(const char* name,
                                                            void** function,
                                                            int version,
                                                            uint64_t flags) {
  without_status ask = (without_status)real("cuGetProcAddress");
  if (ask == NULL) return NOT_INITIALIZED;
  if (is_left_out(name)) {
    *function = NULL;
    return 0;
  }
  return ask(name, function, version, flags);
}
