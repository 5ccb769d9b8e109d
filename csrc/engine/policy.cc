#include "csrc/engine/policy.h"

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <vector>

#include "csrc/engine/names.h"
#include "csrc/engine/policy_table.h"
#include "csrc/engine/report.h"
#include "csrc/engine/structures.h"
#include "csrc/kernels/kernel_parameters.h"

namespace kvswap::engine {
namespace {

constexpr int kWarpThreads = 32;
constexpr int kMaxThreads = 1024;

// Says what is wrong with a rule, and what to do. Returns false.
bool FailRule(kvswap_result* report, std::size_t index, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

bool FailRule(kvswap_result* report, std::size_t index, const char* format,
              ...) {
  char problem[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(problem, sizeof(problem), format, arguments);
  va_end(arguments);
  return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
              "rule %zu of the policy: %s", index, problem);
}

bool CheckConditions(const kvswap_policy_rule& rule, std::size_t index,
                     kvswap_result* report) {
  if (rule.direction != kAny && !IsDirection(rule.direction)) {
    return FailRule(
        report, index,
        "direction %d is none. Use -1 (any), 0 (host_to_device), 1 "
        "(device_to_host), 2 (device_to_device) or 3 (host_to_host)",
        static_cast<int>(rule.direction));
  }
  if (rule.priority != kAny && !IsPriority(rule.priority)) {
    return FailRule(report, index,
                    "priority %d is none. Use -1 (any), 0 (throughput) or 1 "
                    "(compute)",
                    static_cast<int>(rule.priority));
  }
  switch (rule.copy_engine) {
    case KVSWAP_ENGINE_AUTO:
    case KVSWAP_ENGINE_BATCH:
    case KVSWAP_ENGINE_LOOP:
    case KVSWAP_ENGINE_BRIDGE:
      break;
    default:
      return FailRule(report, index,
                      "copy_engine %d (%s) drives no copy engine. Use batch, "
                      "bridge or loop, or auto for any",
                      static_cast<int>(rule.copy_engine),
                      EngineName(rule.copy_engine));
  }
  if (rule.reserved != 0) {
    return FailRule(report, index, "reserved is %d. Set it to zero",
                    static_cast<int>(rule.reserved));
  }
  return true;
}

bool CheckBulkKernel(const kvswap_policy_rule& rule, std::size_t index,
                     kvswap_result* report) {
  if (rule.threads != kWarpThreads) {
    return FailRule(report, index,
                    "threads is %d. CTAs of the bulk kernel have %d",
                    static_cast<int>(rule.threads), kWarpThreads);
  }
  constexpr int kMinStages = static_cast<int>(kernels::kMinStages);
  constexpr int kMaxStages = static_cast<int>(kernels::kMaxStages);
  if (rule.stages < kMinStages || rule.stages > kMaxStages) {
    return FailRule(report, index, "stages is %d. Use %d to %d",
                    static_cast<int>(rule.stages), kMinStages, kMaxStages);
  }
  constexpr int kAlignment = static_cast<int>(kernels::kStageAlignment);
  if (rule.stage_bytes <= 0 || rule.stage_bytes % kAlignment != 0) {
    return FailRule(report, index,
                    "stage_bytes is %d. Use a multiple of %d above zero",
                    static_cast<int>(rule.stage_bytes), kAlignment);
  }
  constexpr int kMaxRing = static_cast<int>(kernels::kMaxRingBytes);
  if (rule.stage_bytes > kMaxRing / rule.stages) {
    return FailRule(report, index,
                    "%d stages of %d bytes are more shared memory than any GPU "
                    "has. Use %d bytes in all at most",
                    static_cast<int>(rule.stages),
                    static_cast<int>(rule.stage_bytes), kMaxRing);
  }
  return true;
}

bool CheckPlainKernel(const kvswap_policy_rule& rule, std::size_t index,
                      kvswap_result* report) {
  if (rule.threads <= 0 || rule.threads > kMaxThreads ||
      rule.threads % kWarpThreads != 0) {
    return FailRule(report, index,
                    "threads is %d. Use a multiple of %d up to %d",
                    static_cast<int>(rule.threads), kWarpThreads, kMaxThreads);
  }
  if (rule.stages != 0 || rule.stage_bytes != 0) {
    return FailRule(report, index,
                    "stages and stage_bytes are of the bulk kernel. Set them "
                    "to zero, or kernel to 2 (bulk)");
  }
  return true;
}

bool CheckAction(const kvswap_policy_rule& rule, std::size_t index,
                 kvswap_result* report) {
  if (rule.engine != KVSWAP_ENGINE_KERNEL &&
      rule.engine != KVSWAP_ENGINE_BATCH && rule.engine != KVSWAP_ENGINE_LOOP) {
    return FailRule(report, index,
                    "engine %d (%s) cannot be chosen by a rule. Use kernel, "
                    "loop, or batch, which stands for whichever of batch, "
                    "bridge and loop can run",
                    static_cast<int>(rule.engine), EngineName(rule.engine));
  }
  if (rule.engine != KVSWAP_ENGINE_KERNEL) {
    if (rule.kernel != KVSWAP_KERNEL_NONE || rule.ctas != 0 ||
        rule.threads != 0 || rule.stages != 0 || rule.stage_bytes != 0) {
      return FailRule(report, index,
                      "kernel, ctas, threads, stages and stage_bytes are of "
                      "rules for the kernel engine. Set them to zero, or "
                      "engine to 3 (kernel)");
    }
    return true;
  }
  if (rule.ctas <= 0) {
    return FailRule(report, index, "ctas is %d. Use a number above zero",
                    static_cast<int>(rule.ctas));
  }
  switch (rule.kernel) {
    case KVSWAP_KERNEL_PLAIN:
      return CheckPlainKernel(rule, index, report);
    case KVSWAP_KERNEL_BULK:
      return CheckBulkKernel(rule, index, report);
    default:
      return FailRule(report, index,
                      "kernel %d (%s) cannot copy. Use 1 (plain) or 2 (bulk)",
                      static_cast<int>(rule.kernel), KernelName(rule.kernel));
  }
}

struct KeptRules {
  std::vector<kvswap_policy_rule> rules;
  KeptRules* next;  // of the former ones
};

// The policy of kvswap_set_policy. Without a lock, which a fork could leave
// locked in the child; and never destroyed, since calls may come from exit
// handlers.
std::atomic<KeptRules*> rules_of_process{nullptr};  // null: each family's own
// Calls that may have the rules, or former ones.
std::atomic<std::size_t> users_of_rules{0};
std::atomic<KeptRules*> former_rules{nullptr};

void AddToFormer(KeptRules* rules) {
  rules->next = former_rules.load();
  while (!former_rules.compare_exchange_weak(rules->next, rules)) {
  }
}

// Deletes former rules if no call can have them. Taken before users are looked
// for: who comes later finds the rules in force alone.
void DeleteFormer() {
  KeptRules* former = former_rules.exchange(nullptr);
  const bool has_users = users_of_rules.load() != 0;
  while (former != nullptr) {
    KeptRules* const next = former->next;
    if (has_users) {
      AddToFormer(former);
    } else {
      delete former;
    }
    former = next;
  }
}

const FamilyPolicy& PolicyOfFamily(int compute_capability) {
  const FamilyPolicy* family = kFamilyPolicies;
  while (family->major != kAny && family->major != compute_capability / 10) {
    ++family;
  }
  return *family;
}

static_assert(kFamilyPolicies[std::size(kFamilyPolicies) - 1].major == kAny,
              "there is a policy for every GPU");

}  // namespace

bool ReadPolicy(const kvswap_policy* given, kvswap_policy* policy,
                kvswap_result* report) {
  *policy = KVSWAP_POLICY_INIT;
  if (!ReadStructure(given, policy)) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "policy.struct_size is %zu: set it to sizeof(kvswap_policy) "
                "(here %zu) and what this library does not know to zero",
                given->struct_size, sizeof(*policy));
  }
  if (policy->rules == nullptr && policy->rule_count != 0) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "policy.rules is null and policy.rule_count is %zu. Pass the "
                "rules, or zero for a policy without any",
                policy->rule_count);
  }
  for (std::size_t i = 0; i < policy->rule_count; ++i) {
    if (!CheckConditions(policy->rules[i], i, report) ||
        !CheckAction(policy->rules[i], i, report)) {
      return false;
    }
  }
  return true;
}

