// Plans a call: checks it, finds its context and chooses its engine. Nothing is
// submitted here.

#ifndef KVSWAP_ENGINE_PLAN_H_
#define KVSWAP_ENGINE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csrc/driver/driver_table.h"
#include "csrc/engine/context.h"
#include "csrc/engine/report.h"
#include "csrc/engine/settings.h"
#include "csrc/engine/stream.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// One call from its checks to its end. While it lives after a successful Make,
// the context of the call is current on this thread.
class Plan {
 public:
  // The descriptors and what they point to must outlive the plan.
  Plan(const driver::DriverTable& table, const Descriptors& given, void* stream)
      : table_(table), given_(given), stream_(stream), context_(table) {}

  // False: `report` says what is wrong. May throw std::bad_alloc.
  bool Make(const kvswap_options* options, kvswap_result* report);

  // Gives the thread its former context back. What goes wrong is reported as an
  // error of the call, unless `report` holds one already.
  bool End(kvswap_result* report);

  // What to submit: descriptors of a size other than zero. None: the call is
  // done.
  const Descriptors& descriptors() const { return kept_; }
  // The caller's index of a descriptor to submit.
  std::size_t GivenIndex(std::size_t kept_index) const {
    return given_indices_.empty() ? kept_index : given_indices_[kept_index];
  }
  const Descriptors& given() const { return given_; }
  std::uint64_t bytes() const { return bytes_; }

  const driver::DriverTable& table() const { return table_; }
  const Stream& stream() const { return stream_; }
  const Settings& settings() const { return settings_; }
  bool capturing() const { return capturing_; }
  kvswap_engine engine() const { return engine_; }
  // Copy calls into the driver.
  std::size_t DriverCalls() const;

 private:
  bool CheckArguments(kvswap_result* report);
  void DropZeroSizes();
  bool ResolveContext(kvswap_result* report);
  bool ChooseEngine(kvswap_result* report);
  kvswap_reason WhyNoBatch() const;

  const driver::DriverTable& table_;
  const Descriptors given_;
  const Stream stream_;
  ScopedContext context_;
  Settings settings_;
  std::size_t dropped_ = 0;
  std::uint64_t bytes_ = 0;
  bool capturing_ = false;
  kvswap_engine engine_ = KVSWAP_ENGINE_AUTO;
  // The caller's own arrays, or without the dropped descriptors the ones below.
  Descriptors kept_ = {nullptr, nullptr, nullptr, 0};
  std::vector<const void*> kept_sources_;
  std::vector<void*> kept_destinations_;
  std::vector<std::size_t> kept_sizes_;
  std::vector<std::size_t> given_indices_;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_PLAN_H_
