// The memory of a launch, as host code of a kernel reaches it: every access is
// checked with the driver.

#ifndef KVSWAP_SIM_KERNELS_HOST_MEMORY_ACCESS_H_
#define KVSWAP_SIM_KERNELS_HOST_MEMORY_ACCESS_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "csrc/kernels/kernel_parameters.h"
#include "csrc/sim/cuda_sim_kernel.h"

namespace kvswap::kernels {

class HostMemoryAccess {
 public:
  explicit HostMemoryAccess(const cuda_sim_launch& launch) : launch_(launch) {}
  HostMemoryAccess(const HostMemoryAccess&) = delete;
  HostMemoryAccess& operator=(const HostMemoryAccess&) = delete;

  // Whether the launch has ended; nothing is touched any more then.
  bool ended() const { return ended_; }

  // Ends the launch with a CUresult.
  void Fail(int code, const std::string& why) {
    if (ended_) return;
    ended_ = true;
    launch_.fail(launch_.context, code, why.c_str());
  }

  void Read(Address address, void* to, std::size_t size) {
    char* bytes = static_cast<char*>(to);
    Access(&reads_, address, size, [&](char* memory, std::size_t piece) {
      std::memcpy(bytes, memory, piece);
      bytes += piece;
    });
  }
  void Write(Address address, const void* from, std::size_t size) {
    const char* bytes = static_cast<const char*>(from);
    Access(&writes_, address, size, [&](char* memory, std::size_t piece) {
      std::memcpy(memory, bytes, piece);
      bytes += piece;
    });
  }

 private:
  // The stretch of memory that was reached last: a copy stays in it for long.
  struct Window {
    int writes;
    Address begin = 0;
    std::size_t size = 0;
    char* memory = nullptr;
  };

  bool Enter(Window* window, Address address) {
    if (ended_) return false;
    if (address - window->begin < window->size) return true;
    window->begin = address;
    window->size = 0;
    window->memory = static_cast<char*>(
        launch_.reach(launch_.context, address, window->writes, &window->size));
    ended_ = window->memory == nullptr;
    return !ended_;
  }

  // Calls `use(memory, size)` for each piece of [address, address + size).
  template <typename Use>
  void Access(Window* window, Address address, std::size_t size, Use use) {
    while (size != 0 && Enter(window, address)) {
      const std::size_t offset = address - window->begin;
      const std::size_t piece = std::min(size, window->size - offset);
      use(window->memory + offset, piece);
      address += piece;
      size -= piece;
    }
  }

  const cuda_sim_launch& launch_;
  bool ended_ = false;
  Window reads_ = {0};
  Window writes_ = {1};
};

}  // namespace kvswap::kernels

#endif  // KVSWAP_SIM_KERNELS_HOST_MEMORY_ACCESS_H_
