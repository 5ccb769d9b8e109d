// The kernel's list of a process's mappings, as /proc/self/maps has it.

#ifndef KVSWAP_ENGINE_PROCESS_MAPS_H_
#define KVSWAP_ENGINE_PROCESS_MAPS_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>

namespace kvswap::engine {

enum class Access { kRead, kWrite };

// The first byte of [start, start + size) that the list does not show as
// accessible; nothing where it shows all. `maps` is at the list's beginning,
// which is in the order of addresses. Lines that are none of mappings are
// passed over. `start + size` does not overflow.
std::optional<std::uint64_t> FirstByteWithoutPermission(std::FILE* maps,
                                                        std::uint64_t start,
                                                        std::size_t size,
                                                        Access access);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_PROCESS_MAPS_H_
