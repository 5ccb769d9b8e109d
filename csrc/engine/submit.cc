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

Submission SubmitByEngine(const Plan& plan, const Descriptors& descriptors) {
  return plan.engine() == KVSWAP_ENGINE_BATCH
             ? SubmitBatch(plan.table(), descriptors, plan.stream().handle,
                           plan.settings())
             : SubmitLoop(plan.table(), descriptors, plan.stream().handle);
}

bool FailSubmission(const Plan& plan, int error, std::size_t number,
                    kvswap_result* report) {
  if (number == KVSWAP_NO_INDEX) {
    return FailCopy(plan.table(), error, plan.copies().count(), nullptr,
                    report);
  }
  BlameCopy(plan.table(), plan.copies(), number, report);
  char name[kCopyTextSize];
  plan.copies().NameCopy(number, name, sizeof(name));
  return FailCopy(plan.table(), error, plan.copies().count(), name, report);
}

bool Submit(const Plan& plan, const DescriptorCopies& copies,
            kvswap_result* report) {
  const Descriptors& descriptors = copies.kept();
  const Submission submission = SubmitByEngine(plan, descriptors);
  report->submitted = submission.accepted;
  report->copies[plan.engine()] = submission.accepted;
  if (submission.error == abi::kSuccess) {
    report->submitted_bytes = copies.bytes();
    return true;
  }
  report->submitted_bytes = BytesOf(descriptors, submission.accepted);
  const std::size_t number = submission.failed_index == KVSWAP_NO_INDEX
                                 ? KVSWAP_NO_INDEX
                                 : copies.GivenIndex(submission.failed_index);
  return FailSubmission(plan, submission.error, number, report);
}

}  // namespace kvswap::engine
