// The Python class SwapResult: what a successful call came to.

#ifndef KVSWAP_BINDINGS_SWAP_RESULT_H_
#define KVSWAP_BINDINGS_SWAP_RESULT_H_

#include <cstddef>
#include <cstdint>

#include "csrc/bindings/python_objects.h"
#include "csrc/kvswap.h"

namespace kvswap::bindings {

// Numbers only; strings and dictionaries are made when they are asked for, so
// that a call whose result nobody reads does not pay for them.
struct SwapResult {
  explicit SwapResult(const kvswap_result& result);

  int32_t engine;
  int32_t device;
  size_t submitted;
  uint64_t submitted_bytes;
  size_t dropped;
  size_t pageable;
  uint64_t copies[KVSWAP_ENGINE_SLOTS];
  int32_t unavailable[KVSWAP_ENGINE_SLOTS];
};

void AddSwapResult(py::module_& module);

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_SWAP_RESULT_H_
