#include "csrc/engine/plan.h"

#include <algorithm>
#include <cstdio>

#include "csrc/engine/advice.h"
#include "csrc/engine/call_log.h"
#include "csrc/engine/names.h"
#include "csrc/engine/report.h"

namespace kvswap::engine {
namespace {

// Neighbours that are looked at to tell whether copies are contiguous.
constexpr std::size_t kSample = 64;
// Runs of fewer copies are not worth a look at whether they are contiguous.
constexpr std::size_t kShortRun = 4;
// There may be as many short runs as copies: from here on the policy's answers
// are kept.
constexpr std::size_t kManyRuns = 32;
constexpr std::size_t kDirections = 4;
// Powers of two that a size can be.
constexpr std::size_t kSizeClasses = 64;

LaunchShape ShapeOf(const kvswap_policy_rule& rule) {
  LaunchShape shape;
  shape.kernel = static_cast<kvswap_kernel>(rule.kernel);
  shape.ctas = static_cast<unsigned>(rule.ctas);
  shape.threads = static_cast<unsigned>(rule.threads);
  shape.stages = static_cast<unsigned>(rule.stages);
  shape.stage_bytes = static_cast<unsigned>(rule.stage_bytes);
  return shape;
}

// The shape for copies that are to go by a kernel whatever the policy says:
// that of the rule for their size, else of the one for the longest.
LaunchShape ForcedShape(const PolicyInForce& policy, const Run& run,
                        kvswap_priority priority) {
  LaunchShape shape;
  for (std::size_t i = 0; i < policy.rule_count(); ++i) {
    const kvswap_policy_rule& rule = policy.rules()[i];
    if (rule.engine != KVSWAP_ENGINE_KERNEL ||
        (rule.direction != -1 && rule.direction != run.kind.direction) ||
        (rule.priority != -1 && rule.priority != priority)) {
      continue;
    }
    shape = ShapeOf(rule);
    if (rule.max_size == 0 || run.span.largest <= rule.max_size) break;
  }
  return shape;
}

}  // namespace

bool Plan::Make(const kvswap_options* options, kvswap_result* report) {
  if (!ReadSettings(options, copies_->KnownFlags(), &settings_, report) ||
      !copies_->CheckArguments(settings_.flags, report) ||
      !CheckHandle(stream_, report)) {
    return false;
  }
  report->dropped = copies_->dropped();
  if (copies_->count() == 0) return true;
  if (!table_.Usable()) {
    return Fail(report, KVSWAP_ERROR_NO_DRIVER, "%s", table_.message.c_str());
  }
  return ResolveContext(report) && FindState(report) && ChooseEngines(report);
}

// The capture status of a created stream is asked before anything else of the
// driver, and its context is entered before pointers are asked about: what
// kernels may touch is told for the current context. Handles 0, 1 and 2 have a
// meaning only in the context that the pointers name; what is asked to find it,
// pointer attributes and contexts, disturbs no capture (contract page).
bool Plan::ResolveContext(kvswap_result* report) {
  if (stream_.kind == KVSWAP_STREAM_CREATED) {
    if (!AskCapturing(table_, stream_, &capturing_, report) ||
        !context_.Enter(stream_, -1, report)) {
      return false;
    }
    report->device = context_.device();
    return FindRuns(report);
  }
  if (!FindRuns(report) || !context_.Enter(stream_, ranges_.device(), report)) {
    return false;
  }
  report->device = context_.device();
  // Asked in another context, or in none: the answers on what kernels may touch
  // were not this one's.
  if (!context_.was_current() && !FindRuns(report)) return false;
  return AskCapturing(table_, stream_, &capturing_, report);
}

bool Plan::FindRuns(kvswap_result* report) {
  ranges_.Forget();
  runs_ = RunList();
  if (!copies_->FindRuns(&ranges_, &runs_, report)) return false;
  report->pageable = runs_.pageable();
  return true;
}

bool Plan::FindState(kvswap_result* report) {
  int code = abi::kSuccess;
  state_ =
      FindContextState(table_, context_.context(), context_.device(), &code);
  return code == abi::kSuccess ||
         FailDriverCall(table_, code, "cuCtxGetId or cuDeviceGetAttribute",
                        report);
}

kvswap_reason Plan::WhyNoBatch() const {
  if (table_.MemcpyBatchAsync == nullptr) return KVSWAP_REASON_NO_BATCH_SYMBOL;
  if (stream_.kind == KVSWAP_STREAM_LEGACY) return KVSWAP_REASON_LEGACY_STREAM;
  if (capturing_) return KVSWAP_REASON_CAPTURING;
  return KVSWAP_REASON_NONE;
}

kvswap_reason Plan::WhyNoBridge() const {
  if (table_.MemcpyBatchAsync == nullptr) return KVSWAP_REASON_NO_BATCH_SYMBOL;
  if (stream_.kind != KVSWAP_STREAM_LEGACY) {
    return KVSWAP_REASON_NOT_LEGACY_STREAM;
  }
  if (capturing_) return KVSWAP_REASON_CAPTURING;
  return HasBridgeEntries(table_) && state_ != nullptr
             ? KVSWAP_REASON_NONE
             : KVSWAP_REASON_NO_BRIDGE;
}

kvswap_reason Plan::WhyNoKernel() {
  if (state_ == nullptr || !HasKernelEntries(table_)) {
    return KVSWAP_REASON_NO_KERNEL_ENTRY;
  }
  if (kernels_ == nullptr) kernels_ = &state_->Kernels();
  found_kernels_ = kernels_;
  return kernels_->reason;
}

kvswap_reason Plan::WhyNotReached(const Run& run) const {
  const bool reaches = run.kind.kernel_reaches &&
                       (!run.kind.has_pinned || state_->reaches_registered());
  return reaches ? KVSWAP_REASON_NONE : KVSWAP_REASON_NOT_REACHABLE;
}

kvswap_engine Plan::CopyEngine() const {
  if (settings_.engine == KVSWAP_ENGINE_LOOP) return KVSWAP_ENGINE_LOOP;
  if (WhyNoBatch() == KVSWAP_REASON_NONE) return KVSWAP_ENGINE_BATCH;
  // The batch engine on the legacy stream, asked for by name, is what the op of
  // engines falls back from: the loop.
  return settings_.engine != KVSWAP_ENGINE_BATCH &&
                 WhyNoBridge() == KVSWAP_REASON_NONE
             ? KVSWAP_ENGINE_BRIDGE
             : KVSWAP_ENGINE_LOOP;
}

// Copies of a sample that would join the one before.
std::size_t Plan::ContiguousCopies(const Run& run) {
  const std::size_t count = std::min(run.count(), kSample);
  const Descriptors view = copies_->View(run.first, count, &sample_);
  std::size_t contiguous = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t size = view.sizes[i - 1];
    if (static_cast<const char*>(view.sources[i - 1]) + size ==
            view.sources[i] &&
        static_cast<char*>(view.destinations[i - 1]) + size ==
            view.destinations[i]) {
      ++contiguous;
    }
  }
  return contiguous;
}

