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

[[noreturn]] void Refuse(const char* variable, const std::string& value,
                         const std::string& expected) {
  DieByAbort(std::string(variable) + "=\"" + value + "\" is not " + expected);
}

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

const char* Environment(const char* variable) {
  // They name libraries to load and files to write.
  const char* value = secure_getenv(variable);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

int ReadDriverVersion() {
  constexpr char kVariable[] = "KVSWAP_SIM_DRIVER_VERSION";
  const VersionRange range = VersionsOfThisLibrary();
  const char* value = Environment(kVariable);
  if (value == nullptr) return range.preset;
  const int version = ParseVersion(value);
  if (version < range.first || version > range.last) {
    Refuse(kVariable, value,
           "a version from " + FormatVersion(range.first) + " to " +
               FormatVersion(range.last) +
               ", what this library can pass for by its exported symbols");
  }
  return version;
}

int ReadDeviceCount() {
  constexpr char kVariable[] = "KVSWAP_SIM_DEVICES";
  const char* value = Environment(kVariable);
  if (value == nullptr) return 1;
  std::uint64_t count = 0;
  if (!ParseNumber(value, &count) || count > kMostDevices) {
    Refuse(kVariable, value,
           "a number from 0 to " + std::to_string(kMostDevices));
  }
  return static_cast<int>(count);
}

int ReadCapability() {
  constexpr char kVariable[] = "KVSWAP_SIM_COMPUTE_CAPABILITY";
  const char* value = Environment(kVariable);
  if (value == nullptr) return 0;
  const int capability = ParseCapability(value);
  if (capability == 0) Refuse(kVariable, value, "a number such as 9.0");
  return capability;
}

std::map<int, int> ReadDeviceAttributes() {
  constexpr char kVariable[] = "KVSWAP_SIM_DEVICE_ATTRIBUTES";
  std::map<int, int> attributes;
  const char* value = Environment(kVariable);
  if (value == nullptr) return attributes;
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
  for (const std::string& item : Split(value, ',')) {
    const std::size_t sign = item.find('=');
    std::uint64_t attribute = 0;
    std::uint64_t answer = 0;
    if (sign == std::string::npos ||
        !ParseNumber(item.substr(0, sign), &attribute) ||
        !ParseNumber(item.substr(sign + 1), &answer) || attribute > kMost ||
        answer > kMost) {
      Refuse(kVariable, value,
             "a list of ATTRIBUTE=VALUE, both numbers, separated by commas");
    }
    attributes[static_cast<int>(attribute)] = static_cast<int>(answer);
  }
  return attributes;
}

std::vector<std::string> ReadKernels() {
  const char* value = Environment("KVSWAP_SIM_KERNELS");
  return value == nullptr ? std::vector<std::string>() : Split(value, ':');
}

std::uint64_t ReadSeed() {
  constexpr char kVariable[] = "KVSWAP_SIM_SEED";
  const char* value = Environment(kVariable);
  if (value == nullptr) return 1;
  std::uint64_t seed = 0;
  if (std::string(value) == "random") {
    std::random_device device;
    seed = (std::uint64_t{device()} << 32) | device();
    Report("seed " + std::to_string(seed));
  } else if (!ParseNumber(value, &seed)) {
    Refuse(kVariable, value, "a number below 2^64 or \"random\"");
  }
  return seed;
}

void ReadFaults(Faults* faults) {
  constexpr char kWithout[] = "KVSWAP_SIM_WITHOUT";
  if (const char* value = Environment(kWithout)) {
    for (const std::string& name : Split(value, ',')) {
      if (!IsEntryName(name)) {
        Refuse(kWithout, value,
               "a list of driver functions, separated by commas: \"" + name +
                   "\" is not simulated");
      }
      faults->LeaveOut(name);
    }
  }
  constexpr char kLookup[] = "KVSWAP_SIM_LOOKUP";
  if (const char* value = Environment(kLookup)) {
    for (const std::string& item : Split(value, ',')) {
      const std::size_t sign = item.find('=');
      LookupLie lie;
      if (sign == std::string::npos || !IsEntryName(item.substr(0, sign)) ||
          !ParseLie(item.substr(sign + 1), &lie)) {
        Refuse(kLookup, value,
               "a list of NAME=code, NAME=null or NAME=status, separated by "
               "commas");
      }
      faults->SetLie(item.substr(0, sign), lie);
    }
  }
  constexpr char kFaults[] = "KVSWAP_SIM_FAULTS";
  if (const char* value = Environment(kFaults)) {
    for (const std::string& item : Split(value, ';')) {
      if (!ParseFault(item, faults)) {
        Refuse(kFaults, value,
               "a list of NAME#CALL=CODE[,index=N][,after] and "
               "cuMemcpyBatchAsync>COUNT=CODE, separated by semicolons");
      }
    }
  }
}

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

Options ReadOptions() {
  Options options;
  options.driver_version = ReadDriverVersion();
  options.device_count = ReadDeviceCount();
  options.compute_capability = ReadCapability();
  options.device_attributes = ReadDeviceAttributes();
  options.kernels = ReadKernels();
  options.seed = ReadSeed();
  ReadFaults(&options.faults);
  if (const char* file = Environment("KVSWAP_SIM_TRACE")) {
    options.trace_file = file;
  }
  return options;
}

}  // namespace kvswap::sim
