// Tells whether host addresses can be read and written without a fault.
//
// The driver takes every address that it does not know for pageable host memory
// and reads or writes it on the CPU: a wild one takes the process down inside
// the driver (contract page, "a wild host address").

#ifndef KVSWAP_ENGINE_HOST_MEMORY_H_
#define KVSWAP_ENGINE_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace kvswap::engine {

// The first byte of [start, start + size), rounded down to its page, that
// cannot be read; nothing where all can. Never faults, changes nothing.
std::optional<std::uint64_t> FirstUnreadableByte(std::uint64_t start,
                                                 std::size_t size);

// The same for writing. May prefault the pages, changes no content.
std::optional<std::uint64_t> FirstUnwritableByte(std::uint64_t start,
                                                 std::size_t size);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_HOST_MEMORY_H_
