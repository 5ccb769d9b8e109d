// The log: lines for people, to stderr or to the callback of kvswap_set_log.
//
// Nothing here takes a lock or allocates, kvswap_set_log apart, and lines are
// written where no lock of kvswap is held: callbacks may call kvswap.

#ifndef KVSWAP_LOG_LOG_H_
#define KVSWAP_LOG_LOG_H_

#include <atomic>
#include <cstdint>

#include "csrc/kvswap.h"

namespace kvswap::log {

namespace internal {
// The level in force; above all levels until it is known.
extern std::atomic<std::int32_t> level;
bool IsWantedHere(kvswap_log_level wanted);
}  // namespace internal

// Whether lines of a level are written. Where they are not, a relaxed load and
// no more, once the environment has been read.
inline bool IsWanted(kvswap_log_level level) {
  return level <= internal::level.load(std::memory_order_relaxed) &&
         internal::IsWantedHere(level);
}

// Writes a line (printf-like) where its level is wanted. Line feeds in it
// become spaces; what is too long is cut.
void Write(kvswap_log_level level, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// For what is said once a process.
class Once {
 public:
  // True for the first caller alone.
  bool IsFirst() {
    return !said_.load(std::memory_order_relaxed) &&
           !said_.exchange(true, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> said_{false};
};

// kvswap_set_log. May throw std::bad_alloc; all is as it was then.
void SetSink(kvswap_log_callback callback, void* user_data, std::int32_t level);

bool IsLevel(std::int32_t level);
const char* LevelName(std::int32_t level);
// -1 where there is none of that name, or `name` is null.
std::int32_t LevelFromName(const char* name);

}  // namespace kvswap::log

#endif  // KVSWAP_LOG_LOG_H_
