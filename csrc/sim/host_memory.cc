#include "csrc/sim/host_memory.h"

#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace kvswap::sim {

std::vector<HostMemoryMap::Region> HostMemoryMap::ReadOfProcess() {
  std::FILE* file = std::fopen("/proc/self/maps", "re");
  if (file == nullptr) return {};
  std::vector<Region> regions = Read(file);
  std::fclose(file);
  return regions;
}

std::vector<HostMemoryMap::Region> HostMemoryMap::Read(std::FILE* maps) {
  std::vector<Region> regions;
  char line[512];
  bool line_start = true;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    const bool starts = line_start;
    line_start = std::strchr(line, '\n') != nullptr;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    char permissions[5] = "";
    if (!starts || std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &begin,
                               &end, permissions) != 3) {
      continue;
    }
    regions.push_back(
        {begin, end, permissions[0] == 'r', permissions[1] == 'w'});
  }
  return regions;
}

bool HostMemoryMap::Accessible(std::uint64_t address, std::size_t size,
                               Access access) {
  if (address + size < address) return false;
  if (!regions_.has_value()) regions_ = ReadOfProcess();
  std::uint64_t position = address;
  auto region = std::upper_bound(
      regions_->begin(), regions_->end(), position,
      [](std::uint64_t value, const Region& r) { return value < r.end; });
  for (; position < address + size; ++region) {
    if (region == regions_->end() || region->begin > position) return false;
    if (access == Access::kRead ? !region->readable : !region->writable) {
      return false;
    }
    position = region->end;
  }
  return true;
}

bool GuardedCopy(void* destination, const void* source, std::size_t size) {
  // The kernel copies, and reports a bad address where memmove would die.
  std::size_t done = 0;
  while (done < size) {
    iovec to = {static_cast<char*>(destination) + done, size - done};
    iovec from = {const_cast<char*>(static_cast<const char*>(source)) + done,
                  size - done};
    const ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (copied > 0) {
      done += static_cast<std::size_t>(copied);
      continue;
    }
    if (copied < 0 && (errno == EPERM || errno == ENOSYS)) {
      // A sandbox forbids the call: without the guard then.
      std::memmove(static_cast<char*>(destination) + done,
                   static_cast<const char*>(source) + done, size - done);
      return true;
    }
    return false;
  }
  return true;
}

bool OnCallingThreadsStack(const void* address) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  void* base = nullptr;
  std::size_t size = 0;
  const int failed = pthread_attr_getstack(&attributes, &base, &size);
  pthread_attr_destroy(&attributes);
  if (failed != 0) return false;
  const char* begin = static_cast<const char*>(base);
  const char* asked = static_cast<const char*>(address);
  return asked >= begin && asked < begin + size;
}

}  // namespace kvswap::sim