const kvswap_policy_rule* Plan::FindRule(const PolicyInForce& policy,
                                         const Run& run) {
  Situation situation = {run.kind.direction, settings_.priority, copy_engine_,
                         run.span.largest, runs_.CountOf(run.kind.direction)};
  if (run.count() < kShortRun) {
    if (runs().size() < kManyRuns) return policy.Find(situation);
    if (asked_.empty()) asked_.resize(kDirections * kSizeClasses);
    Asked& asked =
        asked_[static_cast<std::size_t>(run.kind.direction) * kSizeClasses +
               static_cast<std::size_t>(run.kind.size_class)];
    if (asked.size != situation.size) {
      asked = {situation.size, policy.Find(situation)};
    }
    return asked.rule;
  }
  // Where most copies would be put together, what counts is what comes of it.
  const std::size_t contiguous = ContiguousCopies(run);
  const std::size_t sample = std::min(run.count(), kSample);
  if (2 * contiguous >= sample && contiguous != 0) {
    const std::size_t longer =
        contiguous == sample - 1 ? run.count() : sample / (sample - contiguous);
    situation.size *= longer;
    situation.count = std::max(situation.count / longer, std::size_t{1});
  }
  return policy.Find(situation);
}

std::size_t Plan::GroupOf(const LaunchShape& shape, int size_class) {
  std::size_t group = 0;
  while (group < groups_.size() && !(groups_[group].size_class == size_class &&
                                     groups_[group].shape == shape)) {
    ++group;
  }
  if (group == groups_.size()) groups_.push_back({shape, size_class});
  return group;
}

