// The values of KVSWAP_ENGINE, KVSWAP_MAX_BATCH and KVSWAP_LOG, a line each:
// each is understood or refused, and who set it wrong is told which.

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "csrc/engine/names.h"
#include "csrc/engine/settings.h"
#include "csrc/kvswap.h"
#include "csrc/log/log.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using kvswap::tests::FuzzInput;

constexpr char kLogVariable[] = "KVSWAP_LOG";

void TakeLine(void* /*user_data*/, std::int32_t level, const char* message) {
  FUZZ_CHECK(level == KVSWAP_LOG_WARNING);
  FUZZ_CHECK(std::strstr(message, kLogVariable) != nullptr);
  FUZZ_CHECK(std::strchr(message, '\n') == nullptr);
}

bool IsCount(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= '0' && c <= '9'; }) &&
         text.find_first_not_of('0') != std::string::npos;
}

void CheckSettings(const std::string& engine, const std::string& max_batch) {
  const auto found =
      kvswap::engine::ParseEnvironment(engine.c_str(), max_batch.c_str());
  const std::int32_t number = kvswap::engine::EngineFromName(engine.c_str());
  if (!engine.empty() && number < 0) {
    FUZZ_CHECK(found.error.find("KVSWAP_ENGINE") != std::string::npos);
    return;
  }
  FUZZ_CHECK(found.engine == (engine.empty() ? KVSWAP_ENGINE_AUTO : number));
  if (!max_batch.empty() && !IsCount(max_batch)) {
    FUZZ_CHECK(found.error.find("KVSWAP_MAX_BATCH") != std::string::npos);
    return;
  }
  FUZZ_CHECK(found.error.empty() && found.max_batch > 0);
}

void CheckLog(const std::string& level) {
  FUZZ_CHECK(setenv(kLogVariable, level.c_str(), 1) == 0);
  kvswap::log::SetSink(TakeLine, nullptr, KVSWAP_LOG_FROM_ENVIRONMENT);
  std::int32_t expected = kvswap::log::LevelFromName(level.c_str());
  if (expected < 0) expected = KVSWAP_LOG_WARNING;
  for (const auto wanted : {KVSWAP_LOG_ERROR, KVSWAP_LOG_WARNING,
                            KVSWAP_LOG_INFO, KVSWAP_LOG_DEBUG}) {
    FUZZ_CHECK(kvswap::log::IsWanted(wanted) == (wanted <= expected));
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  FuzzInput input(data, size);
  const std::string engine = input.TakeLine();
  const std::string max_batch = input.TakeLine();
  CheckSettings(engine, max_batch);
  CheckLog(input.TakeLine());
  return 0;
}
