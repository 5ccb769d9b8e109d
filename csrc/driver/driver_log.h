// What the log says of the driver.

#ifndef KVSWAP_DRIVER_DRIVER_LOG_H_
#define KVSWAP_DRIVER_DRIVER_LOG_H_

#include "csrc/driver/driver_table.h"

namespace kvswap::driver {

// Writes the line on what was found and what is missing, once a process.
void LogDriver(const DriverTable& table);

}  // namespace kvswap::driver

#endif  // KVSWAP_DRIVER_DRIVER_LOG_H_
