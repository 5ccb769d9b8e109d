#include "csrc/driver/driver_table.h"

#include "csrc/driver/driver_log.h"
#include "csrc/driver/made_once.h"
#include "csrc/log/log.h"

namespace kvswap::driver {
namespace {

// "12.8" of 12080
std::string VersionText(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

std::string WhyMissing(const EntryReport& entry, int driver_version) {
  const LookupAnswer& answer = entry.answer;
  if (answer.Found()) return "";
  if (driver_version != 0 && driver_version < entry.version) {
    return "the driver supports CUDA " + VersionText(driver_version) +
           "; this function exists from " + VersionText(entry.version) + " on";
  }
  if (answer.code != abi::kSuccess) {
    return "cuGetProcAddress returned error " + std::to_string(answer.code);
  }
  switch (answer.status) {
    case abi::kProcAddressQuerySymbolNotFound:
      return "the driver has no function of this name";
    case abi::kProcAddressQueryVersionNotSufficient:
      return "the driver has this function only for versions after " +
             VersionText(entry.version);
    default:
      return "cuGetProcAddress gave no address";
  }
}

std::string MissingRequired(const std::vector<EntryReport>& entries) {
  std::string names;
  for (const EntryReport& entry : entries) {
    if (entry.need == Need::kOptional || entry.answer.Found()) continue;
    names.append(names.empty() ? "" : ", ");
    names.append(entry.name).append(" (").append(entry.message).append(")");
  }
  return names;
}

int AskVersion(const DriverTable& table) {
  int version = 0;
  if (table.DriverGetVersion == nullptr) return 0;
  return table.DriverGetVersion(&version) == abi::kSuccess ? version : 0;
}

// No library was loaded. Where a variable named one, that is what to mend:
// nothing else was tried.
std::string WhyNoLibrary(const Library& library) {
  if (library.variable.empty()) {
    return "no CUDA driver library could be loaded. Install the NVIDIA driver, "
           "or name its libcuda.so.1 in KVSWAP_LIBCUDA. Tried:\n" +
           library.tried;
  }
  return std::string("the environment variable ") + kLibraryVariable +
         " is \"" + library.variable +
         "\", which cannot be loaded as the CUDA driver. Set it to the path of "
         "a libcuda.so.1, or unset it, and the system's is looked for. "
         "Tried:\n" +
         library.tried;
}

// "the driver /usr/lib/libcuda.so.1", and what named it.
std::string NameDriver(const Library& library) {
  std::string name = "the driver " + library.path;
  if (!library.variable.empty()) {
    name.append(" (named by ").append(kLibraryVariable).append(")");
  }
  return name;
}

DriverTable ResolveDriverTable() {
  DriverTable table;
  table.library = OpenDriverLibrary();
  if (table.library.handle == nullptr) {
    table.message = WhyNoLibrary(table.library);
    return table;
  }
  const ProcAddressLookup lookup(table.library.handle);
  if (!lookup.Available()) {
    table.message = NameDriver(table.library) +
                    " exports no cuGetProcAddress: it is a driver before CUDA "
                    "11.3, or no CUDA driver. kvswap needs CUDA 11.4 or newer";
    return table;
  }

#define KVSWAP_RESOLVE(name, version, need)                                \
  {                                                                        \
    EntryReport entry{"cu" #name, version, Need::need,                     \
                      lookup.Find("cu" #name, version), ""};               \
    if (entry.answer.Found()) {                                            \
      table.name =                                                         \
          reinterpret_cast<abi::name##_v##version>(entry.answer.function); \
    }                                                                      \
    table.entries.push_back(entry);                                        \
  }
  KVSWAP_DRIVER_ENTRIES(KVSWAP_RESOLVE)
#undef KVSWAP_RESOLVE

  table.version = AskVersion(table);
  for (EntryReport& entry : table.entries) {
    entry.message = WhyMissing(entry, table.version);
  }
  const std::string missing = MissingRequired(table.entries);
  if (!missing.empty()) {
    table.message = NameDriver(table.library) +
                    " lacks what every copy needs: " + missing +
                    ". kvswap needs a driver for CUDA 11.4 or newer";
  } else if (table.version == 0) {
    table.message = NameDriver(table.library) +
                    " does not tell its version: it may be a toolkit's stub "
                    "library. Name the real libcuda.so.1 in KVSWAP_LIBCUDA";
  }
  return table;
}

MadeOnce<const DriverTable> g_table;

}  // namespace

const DriverTable& GetDriverTable() {
  const DriverTable& table = g_table.Get(ResolveDriverTable);
  // Not while it is being made, when a callback could not call kvswap.
  if (log::IsWanted(KVSWAP_LOG_INFO)) LogDriver(table);
  return table;
}

}  // namespace kvswap::driver
