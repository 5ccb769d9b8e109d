#include "csrc/engine/host_memory.h"

#include <cerrno>
#include <cstdio>
#include <memory>

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "csrc/engine/process_maps.h"

// Linux 5.14; the headers of older C libraries lack the name.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace kvswap::engine {
namespace {

std::uint64_t PageSize() {
  static const auto size = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

std::uint64_t PageStart(std::uint64_t address) {
  return address & ~(PageSize() - 1);
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// By the kernel's list of mappings. Slower than asking the pages, and blind to
// a file's end: the last resort.
std::optional<std::uint64_t> FirstByteThatMapsDeny(std::uint64_t start,
                                                   std::size_t size,
                                                   Access access) {
  const std::unique_ptr<std::FILE, FileCloser> maps(
      std::fopen("/proc/self/maps", "re"));
  // Nothing is known against the memory then.
  if (maps == nullptr) return std::nullopt;
  return FirstByteWithoutPermission(maps.get(), start, size, access);
}

}  // namespace

std::optional<std::uint64_t> FirstUnreadableByte(std::uint64_t start,
                                                 std::size_t size) {
  // Reading one byte of each page of oneself through the kernel answers EFAULT
  // where a load would fault. The kernel takes up to 1,024 ranges a call.
  constexpr std::size_t kPagesPerCall = 256;
  iovec pages[kPagesPerCall];
  char bytes[kPagesPerCall];
  const std::uint64_t end = start + size;
  std::uint64_t next = start;
  while (next < end) {
    std::size_t count = 0;
    for (std::uint64_t byte = next; byte < end && count < kPagesPerCall;
         byte = PageStart(byte) + PageSize()) {
      pages[count++] = {reinterpret_cast<void*>(byte), 1};
    }
    const iovec local = {bytes, count};
    const ssize_t read = process_vm_readv(getpid(), &local, 1, pages, count, 0);
    if (read < 0 && errno != EFAULT) {
      return FirstByteThatMapsDeny(start, size, Access::kRead);
    }
    const std::size_t readable = read < 0 ? 0 : static_cast<std::size_t>(read);
    if (readable < count) {
      return reinterpret_cast<std::uint64_t>(pages[readable].iov_base);
    }
    next =
        PageStart(reinterpret_cast<std::uint64_t>(pages[count - 1].iov_base)) +
        PageSize();
  }
  return std::nullopt;
}

std::optional<std::uint64_t> FirstUnwritableByte(std::uint64_t start,
                                                 std::size_t size) {
  const std::uint64_t first_page = PageStart(start);
  if (madvise(reinterpret_cast<void*>(first_page), start + size - first_page,
              MADV_POPULATE_WRITE) == 0) {
    return std::nullopt;
  }
  const bool page_is_missing = errno == ENOMEM || errno == EFAULT;
  // Else the kernel does not know the advice, or the mapping is of a kind that
  // it does not apply to: a device's, which its permissions do not give away
  // but reading does.
  std::optional<std::uint64_t> byte =
      FirstByteThatMapsDeny(start, size, Access::kWrite);
  if (!byte.has_value()) byte = FirstUnreadableByte(start, size);
  if (!byte.has_value() && page_is_missing) byte = start;
  return byte;
}

}  // namespace kvswap::engine
