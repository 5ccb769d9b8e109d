// Counters of the process.

#ifndef KVSWAP_ENGINE_STATISTICS_H_
#define KVSWAP_ENGINE_STATISTICS_H_

#include <cstdint>

#include "csrc/kvswap.h"

namespace kvswap::engine {

// Counts one call of kvswap_swap_blocks_batch by its report.
void CountCall(const kvswap_result& report);

void ReadStatistics(kvswap_statistics* statistics);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_STATISTICS_H_
