// Plans a call: checks it, finds its context and chooses its engine. Nothing is
// submitted here.

#ifndef KVSWAP_ENGINE_PLAN_H_
#define KVSWAP_ENGINE_PLAN_H_

#include <cstddef>

#include "csrc/driver/driver_table.h"
#include "csrc/engine/context.h"
#include "csrc/engine/copies.h"
#include "csrc/engine/report.h"
#include "csrc/engine/settings.h"
#include "csrc/engine/stream.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// One call from its checks to its end. While it lives after a successful Make,
// the context of the call is current on this thread.
class Plan {
 public:
  // The copies must outlive the plan.
  Plan(const driver::DriverTable& table, Copies* copies, void* stream)
      : table_(table), copies_(copies), stream_(stream), context_(table) {}

  // False: `report` says what is wrong. May throw std::bad_alloc.
  bool Make(const kvswap_options* options, kvswap_result* report);

  // Gives the thread its former context back. What goes wrong is reported as an
  // error of the call, unless `report` holds one already.
  bool End(kvswap_result* report);

  // The copies. None to submit: the call is done.
  const Copies& copies() const { return *copies_; }

  const driver::DriverTable& table() const { return table_; }
  const Stream& stream() const { return stream_; }
  const Settings& settings() const { return settings_; }
  bool capturing() const { return capturing_; }
  kvswap_engine engine() const { return engine_; }
  // Copy calls into the driver.
  std::size_t DriverCalls() const;

 private:
  bool ResolveContext(kvswap_result* report);
  bool ChooseEngine(kvswap_result* report);
  kvswap_reason WhyNoBatch() const;

  const driver::DriverTable& table_;
  Copies* const copies_;
  const Stream stream_;
  ScopedContext context_;
  Settings settings_;
  bool capturing_ = false;
  kvswap_engine engine_ = KVSWAP_ENGINE_AUTO;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_PLAN_H_
