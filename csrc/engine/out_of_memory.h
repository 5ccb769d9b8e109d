// How functions of the C ABI, which throw nothing, run out of memory.

#ifndef KVSWAP_ENGINE_OUT_OF_MEMORY_H_
#define KVSWAP_ENGINE_OUT_OF_MEMORY_H_

#include <new>

#include "csrc/kvswap.h"

namespace kvswap::engine {

// What `function` returns, a kvswap_status; KVSWAP_ERROR_OUT_OF_MEMORY where it
// throws std::bad_alloc.
template <typename Function>
int WithoutThrowing(const Function& function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return KVSWAP_ERROR_OUT_OF_MEMORY;
  }
}

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_OUT_OF_MEMORY_H_