void Plan::ChooseRoutes(kvswap_result* report) {
  const PolicyInForce policy(
      settings_.PolicyOfCall(),
      state_ == nullptr ? 0 : state_->compute_capability());
  const bool is_auto =
      settings_.engine == KVSWAP_ENGINE_AUTO &&
      settings_.source_access != KVSWAP_SOURCE_ACCESS_DURING_API_CALL;
  const bool is_kernel = settings_.engine == KVSWAP_ENGINE_KERNEL;
  wants_copy_engine_ = !is_auto;
  if (is_auto) copies_->MakeRoom(kSample, &sample_);
  routes_.assign(runs().size(), Route());
  asked_.clear();
  copy_engine_count_ = 0;
  kernel_count_ = 0;
  kernel_fallback_count_ = 0;
  for (std::size_t i = 0; i < runs().size(); ++i) {
    const Run& run = runs()[i];
    Route& route = routes_[i];
    const kvswap_policy_rule* rule = is_auto ? FindRule(policy, run) : nullptr;
    const int engine = is_kernel         ? KVSWAP_ENGINE_KERNEL
                       : rule != nullptr ? rule->engine
                                         : KVSWAP_ENGINE_BATCH;
    if (engine == KVSWAP_ENGINE_KERNEL) {
      kvswap_reason reason = WhyNoKernel();
      if (reason == KVSWAP_REASON_NONE) reason = WhyNotReached(run);
      // A kernel would move managed memory to its GPU page by page.
      if (is_auto && run.kind.has_managed) {
        wants_copy_engine_ = true;
      } else if (reason != KVSWAP_REASON_NONE) {
        report->unavailable[KVSWAP_ENGINE_KERNEL] = reason;
        kernel_fallback_count_ += run.count();
        wants_copy_engine_ = true;
      } else {
        route.by_kernel = true;
        route.shape = is_kernel ? ForcedShape(policy, run, settings_.priority)
                                : ShapeOf(*rule);
        route.group = GroupOf(route.shape, run.kind.size_class);
      }
    } else if (engine == KVSWAP_ENGINE_BATCH) {
      wants_copy_engine_ = true;
    }
    (route.by_kernel ? kernel_count_ : copy_engine_count_) += run.count();
  }
  // What launches that are refused leave over goes by the preferred one, too.
  if (!wants_copy_engine_ && copy_engine_count_ != 0) {
    copy_engine_ = KVSWAP_ENGINE_LOOP;
  }
  if (kernel_count_ == 0) kernels_ = nullptr;
}

// False: the bridge cannot be opened, and routes have to be chosen anew.
bool Plan::OpenBridge(kvswap_result* report) {
  if (copy_engine_ != KVSWAP_ENGINE_BRIDGE || copy_engine_count_ == 0) {
    return true;
  }
  bridge_ = state_->OpenBridge();
  if (bridge_ != nullptr) return true;
  report->unavailable[KVSWAP_ENGINE_BRIDGE] = KVSWAP_REASON_NO_BRIDGE;
  copy_engine_ = KVSWAP_ENGINE_LOOP;
  return false;
}

