#include "csrc/engine/settings.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "csrc/driver/made_once.h"
#include "csrc/engine/names.h"
#include "csrc/engine/policy.h"
#include "csrc/engine/report.h"
#include "csrc/engine/structures.h"

namespace kvswap::engine {
namespace {

constexpr char kEngineVariable[] = "KVSWAP_ENGINE";
constexpr char kMaxBatchVariable[] = "KVSWAP_MAX_BATCH";

// A whole number above zero; 0 where `text` is none.
std::size_t ParseCount(const char* text) {
  if (text[0] < '0' || text[0] > '9') return 0;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (*end != '\0') return 0;
  // A number too large for the type stays what it means: no cap of its own.
  return static_cast<std::size_t>(value);
}

EnvironmentSettings ReadEnvironment() {
  return ParseEnvironment(secure_getenv(kEngineVariable),
                          secure_getenv(kMaxBatchVariable));
}

driver::MadeOnce<const EnvironmentSettings> g_environment;

const EnvironmentSettings& GetEnvironment() {
  return g_environment.Get(ReadEnvironment);
}

}  // namespace

EnvironmentSettings ParseEnvironment(const char* engine,
                                     const char* max_batch) {
  EnvironmentSettings environment;
  if (engine != nullptr && engine[0] != '\0') {
    const std::int32_t number = EngineFromName(engine);
    if (number < 0) {
      environment.error = std::string("the environment variable ") +
                          kEngineVariable + " is \"" + engine +
                          "\", which is no engine. Set it to one of " +
                          AllEngineNames() + ", or unset it";
      return environment;
    }
    environment.engine = static_cast<kvswap_engine>(number);
  }
  if (max_batch != nullptr && max_batch[0] != '\0') {
    environment.max_batch = ParseCount(max_batch);
    if (environment.max_batch == 0) {
      environment.error =
          std::string("the environment variable ") + kMaxBatchVariable +
          " is \"" + max_batch +
          "\". Set it to a whole number above zero, or unset it";
    }
  }
  return environment;
}

bool ReadSettings(const kvswap_options* options, std::uint32_t known_flags,
                  Settings* settings, kvswap_result* report) {
  const EnvironmentSettings& environment = GetEnvironment();
  if (!environment.error.empty()) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT, "%s",
                environment.error.c_str());
  }
  kvswap_options given = KVSWAP_OPTIONS_INIT;
  if (options != nullptr && !ReadStructure(options, &given)) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "options.struct_size is %zu: set it to sizeof(kvswap_options) "
                "(here %zu) and what this library does not know to zero",
                options->struct_size, sizeof(given));
  }
  if (!IsEngine(given.engine)) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "engine %d is none. Use one of %s",
                static_cast<int>(given.engine), AllEngineNames());
  }
  if (!IsSourceAccess(given.source_access)) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "source_access %d is none. Use stream, during_api_call or any",
                static_cast<int>(given.source_access));
  }
  if (!IsPriority(given.priority)) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "priority %d is none. Use throughput or compute",
                static_cast<int>(given.priority));
  }
  if ((given.flags & ~known_flags) != 0) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "options.flags is 0x%x: a flag that this call does not know",
                given.flags);
  }
  if (given.policy != nullptr &&
      !ReadPolicy(given.policy, &settings->policy.emplace(), report)) {
    return false;
  }
  settings->engine = given.engine == KVSWAP_ENGINE_AUTO
                         ? environment.engine
                         : static_cast<kvswap_engine>(given.engine);
  settings->source_access =
      static_cast<kvswap_source_access>(given.source_access);
  settings->max_batch =
      std::min(given.max_batch == 0 ? environment.max_batch : given.max_batch,
               KVSWAP_MAX_BATCH_LIMIT);
  settings->flags = given.flags;
  settings->priority = static_cast<kvswap_priority>(given.priority);
  return true;
}

}  // namespace kvswap::engine
