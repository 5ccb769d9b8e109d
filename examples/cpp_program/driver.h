// The few functions of the CUDA driver that the example needs, found as kvswap
// finds the driver: no CUDA toolkit, and none linked. A program that uses the
// CUDA runtime has cudaMalloc and cudaStream_t in their place.

#ifndef DRIVER_H_
#define DRIVER_H_

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

class Driver {
 public:
  // `path`: the library, as kvswap_get_driver_info names it.
  explicit Driver(const char* path) : library_(dlopen(path, RTLD_NOW)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
  }

  // Calls a function by its exported name; the CUresult.
  template <typename... Arguments>
  int Result(const char* name, Arguments... arguments) const {
    void* function = dlsym(library_, name);
    if (function == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
  }

  // The same, and throws unless it is CUDA_SUCCESS.
  template <typename... Arguments>
  void Call(const char* name, Arguments... arguments) const {
    int code = Result(name, arguments...);
    if (code != 0) {
      throw std::runtime_error(std::string(name) + " answered " +
                               std::to_string(code));
    }
  }

 private:
  void* library_;
};

// Whatever is given back below is so without a look at the outcome: a
// destructor cannot do anything about it.

// The primary context of a GPU, current in this thread: the context that the
// CUDA runtime and torch use too.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, int ordinal) : driver_(driver) {
    driver_.Call("cuInit", 0u);
    driver_.Call("cuDeviceGet", &device_, ordinal);
    void* context = nullptr;
    driver_.Call("cuDevicePrimaryCtxRetain", &context, device_);
    driver_.Call("cuCtxSetCurrent", context);
  }
  ~PrimaryContext() { driver_.Result("cuDevicePrimaryCtxRelease_v2", device_); }
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

 private:
  const Driver& driver_;
  int device_ = 0;
};

// Memory of the current context's GPU.
class DeviceMemory {
 public:
  DeviceMemory(const Driver& driver, size_t size) : driver_(driver) {
    driver_.Call("cuMemAlloc_v2", &address_, size);
  }
  ~DeviceMemory() { driver_.Result("cuMemFree_v2", address_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* data() const { return reinterpret_cast<void*>(address_); }

  // Copies from the host, or to it, and waits.
  void Write(const void* host, size_t size) const {
    driver_.Call("cuMemcpyHtoD_v2", address_, host, size);
  }
  void Read(void* host, size_t size) const {
    driver_.Call("cuMemcpyDtoH_v2", host, address_, size);
  }

 private:
  const Driver& driver_;
  uint64_t address_ = 0;
};

// A stream that does not wait for the default stream.
class Stream {
 public:
  explicit Stream(const Driver& driver) : driver_(driver) {
    constexpr unsigned kNonBlocking = 1;
    driver_.Call("cuStreamCreate", &handle_, kNonBlocking);
  }
  ~Stream() { driver_.Result("cuStreamDestroy_v2", handle_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void* handle() const { return handle_; }

 private:
  const Driver& driver_;
  void* handle_ = nullptr;
};

#endif  // DRIVER_H_
