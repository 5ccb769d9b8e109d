// Submits copies between pools.

#ifndef KVSWAP_ENGINE_SUBMIT_POOLS_H_
#define KVSWAP_ENGINE_SUBMIT_POOLS_H_

#include "csrc/engine/call_counts.h"
#include "csrc/engine/plan.h"
#include "csrc/engine/pool_copies.h"
#include "csrc/engine/ticket.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// Submits the plan's copies, which are `copies`, layer by layer, and records an
// event of `ticket` (unless it is null) after each. Errors are as in Submit.
// Throws std::bad_alloc before anything is submitted.
bool SubmitPools(const Plan& plan, const PoolCopies& copies, Ticket* ticket,
                 CallCounts* counts, kvswap_result* report);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_SUBMIT_POOLS_H_
