// Messages of the simulated driver, on standard error, each one line that
// begins with "cuda_sim: ".

#ifndef KVSWAP_SIM_REPORT_H_
#define KVSWAP_SIM_REPORT_H_

#include <cstdint>
#include <string>

namespace kvswap::sim {

void Report(const std::string& message);

// Reports, and ends the process as a segmentation fault in the driver would.
[[noreturn]] void DieBySegmentationFault(const std::string& message);

// Reports, and aborts: for mistakes in how the simulation was set up.
[[noreturn]] void DieByAbort(const std::string& message);

std::string Hexadecimal(std::uint64_t value);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_REPORT_H_
