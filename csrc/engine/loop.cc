#include "csrc/engine/loop.h"

namespace kvswap::engine {

Submission SubmitLoop(const driver::DriverTable& table,
                      const Descriptors& descriptors, abi::Stream stream) {
  Submission submission;
  for (; submission.accepted < descriptors.count; ++submission.accepted) {
    const std::size_t i = submission.accepted;
    submission.error = table.MemcpyAsync(
        reinterpret_cast<abi::DevicePointer>(descriptors.destinations[i]),
        reinterpret_cast<abi::DevicePointer>(descriptors.sources[i]),
        descriptors.sizes[i], stream);
    if (submission.error != abi::kSuccess) {
      submission.failed_index = i;
      break;
    }
  }
  return submission;
}

}  // namespace kvswap::engine
