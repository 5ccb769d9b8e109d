#include "csrc/sim/options.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "csrc/sim/driver_functions.h"
#include "csrc/sim/report.h"

namespace kvswap::sim {
namespace {

constexpr int kMostDevices = 64;

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> items;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) items.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

bool ParseNumber(const std::string& text, std::uint64_t* number) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  char* end = nullptr;
  errno = 0;
  *number = std::strtoull(text.c_str(), &end, 0);
  return errno == 0 && *end == '\0';
}

bool ParseCode(const std::string& text, Result* code) {
  std::uint64_t number = 0;
  if (!ParseNumber(text, &number) || number > 99999) return false;
  *code = static_cast<Result>(number);
  return true;
}

// One variable after the other, up to the first that is malformed.
class Reader {
 public:
  Reader(const VersionRange& versions, const Variables& variables,
         std::string* why)
      : versions_(versions), variables_(variables), why_(why) {}

  bool ReadAll(Options* options) {
    return ReadDriverVersion(options) && ReadDeviceCount(options) &&
           ReadCapability(options) && ReadDeviceAttributes(options) &&
           ReadKernels(options) && ReadSeed(options) &&
           ReadLeftOut(&options->faults) && ReadLies(&options->faults) &&
           ReadFaults(&options->faults) && ReadTraceFile(options);
  }

 private:
  // Whether it is set, and not to nothing: it is the one that Refuse names.
  bool IsSet(const char* variable) {
    const char* value = variables_(variable);
    variable_ = variable;
    value_ = value == nullptr ? "" : value;
    return !value_.empty();
  }

  bool Refuse(const std::string& expected) {
    *why_ = std::string(variable_) + "=\"" + value_ + "\" is not " + expected;
    return false;
  }

  bool ReadDriverVersion(Options* options) {
    options->driver_version = versions_.preset;
    if (!IsSet("KVSWAP_SIM_DRIVER_VERSION")) return true;
    options->driver_version = ParseVersion(value_);
    return (options->driver_version >= versions_.first &&
            options->driver_version <= versions_.last) ||
           Refuse("a version from " + FormatVersion(versions_.first) + " to " +
                  FormatVersion(versions_.last) +
                  ", what this library can pass for by its exported symbols");
  }

  bool ReadDeviceCount(Options* options) {
    if (!IsSet("KVSWAP_SIM_DEVICES")) return true;
    std::uint64_t count = 0;
    if (!ParseNumber(value_, &count) || count > kMostDevices) {
      return Refuse("a number from 0 to " + std::to_string(kMostDevices));
    }
    options->device_count = static_cast<int>(count);
    return true;
  }

  bool ReadCapability(Options* options) {
    if (!IsSet("KVSWAP_SIM_COMPUTE_CAPABILITY")) return true;
    options->compute_capability = ParseCapability(value_);
    return options->compute_capability != 0 || Refuse("a number such as 9.0");
  }

  bool ReadDeviceAttributes(Options* options) {
    if (!IsSet("KVSWAP_SIM_DEVICE_ATTRIBUTES")) return true;
    constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
    for (const std::string& item : Split(value_, ',')) {
      const std::size_t sign = item.find('=');
      std::uint64_t attribute = 0;
      std::uint64_t answer = 0;
      if (sign == std::string::npos ||
          !ParseNumber(item.substr(0, sign), &attribute) ||
          !ParseNumber(item.substr(sign + 1), &answer) || attribute > kMost ||
          answer > kMost) {
        return Refuse(
            "a list of ATTRIBUTE=VALUE, both numbers, separated by commas");
      }
      options->device_attributes[static_cast<int>(attribute)] =
          static_cast<int>(answer);
    }
    return true;
  }

  bool ReadKernels(Options* options) {
    if (IsSet("KVSWAP_SIM_KERNELS")) options->kernels = Split(value_, ':');
    return true;
  }

  bool ReadSeed(Options* options) {
    if (!IsSet("KVSWAP_SIM_SEED")) return true;
    if (value_ == "random") {
      std::random_device device;
      options->seed = (std::uint64_t{device()} << 32) | device();
      Report("seed " + std::to_string(options->seed));
      return true;
    }
    return ParseNumber(value_, &options->seed) ||
           Refuse("a number below 2^64 or \"random\"");
  }

  bool ReadLeftOut(Faults* faults) {
    if (!IsSet("KVSWAP_SIM_WITHOUT")) return true;
    for (const std::string& name : Split(value_, ',')) {
      if (!IsEntryName(name)) {
        return Refuse("a list of driver functions, separated by commas: \"" +
                      name + "\" is not simulated");
      }
      faults->LeaveOut(name);
    }
    return true;
  }

