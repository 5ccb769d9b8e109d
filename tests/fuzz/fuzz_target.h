// What every fuzz target defines, as libFuzzer calls it.

#ifndef KVSWAP_TESTS_FUZZ_FUZZ_TARGET_H_
#define KVSWAP_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {

// Before the first input.
int LLVMFuzzerInitialize(int* argc, char*** argv);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

}  // extern "C"

// Ends the process, as a finding, unless `condition` holds.
#define FUZZ_CHECK(condition)                                               \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, \
                   #condition);                                             \
      std::abort();                                                         \
    }                                                                       \
  } while (false)

#endif  // KVSWAP_TESTS_FUZZ_FUZZ_TARGET_H_
