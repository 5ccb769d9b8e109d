// Submits what a plan says, by the engines it chose.

#ifndef KVSWAP_ENGINE_SUBMIT_H_
#define KVSWAP_ENGINE_SUBMIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "csrc/engine/call_counts.h"
#include "csrc/engine/copies.h"
#include "csrc/engine/copy_engine_list.h"
#include "csrc/engine/kernel_launcher.h"
#include "csrc/engine/plan.h"
#include "csrc/engine/submission.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

enum class Mode {
  kSubmit,
  kCount,  // makes no call of the driver, to tell what would be made
};

// Submits the copies of a plan, part by part. All memory is allocated by the
// constructor. Lives on the stack, where it holds the parameters of a launch:
// an allocation of that size in every call would be given back to the system.
class Submitter {
 public:
  // The plan must outlive this. May throw std::bad_alloc.
  Submitter(const Plan& plan, Mode mode);

  // Submits copies [first, end). `report` gets what was submitted, and the
  // first error. A launch that is refused is no error: the copies of it and of
  // later launches go by the copy engine, and the report says why. After an
  // error of a copy engine nothing more is submitted and nothing is tried
  // again: the driver refuses a copy for a reason, and hiding it would lose
  // bytes.
  bool Submit(std::size_t first, std::size_t end, kvswap_result* report);

  // What the driver accepted, or would have.
  CallCounts counts() const;

 private:
  // The copies of a run that are to be submitted.
  struct Part {
    std::size_t run;
    std::size_t first;
    std::size_t end;
  };

  void FindParts(std::size_t first, std::size_t end);
  void SubmitByKernel(kvswap_result* report);
  // Launches parts [first, end) of `kernel_parts_`, which are of one shape and
  // size class. False: a launch was refused.
  bool LaunchGroup(std::size_t first, std::size_t end, kvswap_result* report);
  bool SubmitByCopyEngine(kvswap_result* report);
  bool FlushList(kvswap_result* report);
  // Counts the first `held` copies of a part as submitted; their bytes.
  std::uint64_t CountPart(const Part& part, std::size_t held);
  Submission SubmitList(kvswap_engine engine) const;

  const Plan& plan_;
  const Mode mode_;
  DescriptorBuffer buffer_;
  CopyEngineList list_;
  std::optional<KernelLauncher> launcher_;
  std::vector<Part> kernel_parts_;
  std::vector<Part> copy_engine_parts_;
  // What the driver answered to the launch that it refused.
  int refusal_ = abi::kSuccess;
  CallCounts counts_;
};

// Submits all copies of a plan.
bool SubmitAll(const Plan& plan, CallCounts* counts, kvswap_result* report);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_SUBMIT_H_
