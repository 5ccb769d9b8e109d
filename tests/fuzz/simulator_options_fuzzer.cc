// The values of the environment variables KVSWAP_SIM_...: each is understood or
// refused.

#include <string>

#include "csrc/sim/options.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const int version = kvswap::sim::ParseVersion(text);
  FUZZ_CHECK(version >= 0 && version < 100000 && version % 10 == 0);
  if (version != 0) {
    FUZZ_CHECK(kvswap::sim::ParseVersion(kvswap::sim::FormatVersion(version)) ==
               version);
  }
  const int capability = kvswap::sim::ParseCapability(text);
  FUZZ_CHECK(capability >= 0 && capability < 1000);
  kvswap::sim::LookupLie lie;
  kvswap::sim::ParseLie(text, &lie);
  kvswap::sim::Faults faults;
  kvswap::sim::ParseFault(text, &faults);
  return 0;
}
