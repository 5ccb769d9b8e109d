#include "csrc/sim/report.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace kvswap::sim {

void Report(const std::string& message) {
  const std::string line = "cuda_sim: " + message + "\n";
  // One write, so that lines of several threads and processes do not mix.
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) {
    std::fputs(line.c_str(), stderr);
  }
}

void DieBySegmentationFault(const std::string& message) {
  Report(message);
  // A handler that the process installed sees the signal first, as it would see
  // the driver's.
  std::raise(SIGSEGV);
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
  std::abort();
}

void DieByAbort(const std::string& message) {
  Report(message);
  std::abort();
}

std::string Hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

}  // namespace kvswap::sim
