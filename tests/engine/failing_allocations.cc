#include "tests/engine/failing_allocations.h"

#include <cerrno>
#include <cstddef>

// glibc's own allocator, under the names that it has beside malloc's.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);
}

namespace kvswap::tests {
namespace {

// Of the program itself, so that they need no allocation of their own.
thread_local bool is_failing = false;
thread_local bool fails_rest = false;
thread_local std::uint64_t until_failure = 0;
thread_local std::uint64_t failures = 0;
thread_local std::int64_t live = 0;
thread_local int calls_of_driver = 0;

bool Fails() {
  if (calls_of_driver != 0 || !is_failing) return false;
  if (until_failure > 1) {
    --until_failure;
    return false;
  }
  if (until_failure == 0 && !fails_rest) return false;
  until_failure = 0;
  ++failures;
  errno = ENOMEM;
  return true;
}

void* Count(void* memory) {
  if (calls_of_driver == 0 && memory != nullptr) ++live;
  return memory;
}

}  // namespace

void BeginFailures(std::uint64_t number, Failing failing) {
  until_failure = number;
  fails_rest = failing == Failing::kRest;
  failures = 0;
  is_failing = true;
}

std::uint64_t EndFailures() {
  is_failing = false;
  return failures;
}

std::int64_t LiveAllocations() { return live; }

}  // namespace kvswap::tests

using kvswap::tests::Count;
using kvswap::tests::Fails;

#define EXPORTED __attribute__((visibility("default")))

extern "C" {

void kvswap_tests_enter_driver() { ++kvswap::tests::calls_of_driver; }
void kvswap_tests_leave_driver() { --kvswap::tests::calls_of_driver; }

EXPORTED void* malloc(std::size_t size) {
  return Fails() ? nullptr : Count(__libc_malloc(size));
}

EXPORTED void* calloc(std::size_t count, std::size_t size) {
  return Fails() ? nullptr : Count(__libc_calloc(count, size));
}

EXPORTED void* realloc(void* memory, std::size_t size) {
  if (size != 0 && Fails()) return nullptr;
  if (memory == nullptr) return Count(__libc_realloc(memory, size));
  return __libc_realloc(memory, size);
}

EXPORTED void* memalign(std::size_t alignment, std::size_t size) {
  return Fails() ? nullptr : Count(__libc_memalign(alignment, size));
}

EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return memalign(alignment, size);
}

EXPORTED int posix_memalign(void** memory, std::size_t alignment,
                            std::size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

EXPORTED void free(void* memory) {
  if (memory != nullptr && kvswap::tests::calls_of_driver == 0) {
    --kvswap::tests::live;
  }
  __libc_free(memory);
}

}  // extern "C"
