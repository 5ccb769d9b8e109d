// Lines of the library's log on their way to Python's logging.
//
// The library gives lines to any thread's callback, with the GIL or without.
// There they are queued, by no function of Python's and under no lock, which a
// fork could leave locked. Whichever thread next has the GIL back after a call
// hands them over.

#ifndef KVSWAP_BINDINGS_LOG_QUEUE_H_
#define KVSWAP_BINDINGS_LOG_QUEUE_H_

#include <atomic>

namespace kvswap::bindings {

struct LogLine;
// The last line that was queued; null: there is none.
extern std::atomic<LogLine*> last_log_line;

// Has the library queue its lines from now on.
void QueueLog();

// Gives the lines to kvswap.log_records, with the GIL. Errors there are
// reported as Python reports those that nobody can catch.
void HandOverQueuedLog();
inline void HandOverLog() {
  if (last_log_line.load(std::memory_order_relaxed) != nullptr) {
    HandOverQueuedLog();
  }
}

// Forgets the lines, which after a fork are the parent's.
void DropLog();

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_LOG_QUEUE_H_
