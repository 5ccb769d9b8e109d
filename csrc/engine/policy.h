// Policies: which engine the copies of a call go to, as rules that are data.

#ifndef KVSWAP_ENGINE_POLICY_H_
#define KVSWAP_ENGINE_POLICY_H_

#include <cstddef>
#include "csrc/kvswap.h"

namespace kvswap::engine {

// Copies of a call that are alike.
struct Situation {
  kvswap_direction direction;
  kvswap_priority priority;
  kvswap_engine copy_engine;  // BATCH, BRIDGE or LOOP
  std::size_t size;           // bytes of a copy
  std::size_t count;          // copies of the direction in the call
};

// Reads a caller's policy of any version into `policy`, which refers to the
// caller's rules, and checks them. False: `report` says which is wrong, and
// what to do.
bool ReadPolicy(const kvswap_policy* given, kvswap_policy* policy,
                kvswap_result* report);

// The policy that holds for one call, unchanged by kvswap_set_policy meanwhile.
// No lock is taken and nothing allocated.
class PolicyInForce {
 public:
  // `of_call` (null: none), which ReadPolicy has read, must outlive this; else
  // the process's policy, else that of the GPU family. `compute_capability` is
  // as 90 for 9.0.
  PolicyInForce(const kvswap_policy* of_call, int compute_capability);
  ~PolicyInForce();
  PolicyInForce(const PolicyInForce&) = delete;
  PolicyInForce& operator=(const PolicyInForce&) = delete;

  // The first rule that is for the situation; null where none is.
  const kvswap_policy_rule* Find(const Situation& situation) const;

  const kvswap_policy_rule* rules() const { return rules_; }
  std::size_t rule_count() const { return rule_count_; }

 private:
  // Keeps the process's rules, and those before them, from being deleted.
  bool is_user_ = false;
  const kvswap_policy_rule* rules_;
  std::size_t rule_count_;
};

// Makes `policy` (null: each GPU family's own), which ReadPolicy has read, that
// of the process. The rules are copied. May throw std::bad_alloc.
void SetProcessPolicy(const kvswap_policy* policy);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_POLICY_H_
