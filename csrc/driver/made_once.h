// A value that is made at its first use, once a process.

#ifndef KVSWAP_DRIVER_MADE_ONCE_H_
#define KVSWAP_DRIVER_MADE_ONCE_H_

#include <unistd.h>

#include <atomic>
#include <mutex>

namespace kvswap::driver {

// Like a static variable of a function, with one difference: a process that is
// forked while another thread makes the value does not wait for that thread,
// which it does not have, but makes its own. Never destroyed: uses may come
// from exit handlers. For variables of namespace scope.
template <typename Value>
class MadeOnce {
 public:
  constexpr MadeOnce() = default;
  MadeOnce(const MadeOnce&) = delete;
  MadeOnce& operator=(const MadeOnce&) = delete;

  // The value, which `make` gives where there is none. `make` must not ask for
  // it. May throw what `make` throws; the next use then tries again.
  template <typename Make>
  Value& Get(const Make& make) {
    Value* value = value_.load(std::memory_order_acquire);
    return value != nullptr ? *value : MakeValue(make);
  }

 private:
  struct Lock {
    explicit Lock(pid_t process_id) : process(process_id) {}

    const pid_t process;
    std::mutex mutex;
  };

  template <typename Make>
  Value& MakeValue(const Make& make) {
    const std::lock_guard<std::mutex> guard(LockOfProcess().mutex);
    Value* value = value_.load(std::memory_order_acquire);
    if (value == nullptr) {
      value = new Value(make());
      value_.store(value, std::memory_order_release);
    }
    return *value;
  }

  Lock& LockOfProcess() {
    const pid_t process = getpid();
    Lock* lock = lock_.load(std::memory_order_acquire);
    while (lock == nullptr || lock->process != process) {
      // The parent's stays: a thread may be waiting for it there.
      auto* const fresh = new Lock(process);
      if (lock_.compare_exchange_strong(lock, fresh)) return *fresh;
      delete fresh;
    }
    return *lock;
  }

  std::atomic<Value*> value_{nullptr};
  std::atomic<Lock*> lock_{nullptr};
};

}  // namespace kvswap::driver

#endif  // KVSWAP_DRIVER_MADE_ONCE_H_
