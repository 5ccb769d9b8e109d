#include "csrc/engine/submit_pools.h"

#include <cstddef>

#include "csrc/engine/submit.h"

namespace kvswap::engine {

bool SubmitPools(const Plan& plan, const PoolCopies& copies, Ticket* ticket,
                 kvswap_result* report) {
  if (copies.count() == 0) return true;
  Submitter submitter(plan, Mode::kSubmit);
  std::size_t next = 0;
  while (next < copies.count()) {
    const std::size_t end_of_layer = copies.EndOfLayer(next);
    if (!submitter.Submit(next, end_of_layer, report)) return false;
    next = end_of_layer;
    if (ticket != nullptr &&
        !ticket->RecordNext(plan.stream().handle, report)) {
      return false;
    }
  }
  return true;
}

}  // namespace kvswap::engine
