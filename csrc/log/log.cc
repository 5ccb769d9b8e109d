#include "csrc/log/log.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "csrc/log/thread_number.h"

namespace kvswap::log {

constexpr std::int32_t kNotKnown = INT32_MAX;

namespace internal {
std::atomic<std::int32_t> level{kNotKnown};
}  // namespace internal

namespace {

constexpr char kVariable[] = "KVSWAP_LOG";
constexpr kvswap_log_level kDefault = KVSWAP_LOG_WARNING;
// Indexed by kvswap_log_level.
constexpr const char* kNames[] = {"off", "error", "warning", "info", "debug"};
constexpr std::size_t kLineSize = 2048;

struct Sink {
  kvswap_log_callback callback;
  void* user_data;
  const Sink* former;  // stays: another thread may be using it
};

// Null: stderr.
std::atomic<const Sink*> sink{nullptr};

// 1: the thread is in a callback, whose own calls have nothing to say: a line
// for each of them would be answered by a call again.
ThreadNumber in_callback;

void WriteToStandardError(std::int32_t level, const char* message) {
  char line[kLineSize + 32];
  const int length = std::snprintf(line, sizeof(line), "kvswap: %s: %s\n",
                                   LevelName(level), message);
  // In one piece, and past the lock of stdio, which a fork may leave locked.
  const int error = errno;
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0) {
    errno = error;  // There is nobody to tell.
  }
}

void Give(kvswap_log_level level, const char* message) {
  const Sink* const current = sink.load(std::memory_order_acquire);
  if (current == nullptr || current->callback == nullptr) {
    WriteToStandardError(level, message);
    return;
  }
  // Without memory to know it by, no callback.
  if (!in_callback.Set(1)) return;
  current->callback(current->user_data, level, message);
  in_callback.Set(0);
}

std::int32_t LevelOfEnvironment(bool* is_wrong) {
  const char* text = secure_getenv(kVariable);
  *is_wrong = false;
  if (text == nullptr || text[0] == '\0') return kDefault;
  const std::int32_t level = LevelFromName(text);
  *is_wrong = level < 0;
  return *is_wrong ? kDefault : level;
}

void TellThatEnvironmentIsWrong() {
  static Once once;
  if (!once.IsFirst()) return;
  Write(
      KVSWAP_LOG_WARNING,
      "the environment variable %s is \"%s\", which is no level; it counts as "
      "%s. Set it to off, error, warning, info or debug, or unset it",
      kVariable, secure_getenv(kVariable), LevelName(kDefault));
}

}  // namespace

bool internal::IsWantedHere(kvswap_log_level wanted) {
  std::int32_t current = level.load(std::memory_order_relaxed);
  if (current == kNotKnown) {
    bool is_wrong;
    const std::int32_t read = LevelOfEnvironment(&is_wrong);
    // Unless another thread has set it meanwhile.
    if (level.compare_exchange_strong(current, read,
                                      std::memory_order_relaxed)) {
      current = read;
      if (is_wrong) TellThatEnvironmentIsWrong();
    }
  }
  return wanted <= current && in_callback.Get() == 0;
}

void Write(kvswap_log_level level, const char* format, ...) {
  if (!IsWanted(level)) return;
  char message[kLineSize];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  std::size_t length = std::strlen(message);
  while (length != 0 && message[length - 1] == '\n') message[--length] = '\0';
  std::replace(message, message + length, '\n', ' ');
  Give(level, message);
}

void SetSink(kvswap_log_callback callback, void* user_data,
             std::int32_t level) {
  const Sink* made =
      new Sink{callback, user_data, sink.load(std::memory_order_acquire)};
  sink.store(made, std::memory_order_release);
  bool is_wrong = false;
  if (level == KVSWAP_LOG_FROM_ENVIRONMENT) {
    level = LevelOfEnvironment(&is_wrong);
  }
  internal::level.store(level, std::memory_order_relaxed);
  if (is_wrong) TellThatEnvironmentIsWrong();
}

bool IsLevel(std::int32_t level) {
  return level >= KVSWAP_LOG_OFF && level <= KVSWAP_LOG_DEBUG;
}

const char* LevelName(std::int32_t level) {
  return IsLevel(level) ? kNames[level] : "unknown";
}

std::int32_t LevelFromName(const char* name) {
  for (std::int32_t level = 0; name != nullptr && IsLevel(level); ++level) {
    if (std::strcmp(kNames[level], name) == 0) return level;
  }
  return -1;
}

}  // namespace kvswap::log
