#include "csrc/engine/policy.h"

#include "csrc/engine/policy_table.h"

namespace kvswap::engine {

PolicyInForce::PolicyInForce(const kvswap_policy* of_call,
                             int /*compute_capability*/)
    : rules_(of_call != nullptr ? of_call->rules : kHopperRules),
      rule_count_(of_call != nullptr
                      ? of_call->rule_count
                      : sizeof(kHopperRules) / sizeof(kHopperRules[0])) {}

const kvswap_policy_rule* PolicyInForce::Find(
    const Situation& situation) const {
  for (std::size_t i = 0; i < rule_count_; ++i) {
    const kvswap_policy_rule& rule = rules_[i];
    if ((rule.direction == -1 || rule.direction == situation.direction) &&
        (rule.priority == -1 || rule.priority == situation.priority) &&
        (rule.copy_engine == KVSWAP_ENGINE_AUTO ||
         rule.copy_engine == situation.copy_engine) &&
        (rule.max_size == 0 || situation.size <= rule.max_size) &&
        situation.count >= rule.min_count) {
      return &rule;
    }
  }
  return nullptr;
}

}  // namespace kvswap::engine