PolicyInForce::PolicyInForce(const kvswap_policy* of_call,
                             int compute_capability) {
  if (of_call != nullptr) {
    rules_ = of_call->rules;
    rule_count_ = of_call->rule_count;
    return;
  }
  // Most processes never set one.
  if (rules_of_process.load() != nullptr) {
    is_user_ = true;
    ++users_of_rules;
    const KeptRules* const of_process = rules_of_process.load();
    if (of_process != nullptr) {
      rules_ = of_process->rules.data();
      rule_count_ = of_process->rules.size();
      return;
    }
  }
  const FamilyPolicy& family = PolicyOfFamily(compute_capability);
  rules_ = family.rules;
  rule_count_ = family.rule_count;
}

PolicyInForce::~PolicyInForce() {
  if (is_user_) --users_of_rules;
}

const kvswap_policy_rule* PolicyInForce::Find(
    const Situation& situation) const {
  for (std::size_t i = 0; i < rule_count_; ++i) {
    const kvswap_policy_rule& rule = rules_[i];
    // First what most rules fail by, in small calls: they feel each step.
    if (situation.count >= rule.min_count &&
        (rule.direction == kAny || rule.direction == situation.direction) &&
        (rule.priority == kAny || rule.priority == situation.priority) &&
        (rule.copy_engine == KVSWAP_ENGINE_AUTO ||
         rule.copy_engine == situation.copy_engine) &&
        (rule.max_size == 0 || situation.size <= rule.max_size)) {
      return &rule;
    }
  }
  return nullptr;
}

void SetProcessPolicy(const kvswap_policy* policy) {
  KeptRules* rules = nullptr;
  if (policy != nullptr) {
    rules = new KeptRules{{policy->rules, policy->rules + policy->rule_count},
                          nullptr};
  }
  KeptRules* const former = rules_of_process.exchange(rules);
  if (former != nullptr) AddToFormer(former);
  DeleteFormer();
}

}  // namespace kvswap::engine
