#include "csrc/engine/submit.h"

#include <cstdint>

#include "csrc/engine/batch.h"
#include "csrc/engine/loop.h"
#include "csrc/engine/memory_query.h"
#include "csrc/engine/report.h"

namespace kvswap::engine {
namespace {

std::uint64_t BytesOf(const Descriptors& descriptors, std::size_t count) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += descriptors.sizes[i];
  return bytes;
}

}  // namespace

bool Submit(const Plan& plan, kvswap_result* report) {
  const Descriptors& descriptors = plan.descriptors();
  const Submission submission =
      plan.engine() == KVSWAP_ENGINE_BATCH
          ? SubmitBatch(plan.table(), descriptors, plan.stream().handle,
                        plan.settings())
          : SubmitLoop(plan.table(), descriptors, plan.stream().handle);
  report->submitted = submission.accepted;
  report->copies[plan.engine()] = submission.accepted;
  if (submission.error == abi::kSuccess) {
    report->submitted_bytes = plan.bytes();
    return true;
  }
  report->submitted_bytes = BytesOf(descriptors, submission.accepted);
  if (submission.failed_index != KVSWAP_NO_INDEX) {
    BlameDescriptor(plan.table(), plan.given(),
                    plan.GivenIndex(submission.failed_index), report);
  }
  return FailCopy(plan.table(), submission.error, descriptors.count, report);
}

}  // namespace kvswap::engine
