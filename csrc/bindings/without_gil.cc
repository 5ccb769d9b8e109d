#include "csrc/bindings/without_gil.h"

#include <unistd.h>

namespace kvswap::bindings {

namespace {

// Keeps the thread for ever if it is unwound.
class ThreadKeeper {
 public:
  ThreadKeeper() = default;
  ThreadKeeper(const ThreadKeeper&) = delete;
  ThreadKeeper& operator=(const ThreadKeeper&) = delete;
  ~ThreadKeeper() {
    while (!done_) pause();
  }

  void Done() { done_ = true; }

 private:
  bool done_ = false;
};

}  // namespace

void RestoreThread(PyThreadState* state) {
  ThreadKeeper keeper;
  PyEval_RestoreThread(state);
  keeper.Done();
}

}  // namespace kvswap::bindings
