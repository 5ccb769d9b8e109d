#include "csrc/engine/submit_pools.h"

#include <cstddef>

#include "csrc/engine/submit.h"

namespace kvswap::engine {

bool SubmitPools(const Plan& plan, const PoolCopies& copies, Ticket* ticket,
                 CallCounts* counts, kvswap_result* report) {
  if (copies.count() == 0) return true;
  Submitter submitter(plan, Mode::kSubmit);
  std::size_t next = 0;
  bool goes_well = true;
  while (goes_well && next < copies.count()) {
    const std::size_t end_of_layer = copies.EndOfLayer(next);
    goes_well =
        submitter.Submit(next, end_of_layer, report) &&
        (ticket == nullptr || ticket->RecordNext(plan.stream().handle, report));
    next = end_of_layer;
  }
  *counts = submitter.counts();
  return goes_well;
}

}  // namespace kvswap::engine
