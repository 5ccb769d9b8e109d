// Look-up in policies, and policies that change while calls use them.

#include "csrc/engine/policy.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "csrc/kvswap.h"
#include "tests/engine/check.h"

namespace kvswap::engine {
namespace {

constexpr int kAny = -1;

kvswap_policy_rule Rule(int direction, int priority, int copy_engine,
                        std::size_t max_size, std::size_t min_count) {
  kvswap_policy_rule rule = {};
  rule.direction = direction;
  rule.priority = priority;
  rule.copy_engine = copy_engine;
  rule.max_size = max_size;
  rule.min_count = min_count;
  rule.engine = KVSWAP_ENGINE_LOOP;
  return rule;
}

kvswap_policy PolicyOf(const std::vector<kvswap_policy_rule>& rules) {
  return {sizeof(kvswap_policy), rules.data(), rules.size()};
}

// The index of the rule for a situation; -1 where none is.
int Find(const std::vector<kvswap_policy_rule>& rules,
         const Situation& situation) {
  const kvswap_policy policy = PolicyOf(rules);
  const PolicyInForce in_force(&policy, 90);
  const kvswap_policy_rule* rule = in_force.Find(situation);
  return rule == nullptr ? -1 : static_cast<int>(rule - policy.rules);
}

void TestConditions() {
  const Situation situation = {KVSWAP_DIRECTION_DEVICE_TO_HOST,
                               KVSWAP_PRIORITY_COMPUTE, KVSWAP_ENGINE_BRIDGE,
                               4096, 8};
  const auto matches = [&](const kvswap_policy_rule& rule) {
    return Find({rule}, situation) == 0;
  };
  CHECK(matches(Rule(kAny, kAny, KVSWAP_ENGINE_AUTO, 0, 0)));
  CHECK(matches(Rule(1, 1, KVSWAP_ENGINE_BRIDGE, 4096, 8)));
  CHECK(!matches(Rule(0, 1, KVSWAP_ENGINE_BRIDGE, 4096, 8)));
  CHECK(!matches(Rule(1, 0, KVSWAP_ENGINE_BRIDGE, 4096, 8)));
  CHECK(!matches(Rule(1, 1, KVSWAP_ENGINE_BATCH, 4096, 8)));
  CHECK(!matches(Rule(1, 1, KVSWAP_ENGINE_BRIDGE, 4095, 8)));
  CHECK(!matches(Rule(1, 1, KVSWAP_ENGINE_BRIDGE, 4096, 9)));
  // The first of those that match.
  CHECK(Find({Rule(0, kAny, 0, 0, 0), Rule(1, kAny, 0, 0, 0),
              Rule(kAny, kAny, 0, 0, 0)},
             situation) == 1);
  CHECK(Find({}, situation) == -1);
}

// Every situation has a rule on every GPU, and large copies never go to a
// kernel where copy engines can take them together.
void TestFamilies() {
  for (const int compute_capability : {-1, 75, 80, 90, 100, 121}) {
    const PolicyInForce policy(nullptr, compute_capability);
    for (int direction = 0; direction < 4; ++direction) {
      for (int priority = 0; priority < 2; ++priority) {
        for (const kvswap_engine engine :
             {KVSWAP_ENGINE_BATCH, KVSWAP_ENGINE_BRIDGE, KVSWAP_ENGINE_LOOP}) {
          for (const std::size_t size : {1, 1 << 30}) {
            for (const std::size_t count : {1, 1 << 20}) {
              const kvswap_policy_rule* rule =
                  policy.Find({static_cast<kvswap_direction>(direction),
                               static_cast<kvswap_priority>(priority), engine,
                               size, count});
              CHECK(rule != nullptr);
              CHECK(rule->engine != KVSWAP_ENGINE_KERNEL || size == 1);
            }
          }
        }
      }
    }
    // The tables pass the checks of a caller's rules.
    const kvswap_policy table = {sizeof(kvswap_policy), policy.rules(),
                                 policy.rule_count()};
    kvswap_policy read;
    kvswap_result report = KVSWAP_RESULT_INIT;
    CHECK(ReadPolicy(&table, &read, &report));
  }
}

// A call keeps the policy that it began with.
void TestSnapshots() {
  std::vector<kvswap_policy_rule> rules(3, Rule(0, 0, 0, 1, 0));
  const kvswap_policy policy = PolicyOf(rules);
  SetProcessPolicy(&policy);
  const PolicyInForce before(nullptr, 90);
  SetProcessPolicy(nullptr);
  // Would take the place of rules that had been freed.
  const std::vector<std::vector<kvswap_policy_rule>> others(
      20, std::vector<kvswap_policy_rule>(3, Rule(0, 0, 0, 2, 0)));
  CHECK(others.size() == 20);
  CHECK(before.rule_count() == 3);
  CHECK(before.rules() != rules.data());
  CHECK(before.rules()[2].max_size == 1);
  CHECK(PolicyInForce(nullptr, 90).rule_count() != 3);
}

// Rules of one policy are alike, so that a mix of two would show.
void TestThreads() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&stop] {
      while (!stop.load()) {
        const PolicyInForce policy(nullptr, 90);
        const std::size_t mark = policy.rules()[0].min_count;
        if (mark < 100) continue;  // the family's
        CHECK(policy.rule_count() == mark);
        for (std::size_t k = 0; k < mark; ++k) {
          CHECK(policy.rules()[k].min_count == mark);
        }
      }
    });
  }
  for (std::size_t round = 0; round < 2000; ++round) {
    const std::size_t count = 100 + round % 50;
    const std::vector<kvswap_policy_rule> rules(count, Rule(0, 0, 0, 1, count));
    const kvswap_policy policy = PolicyOf(rules);
    SetProcessPolicy(round % 5 == 0 ? nullptr : &policy);
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  SetProcessPolicy(nullptr);
}

double NanosecondsToMake() {
  constexpr int kRounds = 1000000;
  std::size_t rules = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i) {
    rules += PolicyInForce(nullptr, 90).rule_count();
  }
  const std::chrono::duration<double, std::nano> time =
      std::chrono::steady_clock::now() - begin;
  CHECK(rules > 0);
  return time.count() / kRounds;
}

void PrintCost() {
  const double of_family = NanosecondsToMake();
  const std::vector<kvswap_policy_rule> rules(10, Rule(0, 0, 0, 1, 0));
  const kvswap_policy policy = PolicyOf(rules);
  SetProcessPolicy(&policy);
  std::printf("ns to make: %.1f of the family, %.1f of the process\n",
              of_family, NanosecondsToMake());
  SetProcessPolicy(nullptr);
}

}  // namespace
}  // namespace kvswap::engine

int main() {
  kvswap::engine::TestConditions();
  kvswap::engine::TestFamilies();
  kvswap::engine::TestSnapshots();
  kvswap::engine::TestThreads();
  kvswap::engine::PrintCost();
  return 0;
}
