// Submits a plan by its engine.

#ifndef KVSWAP_ENGINE_SUBMIT_H_
#define KVSWAP_ENGINE_SUBMIT_H_

#include "csrc/engine/plan.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// `report` gets what was submitted, and the first error. After an error nothing
// more is submitted and nothing is tried again: the driver refuses a copy for a
// reason, and hiding it would lose bytes. Allocates no memory.
bool Submit(const Plan& plan, kvswap_result* report);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_SUBMIT_H_
