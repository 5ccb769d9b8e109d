// Memory that is allocated and freed in stream order, from the default pool.

#include <memory>

#include "csrc/sim/call.h"
#include "csrc/sim/captures.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/streams.h"

namespace kvswap::sim {

extern "C" {

Result cuMemAllocAsync(DevicePointer* pointer, std::size_t size,
                       StreamHandle stream) {
  Call call(Entry::cuMemAllocAsync);
  call.Argument("pointer", pointer)
      .Argument("size", size)
      .Argument("stream", stream);
  return call.Run([&](Driver& driver) -> Result {
    if (pointer == nullptr) return abi::kErrorInvalidValue;
    std::shared_ptr<Stream> on;
    Result result = FindStream(driver, &call, stream, &on);
    if (result != abi::kSuccess) return result;
    result = RefuseImplicitDependency(driver, on.get());
    if (result != abi::kSuccess) return result;
    // Memory nodes of graphs are not simulated.
    if (on->capture != nullptr) return abi::kErrorNotSupported;
    // A pool that has to grow allocates.
    result = RefuseUnsafeCall(driver);
    if (result != abi::kSuccess) return result;
    if (size == 0) {
      *pointer = 0;
      return abi::kSuccess;
    }
    Range* range = driver.addresses.Allocate(RangeKind::kPool, size);
    if (range == nullptr) return abi::kErrorOutOfMemory;
    range->device = on->context->device;
    *pointer = range->base;
    call.Output("pointer", *pointer);
    return abi::kSuccess;
  });
}

Result cuMemFreeAsync(DevicePointer pointer, StreamHandle stream) {
  Call call(Entry::cuMemFreeAsync);
  call.Argument("pointer", pointer).Argument("stream", stream);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Stream> on;
    Result result = FindStream(driver, &call, stream, &on);
    if (result != abi::kSuccess) return result;
    result = RefuseImplicitDependency(driver, on.get());
    if (result != abi::kSuccess) return result;
    if (on->capture != nullptr) return abi::kErrorNotSupported;
    const Range* range = driver.addresses.FindBase(pointer);
    if (range == nullptr || (range->kind != RangeKind::kPool &&
                             range->kind != RangeKind::kDevice)) {
      return abi::kErrorInvalidValue;
    }
    return Submit(driver, on.get(), std::make_shared<FreeWork>(pointer));
  });
}

Result cuMemAllocAsync_ptsz(DevicePointer* pointer, std::size_t size,
                            StreamHandle stream) {
  return cuMemAllocAsync(pointer, size, PerThread(stream));
}

Result cuMemFreeAsync_ptsz(DevicePointer pointer, StreamHandle stream) {
  return cuMemFreeAsync(pointer, PerThread(stream));
}

}  // extern "C"

}  // namespace kvswap::sim
