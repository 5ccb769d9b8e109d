// The values of the environment variables KVSWAP_SIM_..., a line each: each is
// understood or refused, and who set it wrong is told which.

#include <map>
#include <string>

#include "csrc/sim/options.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using kvswap::sim::Options;

// In the order of the lines. Not the trace's, which is a path and nothing else.
constexpr const char* kVariables[] = {
    "KVSWAP_SIM_DRIVER_VERSION",
    "KVSWAP_SIM_DEVICES",
    "KVSWAP_SIM_COMPUTE_CAPABILITY",
    "KVSWAP_SIM_DEVICE_ATTRIBUTES",
    "KVSWAP_SIM_KERNELS",
    "KVSWAP_SIM_SEED",
    "KVSWAP_SIM_WITHOUT",
    "KVSWAP_SIM_LOOKUP",
    "KVSWAP_SIM_FAULTS",
};

constexpr kvswap::sim::VersionRange kVersions = {13000, 13050, 13000};

void CheckOptions(const Options& options) {
  const int version = options.driver_version;
  FUZZ_CHECK(version >= kVersions.first && version <= kVersions.last);
  FUZZ_CHECK(kvswap::sim::ParseVersion(kvswap::sim::FormatVersion(version)) ==
             version);
  FUZZ_CHECK(options.device_count >= 0 && options.device_count <= 64);
  FUZZ_CHECK(options.compute_capability >= 0 &&
             options.compute_capability < 1000);
  for (const auto& [attribute, answer] : options.device_attributes) {
    FUZZ_CHECK(attribute >= 0 && answer >= 0);
  }
  for (const auto& file : options.kernels) FUZZ_CHECK(!file.empty());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  kvswap::tests::FuzzInput input(data, size);
  std::map<std::string, std::string> values;
  for (const char* name : kVariables) values[name] = input.TakeLine();
  // The seed that is random is told on standard error, each time.
  if (values["KVSWAP_SIM_SEED"] == "random") return 0;
  const auto value = [&](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
  Options options;
  std::string why;
  if (kvswap::sim::ParseOptions(kVersions, value, &options, &why)) {
    CheckOptions(options);
    return 0;
  }
  // Names the variable, and has its value.
  const std::string name = why.substr(0, why.find('='));
  FUZZ_CHECK(values.count(name) == 1);
  FUZZ_CHECK(why.find(value(name.c_str())) != std::string::npos);
  return 0;
}