  bool ReadLies(Faults* faults) {
    if (!IsSet("KVSWAP_SIM_LOOKUP")) return true;
    for (const std::string& item : Split(value_, ',')) {
      const std::size_t sign = item.find('=');
      LookupLie lie;
      if (sign == std::string::npos || !IsEntryName(item.substr(0, sign)) ||
          !ParseLie(item.substr(sign + 1), &lie)) {
        return Refuse(
            "a list of NAME=code, NAME=null or NAME=status, separated by "
            "commas");
      }
      faults->SetLie(item.substr(0, sign), lie);
    }
    return true;
  }

  bool ReadFaults(Faults* faults) {
    if (!IsSet("KVSWAP_SIM_FAULTS")) return true;
    for (const std::string& item : Split(value_, ';')) {
      if (!ParseFault(item, faults)) {
        return Refuse(
            "a list of NAME#CALL=CODE[,index=N][,after] and "
            "cuMemcpyBatchAsync>COUNT=CODE, separated by semicolons");
      }
    }
    return true;
  }

  bool ReadTraceFile(Options* options) {
    if (IsSet("KVSWAP_SIM_TRACE")) options->trace_file = value_;
    return true;
  }

  const VersionRange& versions_;
  const Variables& variables_;
  std::string* why_;
  const char* variable_ = "";
  std::string value_;
};

}  // namespace

VersionRange VersionsOfThisLibrary() {
  static const VersionRange range = [] {
    Dl_info info;
    void* self = nullptr;
    if (dladdr(reinterpret_cast<void*>(&cuInit), &info) != 0) {
      self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    }
    if (self == nullptr) {
      DieByAbort("cannot find the file that this library was loaded from");
    }
    const auto exports = [self](const char* symbol) {
      return dlsym(self, symbol) != nullptr;
    };
    VersionRange found = {11040, 11080, 11080};
    if (exports("cuMemcpyBatchAsync_v2")) {
      found = {13000, 13050, 13000};
    } else if (exports("cuMemcpyBatchAsync")) {
      found = {12080, 12090, 12080};
    } else if (exports("cuGetProcAddress_v2")) {
      found = {12000, 12070, 12040};
    }
    dlclose(self);
    return found;
  }();
  return range;
}

int ParseCapability(const std::string& text) {
  const int version = ParseVersion(text);
  return version / 1000 * 10 + version % 1000 / 10;
}

int ParseVersion(const std::string& text) {
  const std::size_t dot = text.find('.');
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  if (dot == std::string::npos || !ParseNumber(text.substr(0, dot), &major) ||
      !ParseNumber(text.substr(dot + 1), &minor) || major > 99 || minor > 9) {
    return 0;
  }
  return static_cast<int>(major * 1000 + minor * 10);
}

std::string FormatVersion(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

bool ParseLie(const std::string& text, LookupLie* lie) {
  if (text == "code") {
    *lie = LookupLie::kCode;
  } else if (text == "null") {
    *lie = LookupLie::kNull;
  } else if (text == "status") {
    *lie = LookupLie::kStatus;
  } else {
    return false;
  }
  return true;
}

bool ParseFault(const std::string& text, Faults* faults) {
  const std::vector<std::string> parts = Split(text, ',');
  if (parts.empty()) return false;
  const std::size_t sign = parts[0].find('=');
  if (sign == std::string::npos) return false;
  const std::string target = parts[0].substr(0, sign);
  const std::string code = parts[0].substr(sign + 1);

  const std::size_t above = target.find('>');
  if (above != std::string::npos) {
    BatchLimit limit;
    std::uint64_t count = 0;
    if (target.substr(0, above) != "cuMemcpyBatchAsync" ||
        !ParseNumber(target.substr(above + 1), &count) ||
        !ParseCode(code, &limit.code) || parts.size() != 1) {
      return false;
    }
    limit.count = count;
    faults->SetBatchLimit(limit);
    return true;
  }

  Fault fault;
  const std::size_t number = target.find('#');
  fault.entry = target.substr(0, number);
  fault.every_call =
      number != std::string::npos && target.substr(number + 1) == "*";
  if (number != std::string::npos && !fault.every_call &&
      (!ParseNumber(target.substr(number + 1), &fault.call) ||
       fault.call == 0)) {
    return false;
  }
  if (!IsEntryName(fault.entry) || !ParseCode(code, &fault.code)) return false;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    std::uint64_t index = 0;
    if (parts[i] == "after") {
      fault.after_work = true;
    } else if (parts[i].rfind("index=", 0) == 0 &&
               ParseNumber(parts[i].substr(6), &index)) {
      fault.failed_index = index;
    } else {
      return false;
    }
  }
  faults->Add(std::move(fault));
  return true;
}

bool ParseOptions(const VersionRange& versions, const Variables& variables,
                  Options* options, std::string* why) {
  return Reader(versions, variables, why).ReadAll(options);
}

Options ReadOptions() {
  Options options;
  std::string why;
  // Not in programs with more rights than their user: the variables name
  // libraries to load and files to write.
  if (!ParseOptions(
          VersionsOfThisLibrary(),
          [](const char* name) { return secure_getenv(name); }, &options,
          &why)) {
    DieByAbort(why);
  }
  return options;
}

}  // namespace kvswap::sim
