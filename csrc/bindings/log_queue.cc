#include "csrc/bindings/log_queue.h"

#include <stdlib.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "csrc/bindings/code_beside_call.h"
#include "csrc/bindings/python_objects.h"
#include "csrc/kvswap.h"
#include "csrc/log/thread_number.h"

namespace kvswap::bindings {

struct LogLine {
  LogLine* former;
  std::int32_t level;
  std::string text;
};

std::atomic<LogLine*> last_log_line{nullptr};

namespace {

// Lines that wait at most, where no thread comes to hand them over.
constexpr int kMostLines = 1000;

std::atomic<int> waiting_lines{0};
std::atomic<int> lost_lines{0};

// 1: the thread is in a handler of logging. What calls of the handler's own
// have to say is left out: a line for each would be answered by a call again.
log::ThreadNumber is_handing_over;

// A kvswap_log_callback: throws nothing.
void Queue(void* /*user_data*/, std::int32_t level, const char* message) {
  if (is_handing_over.Get() != 0) return;
  if (waiting_lines.fetch_add(1, std::memory_order_relaxed) >= kMostLines) {
    waiting_lines.fetch_sub(1, std::memory_order_relaxed);
    lost_lines.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  LogLine* line;
  try {
    line = new LogLine{nullptr, level, message};
  } catch (const std::bad_alloc&) {
    waiting_lines.fetch_sub(1, std::memory_order_relaxed);
    lost_lines.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  line->former = last_log_line.load(std::memory_order_relaxed);
  while (!last_log_line.compare_exchange_weak(line->former, line,
                                              std::memory_order_release,
                                              std::memory_order_relaxed)) {
  }
}

// All lines that wait, the first one first.
LogLine* TakeAll() {
  LogLine* last = last_log_line.exchange(nullptr, std::memory_order_acquire);
  LogLine* first = nullptr;
  int count = 0;
  while (last != nullptr) {
    LogLine* const former = last->former;
    last->former = first;
    first = last;
    last = former;
    ++count;
  }
  waiting_lines.fetch_sub(count, std::memory_order_relaxed);
  return first;
}

// Deletes the line; the one behind it.
LogLine* Next(LogLine* line) {
  LogLine* const next = line->former;
  delete line;
  return next;
}

void HandOver(CodeBesideCall* code, std::int32_t level,
              const std::string& text) {
  try {
    // A message of the driver's may be cut within a character.
    auto message = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
        text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    if (!message) throw py::error_already_set();
    py::module_::import("kvswap.log_records").attr("hand_over")(level, message);
  } catch (py::error_already_set& error) {
    // What was copied was copied: the call does not fail for its log.
    code->SetAside(error, "the log of kvswap");
  } catch (const std::exception&) {
    // No memory for a line: it is lost, and the call goes on.
  }
}

}  // namespace

void QueueLog() {
  // Without KVSWAP_LOG it is for Python's logging to choose, among the lines
  // that come once a process.
  const char* chosen = secure_getenv("KVSWAP_LOG");
  kvswap_set_log(&Queue, nullptr,
                 chosen == nullptr || chosen[0] == '\0'
                     ? static_cast<std::int32_t>(KVSWAP_LOG_INFO)
                     : KVSWAP_LOG_FROM_ENVIRONMENT);
}

void HandOverQueuedLog() {
  if (is_handing_over.Get() != 0 || Py_IsInitialized() == 0) return;
  CodeBesideCall code;
  // Without memory to know it by, the lines wait.
  if (!is_handing_over.Set(1)) return;
  for (LogLine* line = TakeAll(); line != nullptr; line = Next(line)) {
    HandOver(&code, line->level, line->text);
  }
  const int lost = lost_lines.exchange(0, std::memory_order_relaxed);
  if (lost != 0) {
    HandOver(&code, KVSWAP_LOG_WARNING,
             std::to_string(lost) +
                 " lines were lost: too many waited for a call from Python");
  }
  is_handing_over.Set(0);
}

void DropLog() {
  for (LogLine* line = TakeAll(); line != nullptr; line = Next(line)) {
  }
  waiting_lines.store(0, std::memory_order_relaxed);
  lost_lines.store(0, std::memory_order_relaxed);
}

}  // namespace kvswap::bindings