bool Plan::ChooseEngines(kvswap_result* report) {
  copy_engine_ = CopyEngine();
  ChooseRoutes(report);
  if (!OpenBridge(report)) ChooseRoutes(report);

  report->engine =
      kernel_count_ > copy_engine_count_ ? KVSWAP_ENGINE_KERNEL : copy_engine_;
  // A loop that was asked for, or that a rule is for, replaces nothing; nor
  // does a bridge that was asked for.
  const bool is_fallback = settings_.engine == KVSWAP_ENGINE_BATCH ||
                           (settings_.engine != copy_engine_ &&
                            wants_copy_engine_ && copy_engine_count_ != 0);
  if (is_fallback && copy_engine_ != KVSWAP_ENGINE_BATCH) {
    report->unavailable[KVSWAP_ENGINE_BATCH] = WhyNoBatch();
  }
  if (settings_.engine == KVSWAP_ENGINE_BRIDGE &&
      copy_engine_ != KVSWAP_ENGINE_BRIDGE &&
      report->unavailable[KVSWAP_ENGINE_BRIDGE] == KVSWAP_REASON_NONE) {
    report->unavailable[KVSWAP_ENGINE_BRIDGE] = WhyNoBridge();
  }
  return CheckSourceAccess(report) && CheckStrict(report);
}

bool Plan::CheckSourceAccess(kvswap_result* report) const {
  if (settings_.source_access != KVSWAP_SOURCE_ACCESS_DURING_API_CALL ||
      (copy_engine_ == KVSWAP_ENGINE_BATCH && kernel_count_ == 0)) {
    return true;
  }
  const bool asks_for_other = settings_.engine != KVSWAP_ENGINE_AUTO &&
                              settings_.engine != KVSWAP_ENGINE_BATCH;
  report->unavailable[report->engine] = KVSWAP_REASON_SOURCE_ACCESS;
  char asked_for[64];
  std::snprintf(asked_for, sizeof(asked_for), "the %s engine was asked for",
                EngineName(settings_.engine));
  return Fail(report, KVSWAP_ERROR_UNSUPPORTED,
              "source access during_api_call cannot be honoured here: only "
              "the batch engine can, and %s. Use stream access, and keep the "
              "sources unchanged until the stream has passed the copies. "
              "Nothing was submitted",
              asks_for_other ? asked_for : ReasonText(WhyNoBatch()));
}

bool Plan::CheckStrict(kvswap_result* report) const {
  if (!settings_.Has(KVSWAP_FLAG_STRICT)) return true;
  const int engine = settings_.engine;
  const int reason = report->unavailable[engine];
  if (engine == KVSWAP_ENGINE_AUTO || reason == KVSWAP_REASON_NONE) return true;
  if (reason == KVSWAP_REASON_NOT_REACHABLE) {
    for (std::size_t i = 0; i < runs().size(); ++i) {
      if (routes_[i].by_kernel) continue;
      BlameCopy(table_, *copies_, runs()[i].first, report);
      break;
    }
  }
  return Fail(report, KVSWAP_ERROR_UNSUPPORTED,
              "the %s engine was asked for strictly and cannot run: %s. %s. "
              "Without strict, an engine that can run takes its place. Nothing "
              "was submitted",
              EngineName(engine), ReasonText(reason),
              AdviceOn(reason, engine, engine, /*uses_loop=*/true).text);
}

void Plan::Log() const {
  if (found_kernels_ == nullptr) return;
  LogKernels(state_->device(), state_->compute_capability(), *found_kernels_);
}

bool Plan::End(kvswap_result* report) {
  const int code = context_.Leave();
  if (code == abi::kSuccess || report->code != KVSWAP_OK) {
    return report->code == KVSWAP_OK;
  }
  return FailDriverCall(table_, code,
                        "giving the thread its former context back", report);
}

}  // namespace kvswap::engine
