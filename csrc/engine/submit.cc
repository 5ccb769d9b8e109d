#include "csrc/engine/submit.h"

#include <algorithm>
#include <cstdint>

#include "csrc/engine/batch.h"
#include "csrc/engine/loop.h"
#include "csrc/engine/memory_query.h"
#include "csrc/engine/report.h"

namespace kvswap::engine {
namespace {

// Copies that are looked at together: arrays that stay in a cache.
constexpr std::size_t kChunk = 2048;

// A list of few chunks, and a multiple of what goes into one call of the
// driver, so that no call is smaller than it need be. Where all copies are to
// go by kernels, it is for those that a refused launch leaves.
std::size_t ListCapacity(const Plan& plan) {
  const std::size_t batch = plan.settings().max_batch;
  const std::size_t batches = plan.copy_engine_count() == 0
                                  ? 1
                                  : std::max(kChunk / batch, std::size_t{1});
  return std::min(plan.copies().count(), batches * batch);
}

// Reports the error of a submission, which is of copy `number`, or of none.
bool FailSubmission(const Plan& plan, kvswap_engine engine,
                    const Submission& submission, std::size_t number,
                    kvswap_result* report) {
  if (submission.failed_call != nullptr) {
    return FailDriverCall(plan.table(), submission.error,
                          submission.failed_call, report);
  }
  const std::size_t count = plan.copies().count();
  if (number == KVSWAP_NO_INDEX) {
    return FailCopy(plan.table(), submission.error, engine, count, nullptr,
                    report);
  }
  BlameCopy(plan.table(), plan.copies(), number, report);
  char name[kCopyTextSize];
  plan.copies().NameCopy(number, name, sizeof(name));
  return FailCopy(plan.table(), submission.error, engine, count, name, report);
}

}  // namespace

Submitter::Submitter(const Plan& plan, Mode mode)
    : plan_(plan), mode_(mode), list_(plan.ranges(), ListCapacity(plan)) {
  plan.copies().MakeRoom(std::min(kChunk, plan.copies().count()), &buffer_);
  if (plan.kernels() != nullptr) {
    launcher_.emplace(plan.table(), *plan.kernels(), plan.stream().handle,
                      mode == Mode::kSubmit);
  }
  counts_.asked_for = plan.settings().engine;
  counts_.kernel_fallbacks = plan.kernel_fallback_count() + plan.kernel_count();
  kernel_parts_.reserve(plan.runs().size());
  copy_engine_parts_.reserve(plan.runs().size());
}

bool Submitter::Submit(std::size_t first, std::size_t end,
                       kvswap_result* report) {
  FindParts(first, end);
  SubmitByKernel(report);
  const std::size_t by_kernel = report->submitted;
  const bool went_well = SubmitByCopyEngine(report);
  // The list keeps the order of the parts.
  std::size_t accepted = report->submitted - by_kernel;
  for (const Part& part : copy_engine_parts_) {
    const std::size_t held = std::min(accepted, part.end - part.first);
    if (held == 0) break;
    CountPart(part, held);
    accepted -= held;
  }
  return went_well;
}

CallCounts Submitter::counts() const {
  CallCounts counts = counts_;
  if (launcher_.has_value()) counts.driver_calls += launcher_->launch_count();
  return counts;
}

std::uint64_t Submitter::CountPart(const Part& part, std::size_t held) {
  const Run& run = plan_.runs()[part.run];
  std::uint64_t bytes = 0;
  if (run.span.IsUniform()) {
    bytes = std::uint64_t{run.span.largest} * held;
  } else if (held == run.count()) {
    bytes = run.span.bytes;
  } else {
    for (std::size_t n = part.first; n < part.first + held; ++n) {
      bytes += plan_.copies().At(n).size;
    }
  }
  counts_.direction_copies[run.kind.direction] += held;
  counts_.direction_bytes[run.kind.direction] += bytes;
  return bytes;
}

void Submitter::FindParts(std::size_t first, std::size_t end) {
  kernel_parts_.clear();
  copy_engine_parts_.clear();
  const std::vector<Run>& runs = plan_.runs();
  auto run = std::upper_bound(
      runs.begin(), runs.end(), first,
      [](std::size_t number, const Run& r) { return number < r.end; });
  for (; run != runs.end() && run->first < end; ++run) {
    const auto index = static_cast<std::size_t>(run - runs.begin());
    const Part part = {index, std::max(first, run->first),
                       std::min(end, run->end)};
    (plan_.routes()[index].by_kernel && refusal_ == abi::kSuccess
         ? kernel_parts_
         : copy_engine_parts_)
        .push_back(part);
  }
  const auto group = [&](const Part& part) {
    return plan_.routes()[part.run].group;
  };
  std::sort(kernel_parts_.begin(), kernel_parts_.end(),
            [&](const Part& a, const Part& b) {
              return group(a) != group(b) ? group(a) < group(b)
                                          : a.first < b.first;
            });
}

void Submitter::SubmitByKernel(kvswap_result* report) {
  std::size_t begin = 0;
  while (begin < kernel_parts_.size()) {
    std::size_t end = begin + 1;
    while (end < kernel_parts_.size() &&
           plan_.routes()[kernel_parts_[end].run].group ==
               plan_.routes()[kernel_parts_[begin].run].group) {
      ++end;
    }
    if (!LaunchGroup(begin, end, report)) {
      report->unavailable[KVSWAP_ENGINE_KERNEL] = KVSWAP_REASON_LAUNCH_FAILED;
      copy_engine_parts_.insert(
          copy_engine_parts_.end(),
          kernel_parts_.begin() + static_cast<std::ptrdiff_t>(end),
          kernel_parts_.end());
      return;
    }
    begin = end;
  }
}

bool Submitter::LaunchGroup(std::size_t first, std::size_t end,
                            kvswap_result* report) {
  CopySpan span;
  std::size_t count = 0;
  for (std::size_t i = first; i < end; ++i) {
    span.Add(plan_.runs()[kernel_parts_[i].run].span);
    count += kernel_parts_[i].end - kernel_parts_[i].first;
  }
  launcher_->Begin(plan_.routes()[kernel_parts_[first].run].shape, span, count);
  int code = abi::kSuccess;
  for (std::size_t i = first; i < end && code == abi::kSuccess; ++i) {
    const Part& part = kernel_parts_[i];
    for (std::size_t next = part.first;
         next < part.end && code == abi::kSuccess; next += kChunk) {
      code = launcher_->Add(plan_.copies().View(
          next, std::min(kChunk, part.end - next), &buffer_));
    }
  }
  if (code == abi::kSuccess) code = launcher_->Flush();
  refusal_ = code;

  // What the launches hold, and what is left for the copy engine.
  std::size_t accepted = launcher_->accepted();
  report->submitted += accepted;
  report->copies[KVSWAP_ENGINE_KERNEL] += accepted;
  counts_.kernel_fallbacks -= accepted;
  for (std::size_t i = first; i < end; ++i) {
    Part part = kernel_parts_[i];
    const std::size_t held = std::min(accepted, part.end - part.first);
    const std::uint64_t bytes = CountPart(part, held);
    report->submitted_bytes += bytes;
    counts_.engine_bytes[KVSWAP_ENGINE_KERNEL] += bytes;
    accepted -= held;
    part.first += held;
    if (part.first < part.end) copy_engine_parts_.push_back(part);
  }
  return code == abi::kSuccess;
}

bool Submitter::SubmitByCopyEngine(kvswap_result* report) {
  for (const Part& part : copy_engine_parts_) {
    for (std::size_t next = part.first; next < part.end;) {
      const std::size_t count = std::min(kChunk, part.end - next);
      const std::size_t added =
          list_.Add(next, plan_.copies().View(next, count, &buffer_));
      next += added;
      if (added != count && !FlushList(report)) return false;
    }
  }
  return FlushList(report);
}

Submission Submitter::SubmitList(kvswap_engine engine) const {
  const Descriptors descriptors = list_.descriptors();
  const abi::Stream stream = plan_.stream().handle;
  switch (engine) {
    case KVSWAP_ENGINE_BATCH:
      return SubmitBatch(plan_.table(), descriptors, stream, plan_.settings());
    case KVSWAP_ENGINE_BRIDGE:
      return plan_.bridge()->Submit(plan_.table(), descriptors, stream,
                                    plan_.settings());
    default:
      return SubmitLoop(plan_.table(), descriptors, stream);
  }
}

bool Submitter::FlushList(kvswap_result* report) {
  if (list_.IsEmpty()) return true;
  kvswap_engine engine = plan_.copy_engine();
  // A bridge is not opened where all copies were to go by kernels.
  if (engine == KVSWAP_ENGINE_BRIDGE && plan_.bridge() == nullptr) {
    engine = KVSWAP_ENGINE_LOOP;
  }
  const std::size_t count = list_.count();
  const std::size_t batch = plan_.settings().max_batch;
  Submission submission;
  if (mode_ == Mode::kSubmit) {
    submission = SubmitList(engine);
  } else {
    submission.accepted = count;
  }
  const std::size_t copies = list_.CopiesBelow(submission.accepted);
  report->submitted += copies;
  report->copies[engine] += copies;
  const std::uint64_t bytes = list_.BytesBelow(submission.accepted);
  report->submitted_bytes += bytes;
  counts_.engine_bytes[engine] += bytes;
  counts_.driver_calls += engine == KVSWAP_ENGINE_LOOP
                              ? submission.accepted
                              : (submission.accepted + batch - 1) / batch;
  if (submission.error == abi::kSuccess) {
    counts_.coalesced = list_.coalesced();
    list_.Clear();
    return true;
  }
  if (submission.error == abi::kErrorStreamCaptureInvalidated &&
      refusal_ != abi::kSuccess) {
    // The refused launch ended the capture: it is the error, not what came of
    // it.
    return FailDriverCall(plan_.table(), refusal_, "cuLaunchKernel", report);
  }
  return FailSubmission(plan_, engine, submission,
                        submission.failed_index == KVSWAP_NO_INDEX
                            ? KVSWAP_NO_INDEX
                            : list_.NumberOf(submission.failed_index),
                        report);
}

bool SubmitAll(const Plan& plan, CallCounts* counts, kvswap_result* report) {
  const std::size_t count = plan.copies().count();
  if (count == 0) return true;
  if (count != 1 || plan.copy_engine() != KVSWAP_ENGINE_LOOP ||
      plan.kernel_count() != 0 || !plan.runs()[0].in_one_range) {
    Submitter submitter(plan, Mode::kSubmit);
    const bool went_well = submitter.Submit(0, count, report);
    *counts = submitter.counts();
    return went_well;
  }
  // One copy, as small calls are: no list is made of it.
  const Copy copy = plan.copies().At(0);
  const Submission submission =
      SubmitLoop(plan.table(), {&copy.source, &copy.destination, &copy.size, 1},
                 plan.stream().handle);
  if (submission.error != abi::kSuccess) {
    return FailSubmission(plan, KVSWAP_ENGINE_LOOP, submission, 0, report);
  }
  report->submitted = 1;
  report->copies[KVSWAP_ENGINE_LOOP] = 1;
  report->submitted_bytes = copy.size;
  const kvswap_direction direction = plan.runs()[0].kind.direction;
  counts->asked_for = plan.settings().engine;
  counts->driver_calls = 1;
  counts->kernel_fallbacks = plan.kernel_fallback_count();
  counts->engine_bytes[KVSWAP_ENGINE_LOOP] = copy.size;
  counts->direction_copies[direction] = 1;
  counts->direction_bytes[direction] = copy.size;
  return true;
}

}  // namespace kvswap::engine
