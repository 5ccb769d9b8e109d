// The environment variables KVSWAP_SIM_*.

#ifndef KVSWAP_SIM_OPTIONS_H_
#define KVSWAP_SIM_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "csrc/sim/faults.h"

namespace kvswap::sim {

struct Options {
  int driver_version = 0;  // as 12080
  int device_count = 1;
  // Of all devices, as 90 for 9.0; 0: as preset.
  int compute_capability = 0;
  // Answers of cuDeviceGetAttribute, for all devices.
  std::map<int, int> device_attributes;
  // Files of kernel plug-ins.
  std::vector<std::string> kernels;
  std::uint64_t seed = 1;
  std::string trace_file;  // empty: none
  Faults faults;
};

// The versions that this library can pass for, by the symbols that it exports.
struct VersionRange {
  int first;
  int last;
  int preset;  // where no version is chosen
};
VersionRange VersionsOfThisLibrary();

// The value of a variable; null: it is not set.
using Variables = std::function<const char*(const char* name)>;

// The options that variables ask for, of a library for `versions`. False where
// one is malformed: `why` names the variable and the value, and `options` holds
// what was read before.
bool ParseOptions(const VersionRange& versions, const Variables& variables,
                  Options* options, std::string* why);

// Those of the environment; a malformed value ends the process with a message
// that names the variable and the value.
Options ReadOptions();

// "9.0" as 90; 0 where the text is no compute capability.
int ParseCapability(const std::string& text);

// "12.8" as 12080; 0 where the text is no version.
int ParseVersion(const std::string& text);
std::string FormatVersion(int version);

// One item of KVSWAP_SIM_FAULTS: into `faults`, or false.
bool ParseFault(const std::string& text, Faults* faults);
bool ParseLie(const std::string& text, LookupLie* lie);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_OPTIONS_H_
