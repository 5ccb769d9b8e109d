// What is made at first use is made once, whatever threads and forks do.

#include "csrc/driver/made_once.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/engine/check.h"

namespace kvswap::driver {
namespace {

MadeOnce<const int> g_raced;
MadeOnce<const int> g_forked;
MadeOnce<const int> g_failed;

void TestManyThreads() {
  std::atomic<int> made{0};
  std::atomic<bool> starts{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&] {
      while (!starts.load()) std::this_thread::yield();
      CHECK(g_raced.Get([&] {
        std::this_thread::yield();
        return ++made;
      }) == 1);
    });
  }
  starts.store(true);
  for (std::thread& thread : threads) thread.join();
  CHECK(made.load() == 1);
}

// The child lacks the thread that is making the value, and does not wait for
// it; the parent's value is not the child's.
void TestForkWhileItIsMade() {
  std::atomic<bool> is_making{false};
  std::atomic<bool> may_end{false};
  std::thread maker([&] {
    g_forked.Get([&] {
      is_making.store(true);
      while (!may_end.load()) std::this_thread::yield();
      return 1;
    });
  });
  while (!is_making.load()) std::this_thread::yield();
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20);
    const bool is_own = g_forked.Get([] { return 2; }) == 2;
    const bool is_kept = g_forked.Get([] { return 3; }) == 2;
    _exit(is_own && is_kept ? 0 : 1);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  may_end.store(true);
  maker.join();
  CHECK(g_forked.Get([] { return 3; }) == 1);
}

void TestFailureIsTriedAgain() {
  bool has_thrown = false;
  try {
    g_failed.Get([]() -> int { throw std::runtime_error("once"); });
  } catch (const std::runtime_error&) {
    has_thrown = true;
  }
  CHECK(has_thrown);
  CHECK(g_failed.Get([] { return 4; }) == 4);
}

}  // namespace
}  // namespace kvswap::driver

int main() {
  kvswap::driver::TestManyThreads();
  kvswap::driver::TestForkWhileItIsMade();
  kvswap::driver::TestFailureIsTriedAgain();
  return 0;
}
