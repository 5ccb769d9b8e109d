#include "csrc/driver/driver_log.h"

#include <string>

#include "csrc/log/log.h"

namespace kvswap::driver {

void LogDriver(const DriverTable& table) {
  static log::Once once;
  if (!once.IsFirst()) return;
  if (!table.Usable()) {
    log::Write(KVSWAP_LOG_INFO, "%s", table.message.c_str());
    return;
  }
  std::string missing;
  for (const EntryReport& entry : table.entries) {
    if (entry.answer.Found()) continue;
    missing.append(missing.empty() ? "" : ", ").append(entry.name);
  }
  log::Write(KVSWAP_LOG_INFO, "the CUDA driver is %s, for CUDA %d.%d; %s%s",
             table.library.path.c_str(), table.version / 1000,
             table.version % 1000 / 10,
             missing.empty() ? "it has every function that kvswap calls"
                             : "it lacks the optional functions ",
             missing.c_str());
}

}  // namespace kvswap::driver
