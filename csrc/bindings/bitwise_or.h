#ifndef KVSWAP_CSRC_BINDINGS_BITWISE_OR_H_
#define KVSWAP_CSRC_BINDINGS_BITWISE_OR_H_

#include <cstddef>
#include <cstdint>

namespace kvswap::bindings {

// The bitwise or of all values: negative if and only if one of them is. Written
// by sixteens so that it is compiled to vector instructions at -O2 too.
inline int64_t BitwiseOr(const int64_t* values, size_t count) {
  constexpr size_t kLanes = 16;
  int64_t lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] |= values[i + lane];
    }
  }
  int64_t all = 0;
  for (int64_t lane : lanes) all |= lane;
  for (; i < count; ++i) all |= values[i];
  return all;
}

}  // namespace kvswap::bindings

#endif  // KVSWAP_CSRC_BINDINGS_BITWISE_OR_H_
