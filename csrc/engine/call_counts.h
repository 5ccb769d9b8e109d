// What a call asked for and submitted, as far as its result does not tell.

#ifndef KVSWAP_ENGINE_CALL_COUNTS_H_
#define KVSWAP_ENGINE_CALL_COUNTS_H_

#include <cstddef>
#include <cstdint>

#include "csrc/kvswap.h"

namespace kvswap::engine {

struct CallCounts {
  // kvswap_engine, by the call's options or by KVSWAP_ENGINE.
  int asked_for = KVSWAP_ENGINE_AUTO;
  std::size_t driver_calls = 0;  // copy calls and launches
  // Copies that a copy engine got together with a neighbour.
  std::size_t coalesced = 0;
  // Copies that were to go by kernels and went by a copy engine.
  std::size_t kernel_fallbacks = 0;
  std::uint64_t engine_bytes[KVSWAP_ENGINE_SLOTS] = {};
  std::uint64_t direction_copies[KVSWAP_DIRECTION_SLOTS] = {};
  std::uint64_t direction_bytes[KVSWAP_DIRECTION_SLOTS] = {};
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_CALL_COUNTS_H_
