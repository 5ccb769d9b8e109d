// Submits a plan by its engine.

#ifndef KVSWAP_ENGINE_SUBMIT_H_
#define KVSWAP_ENGINE_SUBMIT_H_

#include "csrc/engine/descriptors.h"
#include "csrc/engine/plan.h"
#include "csrc/engine/submission.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// Has the plan's engine submit descriptors of a size other than zero.
Submission SubmitByEngine(const Plan& plan, const Descriptors& descriptors);

// Reports the error of a submission; `number` is the copy that the driver
// blames, or KVSWAP_NO_INDEX. Returns false.
bool FailSubmission(const Plan& plan, int error, std::size_t number,
                    kvswap_result* report);

// Submits the plan's copies, which are `copies`. `report` gets what was
// submitted, and the first error. After an error nothing more is submitted and
// nothing is tried again: the driver refuses a copy for a reason, and hiding it
// would lose bytes. Allocates no memory.
bool Submit(const Plan& plan, const DescriptorCopies& copies,
            kvswap_result* report);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_SUBMIT_H_
