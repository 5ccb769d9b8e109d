// A number that each thread has of its own.

#ifndef KVSWAP_LOG_THREAD_NUMBER_H_
#define KVSWAP_LOG_THREAD_NUMBER_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace kvswap::log {

// What a thread_local variable would be, in a library that is loaded late: for
// that, glibc allocates memory at each thread's first use, and ends the process
// where there is none. Here Set says so. For variables of namespace scope.
class ThreadNumber {
 public:
  constexpr ThreadNumber() = default;
  ThreadNumber(const ThreadNumber&) = delete;
  ThreadNumber& operator=(const ThreadNumber&) = delete;

  // 0 until it is set. Allocates nothing.
  std::uintptr_t Get() const {
    const std::int64_t key = key_.load(std::memory_order_acquire);
    if (key == kNone) return 0;
    return reinterpret_cast<std::uintptr_t>(
        pthread_getspecific(static_cast<pthread_key_t>(key)));
  }

  // False where there is no memory for it; it is as it was then.
  bool Set(std::uintptr_t number) {
    std::int64_t key = key_.load(std::memory_order_acquire);
    if (key == kNone) {
      pthread_key_t made;
      if (pthread_key_create(&made, nullptr) != 0) return false;
      if (key_.compare_exchange_strong(key, made, std::memory_order_acq_rel)) {
        key = made;
      } else {
        pthread_key_delete(made);  // Another thread was faster.
      }
    }
    return pthread_setspecific(static_cast<pthread_key_t>(key),
                               reinterpret_cast<const void*>(number)) == 0;
  }

 private:
  static constexpr std::int64_t kNone = -1;

  std::atomic<std::int64_t> key_{kNone};
};

}  // namespace kvswap::log

#endif  // KVSWAP_LOG_THREAD_NUMBER_H_
