// Memory whose ends cannot be passed without a fault.

#ifndef KVSWAP_TESTS_FUZZ_GUARDED_MEMORY_H_
#define KVSWAP_TESTS_FUZZ_GUARDED_MEMORY_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "tests/fuzz/fuzz_target.h"

namespace kvswap::tests {

// `size` bytes, a multiple of pages, between pages that cannot be touched.
// Never given back.
inline unsigned char* GuardedMemory(std::size_t size) {
  const auto page = static_cast<std::size_t>(getpagesize());
  void* memory = mmap(nullptr, size + 2 * page, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  FUZZ_CHECK(memory != MAP_FAILED);
  auto* const start = static_cast<unsigned char*>(memory) + page;
  FUZZ_CHECK(mprotect(start, size, PROT_READ | PROT_WRITE) == 0);
  return start;
}

}  // namespace kvswap::tests

#endif  // KVSWAP_TESTS_FUZZ_GUARDED_MEMORY_H_
