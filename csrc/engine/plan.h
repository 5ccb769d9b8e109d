// Plans a call: checks it, finds its context and chooses what submits each of
// its copies. Nothing is submitted here.

#ifndef KVSWAP_ENGINE_PLAN_H_
#define KVSWAP_ENGINE_PLAN_H_

#include <cstddef>
#include <vector>

#include "csrc/driver/driver_table.h"
#include "csrc/engine/context.h"
#include "csrc/engine/context_state.h"
#include "csrc/engine/copies.h"
#include "csrc/engine/kernel_launcher.h"
#include "csrc/engine/memory_ranges.h"
#include "csrc/engine/policy.h"
#include "csrc/engine/runs.h"
#include "csrc/engine/settings.h"
#include "csrc/engine/stream.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// What submits the copies of a run.
struct Route {
  bool by_kernel = false;  // else by the plan's copy engine
  // Of a kernel: runs of one group have one shape and one size class, and share
  // launches.
  std::size_t group = 0;
  LaunchShape shape;
};

// One call from its checks to its end. While it lives after a successful Make,
// the context of the call is current on this thread.
class Plan {
 public:
  // The copies must outlive the plan.
  Plan(const driver::DriverTable& table, Copies* copies, void* stream)
      : table_(table),
        copies_(copies),
        stream_(stream),
        context_(table),
        ranges_(table) {}
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // False: `report` says what is wrong. May throw std::bad_alloc.
  bool Make(const kvswap_options* options, kvswap_result* report);

  // Gives the thread its former context back. What goes wrong is reported as an
  // error of the call, unless `report` holds one already.
  bool End(kvswap_result* report);

  // Tells the log what was found of the GPU. After End: the log's callback is
  // the caller's, and has the caller's context current.
  void Log() const;

  // The copies. None to submit: the call is done.
  const Copies& copies() const { return *copies_; }

  const driver::DriverTable& table() const { return table_; }
  const Stream& stream() const { return stream_; }
  const Settings& settings() const { return settings_; }
  bool capturing() const { return capturing_; }
  const MemoryRanges& ranges() const { return ranges_; }
  const std::vector<Run>& runs() const { return runs_.runs(); }
  // One for each run.
  const std::vector<Route>& routes() const { return routes_; }
  // BATCH, BRIDGE or LOOP: what submits copies that no kernel makes.
  kvswap_engine copy_engine() const { return copy_engine_; }
  Bridge* bridge() const { return bridge_; }
  // Null where no run goes by a kernel.
  const KernelModule* kernels() const { return kernels_; }
  // Copies that go by the copy engine, and by kernels.
  std::size_t copy_engine_count() const { return copy_engine_count_; }
  std::size_t kernel_count() const { return kernel_count_; }
  // Copies that were to go by kernels and cannot.
  std::size_t kernel_fallback_count() const { return kernel_fallback_count_; }

 private:
  bool ResolveContext(kvswap_result* report);
  bool FindRuns(kvswap_result* report);
  bool FindState(kvswap_result* report);
  bool ChooseEngines(kvswap_result* report);
  bool CheckSourceAccess(kvswap_result* report) const;
  bool CheckStrict(kvswap_result* report) const;
  kvswap_reason WhyNoBatch() const;
  kvswap_reason WhyNoBridge() const;
  kvswap_reason WhyNoKernel();
  kvswap_reason WhyNotReached(const Run& run) const;
  // The engine that copies go by which no kernel makes, as far as it is known
  // without opening a bridge.
  kvswap_engine CopyEngine() const;
  void ChooseRoutes(kvswap_result* report);
  // What the policy was asked last for copies of a direction and a size class.
  struct Asked {
    std::size_t size = 0;
    const kvswap_policy_rule* rule = nullptr;
  };
  struct Group {
    LaunchShape shape;
    int size_class;
  };
  std::size_t GroupOf(const LaunchShape& shape, int size_class);
  const kvswap_policy_rule* FindRule(const PolicyInForce& policy,
                                     const Run& run);
  std::size_t ContiguousCopies(const Run& run);
  bool OpenBridge(kvswap_result* report);

  const driver::DriverTable& table_;
  Copies* const copies_;
  const Stream stream_;
  ScopedContext context_;
  Settings settings_;
  bool capturing_ = false;
  MemoryRanges ranges_;
  RunList runs_;
  DescriptorBuffer sample_;
  std::vector<Asked> asked_;
  std::vector<Group> groups_;
  std::vector<Route> routes_;
  ContextState* state_ = nullptr;
  const KernelModule* kernels_ = nullptr;
  const KernelModule* found_kernels_ = nullptr;  // whatever came of them
  // Whether some copies are for whichever of BATCH, BRIDGE and LOOP can run.
  bool wants_copy_engine_ = true;
  kvswap_engine copy_engine_ = KVSWAP_ENGINE_LOOP;
  Bridge* bridge_ = nullptr;
  std::size_t copy_engine_count_ = 0;
  std::size_t kernel_count_ = 0;
  std::size_t kernel_fallback_count_ = 0;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_PLAN_H_
