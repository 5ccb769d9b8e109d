// The memory of the driver that does nothing.

#ifndef KVSWAP_TESTS_ENGINE_NOOP_DRIVER_H_
#define KVSWAP_TESTS_ENGINE_NOOP_DRIVER_H_

#include <cstdint>

namespace kvswap::tests {

inline constexpr std::uint64_t kDeviceMemory = 0x200000000000;
inline constexpr std::uint64_t kPinnedMemory = 0x300000000000;
inline constexpr std::uint64_t kMemorySize = 1ull << 40;

}  // namespace kvswap::tests

#endif  // KVSWAP_TESTS_ENGINE_NOOP_DRIVER_H_
