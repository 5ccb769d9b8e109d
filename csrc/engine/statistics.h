// Counters of the process.

#ifndef KVSWAP_ENGINE_STATISTICS_H_
#define KVSWAP_ENGINE_STATISTICS_H_

#include <cstdint>

#include "csrc/engine/call_counts.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// Counts one call that copies, by its report and by what else is known of it.
void CountCall(const kvswap_result& report, const CallCounts& counts);

// Copies that another engine submitted in place of `engine`, which did not run,
// or not for all copies.
std::uint64_t CopiesInPlaceOf(int engine, const kvswap_result& report,
                              const CallCounts& counts);

void ReadStatistics(kvswap_statistics* statistics);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_STATISTICS_H_
