// The process's policy while threads set it and read it: each reader finds one
// that was set, whole; and a child that is forked meanwhile waits for none of
// the threads that it does not have.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "csrc/kvswap.h"
#include "tests/engine/check.h"

namespace {

constexpr int kChildren = 100;
constexpr std::size_t kMostRules = 40;

// A policy of `count` rules, each of which tells how many there are.
void SetPolicy(std::size_t count) {
  std::vector<kvswap_policy_rule> rules(
      count, {-1, -1, 0, 0, count, 0, KVSWAP_ENGINE_BATCH, 0, 0, 0, 0, 0});
  kvswap_policy policy = KVSWAP_POLICY_INIT;
  policy.rules = rules.data();
  policy.rule_count = rules.size();
  CHECK(kvswap_set_policy(&policy, nullptr) == KVSWAP_OK);
}

void CheckPolicy() {
  kvswap_policy_rule rules[kMostRules];
  std::size_t count = 0;
  CHECK(kvswap_get_policy(90, rules, kMostRules, &count) == KVSWAP_OK);
  CHECK(count != 0 && count <= kMostRules);
  for (std::size_t i = 0; i < count; ++i) CHECK(rules[i].max_size == count);
}

}  // namespace

int main() {
  SetPolicy(1);
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i <= 3; ++i) {
    threads.emplace_back([&ends, i] {
      std::size_t count = i;
      while (!ends.load()) {
        SetPolicy(count);
        CheckPolicy();
        count = count % kMostRules + 1;
      }
    });
  }
  for (int i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(20);
      CheckPolicy();
      SetPolicy(5);
      CheckPolicy();
      _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  ends.store(true);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
