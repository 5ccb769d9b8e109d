#include "shim.h"

#include <cudaTypedefs.h>
#include <dlfcn.h>

Shim::Shim(const char* library)
    : library_(dlopen(library, RTLD_NOW)), memcpy_async_(nullptr) {
  memcpy_async_ =
      reinterpret_cast<decltype(memcpy_async_)>(Find("cuMemcpyAsync"));
}

void* Shim::Find(const char* name) const {
  if (library_ == nullptr) return nullptr;
  void* function = nullptr;
  // The second form came with CUDA 12.0; older drivers have the first.
  if (void* entry = dlsym(library_, "cuGetProcAddress_v2")) {
    auto get = reinterpret_cast<PFN_cuGetProcAddress_v12000>(entry);
    CUdriverProcAddressQueryResult found;
    get(name, &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &found);
  } else if (void* old_entry = dlsym(library_, "cuGetProcAddress")) {
    auto get = reinterpret_cast<PFN_cuGetProcAddress_v11030>(old_entry);
    get(name, &function, 11040, CU_GET_PROC_ADDRESS_DEFAULT);
  }
  return function;
}

CUresult Shim::Copy(CUdeviceptr destination, CUdeviceptr source, size_t size,
                    CUstream stream) const {
  return memcpy_async_(destination, source, size, stream);
}
