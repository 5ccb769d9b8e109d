#include "csrc/engine/submit_pools.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "csrc/engine/submit.h"

namespace kvswap::engine {
namespace {

// Descriptors that are made at a time: few enough to stay in a cache, and a
// multiple of what goes into one call of the driver, so that no call is smaller
// than it need be.
constexpr std::size_t kDescriptors = 2048;

std::size_t Capacity(const Plan& plan, std::size_t count) {
  const std::size_t batch = plan.settings().max_batch;
  return std::min(count,
                  std::max(kDescriptors / batch, std::size_t{1}) * batch);
}

}  // namespace

bool SubmitPools(const Plan& plan, const PoolCopies& copies, Ticket* ticket,
                 kvswap_result* report) {
  const std::size_t capacity = Capacity(plan, copies.count());
  std::vector<const void*> sources(capacity);
  std::vector<void*> destinations(capacity);
  std::vector<std::size_t> sizes(capacity);

  std::size_t next = 0;
  while (next < copies.count()) {
    const std::size_t end_of_layer = copies.EndOfLayer(next);
    while (next < end_of_layer) {
      const std::size_t count = std::min(capacity, end_of_layer - next);
      copies.Fill(next, count, sources.data(), destinations.data(),
                  sizes.data());
      const Submission submission = SubmitByEngine(
          plan, {sources.data(), destinations.data(), sizes.data(), count});
      report->submitted += submission.accepted;
      report->copies[plan.engine()] = report->submitted;
      report->submitted_bytes = copies.BytesBefore(report->submitted);
      if (submission.error != abi::kSuccess) {
        const std::size_t number = submission.failed_index == KVSWAP_NO_INDEX
                                       ? KVSWAP_NO_INDEX
                                       : next + submission.failed_index;
        return FailSubmission(plan, submission.error, number, report);
      }
      next += count;
    }
    if (ticket != nullptr &&
        !ticket->RecordNext(plan.stream().handle, report)) {
      return false;
    }
  }
  return true;
}

}  // namespace kvswap::engine
