// Policies of the C ABI.

#include <algorithm>
#include <new>

#include "csrc/engine/policy.h"
#include "csrc/engine/report.h"
#include "csrc/engine/structures.h"
#include "csrc/kvswap.h"

extern "C" {

int kvswap_set_policy(const kvswap_policy* policy, kvswap_result* result) {
  if (result != nullptr && !kvswap::engine::HasValidSize(result)) {
    return KVSWAP_ERROR_INVALID_ARGUMENT;
  }
  kvswap_result report;
  kvswap::engine::InitReport(&report);
  kvswap_policy known = KVSWAP_POLICY_INIT;
  try {
    if (policy == nullptr) {
      kvswap::engine::SetProcessPolicy(nullptr);
    } else if (kvswap::engine::ReadPolicy(policy, &known, &report)) {
      kvswap::engine::SetProcessPolicy(&known);
    }
  } catch (const std::bad_alloc&) {
    kvswap::engine::Fail(&report, KVSWAP_ERROR_OUT_OF_MEMORY,
                         "the host ran out of memory for %zu rules. The policy "
                         "is as it was",
                         known.rule_count);
  }
  kvswap::engine::WriteResult(report, result);
  return report.code;
}

int kvswap_get_policy(int32_t compute_capability, kvswap_policy_rule* rules,
                      size_t capacity, size_t* count) {
  if (count == nullptr || (rules == nullptr && capacity != 0)) {
    return KVSWAP_ERROR_INVALID_ARGUMENT;
  }
  const kvswap::engine::PolicyInForce policy(nullptr, compute_capability);
  *count = policy.rule_count();
  std::copy_n(policy.rules(), std::min(capacity, policy.rule_count()), rules);
  return KVSWAP_OK;
}

}  // extern "C"
