#include "csrc/engine/batch.h"

#include <algorithm>

namespace kvswap::engine {
namespace {

static_assert(sizeof(void*) == sizeof(abi::DevicePointer),
              "pointer arrays are handed to the driver as they are");

abi::MemcpySourceAccessOrder DriverOrder(kvswap_source_access access) {
  switch (access) {
    case KVSWAP_SOURCE_ACCESS_DURING_API_CALL:
      return abi::kMemcpySourceAccessOrderDuringApiCall;
    case KVSWAP_SOURCE_ACCESS_ANY:
      return abi::kMemcpySourceAccessOrderAny;
    case KVSWAP_SOURCE_ACCESS_STREAM:
      break;
  }
  return abi::kMemcpySourceAccessOrderStream;
}

// The driver's arrays are not const in its header, and are only read.
template <typename Pointer>
abi::DevicePointer* DriverArray(const Pointer* pointers) {
  return reinterpret_cast<abi::DevicePointer*>(const_cast<Pointer*>(pointers));
}

}  // namespace

Submission SubmitBatch(const driver::DriverTable& table,
                       const Descriptors& descriptors, abi::Stream stream,
                       const Settings& settings) {
  abi::MemcpyAttributes attributes = {};
  attributes.source_access_order = DriverOrder(settings.source_access);
  if (settings.Has(KVSWAP_FLAG_PREFER_OVERLAP)) {
    attributes.flags = abi::kMemcpyFlagPreferOverlapWithCompute;
  }
  std::size_t first_index_of_attributes = 0;

  Submission submission;
  while (submission.accepted < descriptors.count) {
    const std::size_t begin = submission.accepted;
    const std::size_t count =
        std::min(settings.max_batch, descriptors.count - begin);
    // Stays as it is where the driver does not write it.
    std::size_t failed_index = KVSWAP_NO_INDEX;
    submission.error = table.MemcpyBatchAsync(
        DriverArray(descriptors.destinations + begin),
        DriverArray(descriptors.sources + begin),
        const_cast<std::size_t*>(descriptors.sizes + begin), count, &attributes,
        &first_index_of_attributes, 1, &failed_index, stream);
    if (submission.error != abi::kSuccess) {
      if (failed_index < count) submission.failed_index = begin + failed_index;
      return submission;
    }
    submission.accepted += count;
  }
  return submission;
}

}  // namespace kvswap::engine
