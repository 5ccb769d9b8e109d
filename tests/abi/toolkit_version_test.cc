// kToolkitVersion is the CUDA_VERSION of the toolkit of this row of the matrix,
// and 0 outside the matrix.

#include "csrc/abi/toolkit_version.h"

#include <cstdio>
#include <cstdlib>

int main() {
  const char* toolkit = std::getenv("KVSWAP_MATRIX_TOOLKIT");
  int major = 0;
  int minor = 0;
  if (toolkit != nullptr &&
      std::sscanf(toolkit, "%d.%d", &major, &minor) != 2) {
    std::printf("KVSWAP_MATRIX_TOOLKIT is no version: %s\n", toolkit);
    return 1;
  }
  const int expected = major * 1000 + minor * 10;
  std::printf("toolkit %s: expected %d, kToolkitVersion is %d\n",
              toolkit == nullptr ? "none" : toolkit, expected,
              kvswap::abi::kToolkitVersion);
  return kvswap::abi::kToolkitVersion == expected ? 0 : 1;
}
