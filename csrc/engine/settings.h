// What a call is asked to do: its options, completed by the environment.

#ifndef KVSWAP_ENGINE_SETTINGS_H_
#define KVSWAP_ENGINE_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "csrc/kvswap.h"

namespace kvswap::engine {

struct Settings {
  kvswap_engine engine = KVSWAP_ENGINE_AUTO;
  kvswap_source_access source_access = KVSWAP_SOURCE_ACCESS_STREAM;
  std::size_t max_batch = KVSWAP_MAX_BATCH_DEFAULT;
  std::uint32_t flags = 0;  // KVSWAP_FLAG_...
  kvswap_priority priority = KVSWAP_PRIORITY_THROUGHPUT;
  // The call's own, which refers to the caller's rules.
  std::optional<kvswap_policy> policy;

  bool Has(std::uint32_t flag) const { return (flags & flag) != 0; }
  // For PolicyInForce: null where the call has none.
  const kvswap_policy* PolicyOfCall() const {
    return policy.has_value() ? &*policy : nullptr;
  }
};

// What the environment asks of calls that do not say.
struct EnvironmentSettings {
  kvswap_engine engine = KVSWAP_ENGINE_AUTO;
  std::size_t max_batch = KVSWAP_MAX_BATCH_DEFAULT;
  // For the user, who set them wrong; empty: every variable is well-formed.
  std::string error;
};

// By the values of KVSWAP_ENGINE and KVSWAP_MAX_BATCH; null or empty: not set.
EnvironmentSettings ParseEnvironment(const char* engine, const char* max_batch);

// Checks `options` (null: the defaults) and completes them by KVSWAP_ENGINE and
// KVSWAP_MAX_BATCH, which are read once a process. `known_flags` are those that
// the call can have. False: `report` says what is wrong.
bool ReadSettings(const kvswap_options* options, std::uint32_t known_flags,
                  Settings* settings, kvswap_result* report);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_SETTINGS_H_
