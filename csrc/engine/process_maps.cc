#include "csrc/engine/process_maps.h"

#include <cinttypes>

namespace kvswap::engine {

std::optional<std::uint64_t> FirstByteWithoutPermission(std::FILE* maps,
                                                        std::uint64_t start,
                                                        std::size_t size,
                                                        Access access) {
  const std::uint64_t end = start + size;
  std::uint64_t next = start;  // all before this byte is accessible
  char line[512];
  bool at_line_start = true;
  while (next < end && std::fgets(line, sizeof(line), maps) != nullptr) {
    const bool is_line_start = at_line_start;
    at_line_start = false;
    for (const char* c = line; *c != '\0'; ++c) {
      if (*c == '\n') at_line_start = true;
    }
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    char permissions[5] = "";
    if (!is_line_start || std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &low,
                                      &high, permissions) != 3) {
      continue;
    }
    if (high <= next) continue;
    const bool allowed =
        access == Access::kRead ? permissions[0] == 'r' : permissions[1] == 'w';
    if (low > next || !allowed) return next;
    next = high;
  }
  return next < end ? std::optional<std::uint64_t>(next) : std::nullopt;
}

}  // namespace kvswap::engine
