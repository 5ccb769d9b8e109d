// What an engine got the driver to accept.

#ifndef KVSWAP_ENGINE_SUBMISSION_H_
#define KVSWAP_ENGINE_SUBMISSION_H_

#include <cstddef>

#include "csrc/abi/cuda_driver_types.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

struct Submission {
  std::size_t accepted = 0;   // descriptors, from the first on
  int error = abi::kSuccess;  // CUresult of the first refused call
  std::size_t failed_index = KVSWAP_NO_INDEX;  // the descriptor it blames
  // What was refused, where it was no copy call; else null.
  const char* failed_call = nullptr;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_SUBMISSION_H_
