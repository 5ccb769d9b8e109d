// The host memory of this process, seen as the driver sees a pointer that it
// does not know.

#ifndef KVSWAP_SIM_HOST_MEMORY_H_
#define KVSWAP_SIM_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

namespace kvswap::sim {

enum class Access { kRead, kWrite };

// The process's address ranges, read from the kernel on the first question.
// Made for one driver call: ranges that appear later are not seen.
class HostMemoryMap {
 public:
  HostMemoryMap() = default;
  // Of a list in the form of /proc/self/maps, in the order of addresses.
  explicit HostMemoryMap(std::FILE* maps) : regions_(Read(maps)) {}

  // Whether all of [address, address + size) can be accessed without a fault.
  bool Accessible(std::uint64_t address, std::size_t size, Access access);

 private:
  struct Region {
    std::uint64_t begin;
    std::uint64_t end;
    bool readable;
    bool writable;
  };

  static std::vector<Region> Read(std::FILE* maps);
  static std::vector<Region> ReadOfProcess();

  std::optional<std::vector<Region>> regions_;
};

// Copies between addresses that may have become invalid; false if they have.
bool GuardedCopy(void* destination, const void* source, std::size_t size);

// Whether an address lies on the calling thread's stack.
bool OnCallingThreadsStack(const void* address);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_HOST_MEMORY_H_
