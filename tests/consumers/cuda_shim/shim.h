// Asynchronous copies by a CUDA driver that is found at run time.

#ifndef SHIM_H_
#define SHIM_H_

#include <cuda.h>

class Shim {
 public:
  // Loads a driver, "libcuda.so.1" or another; `ok()` says whether it did.
  explicit Shim(const char* library);

  bool ok() const { return memcpy_async_ != nullptr; }

  // A function of the driver as of the toolkit that this was compiled with;
  // null where the driver has none.
  void* Find(const char* name) const;

  CUresult Copy(CUdeviceptr destination, CUdeviceptr source, size_t size,
                CUstream stream) const;

 private:
  void* library_;
  CUresult (*memcpy_async_)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
};

#endif  // SHIM_H_
