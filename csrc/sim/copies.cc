// Single copies and fills.

#include "csrc/sim/copies.h"

#include <utility>

#include "csrc/sim/call.h"
#include "csrc/sim/captures.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/streams.h"

namespace kvswap::sim {
namespace {

TaskId AddStagedCopy(Driver& driver, const Stream& stream,
                     const std::vector<TaskId>& before,
                     const std::shared_ptr<const CopyWork>& work) {
  auto staged = std::make_shared<CopyWork::Staged>();
  work->ReadSource(driver, staged.get());
  return driver.scheduler.Add(
      InContext(
          stream.context,
          [&driver, work, staged] { work->WriteDestination(driver, *staged); }),
      before);
}

TaskId AddReadAheadCopy(Driver& driver, const Stream& stream,
                        std::vector<TaskId> before,
                        const std::shared_ptr<const CopyWork>& work) {
  auto staged = std::make_shared<CopyWork::Staged>();
  before.push_back(driver.scheduler.Add(InContext(stream.context,
                                                  [&driver, work, staged] {
                                                    work->ReadSource(
                                                        driver, staged.get());
                                                  }),
                                        {}));
  return driver.scheduler.Add(
      InContext(
          stream.context,
          [&driver, work, staged] { work->WriteDestination(driver, *staged); }),
      before);
}

// Both sides of a copy, checked; ends the process where one is wild.
Result CheckCopy(Driver& driver, Call* call, const Context& context,
                 DevicePointer destination, DevicePointer source,
                 std::size_t size, Operand* destination_operand,
                 Operand* source_operand) {
  HostMemoryMap host_memory;
  *destination_operand = CheckOperand(driver, context, &host_memory,
                                      destination, size, Access::kWrite);
  *source_operand =
      CheckOperand(driver, context, &host_memory, source, size, Access::kRead);
  for (const Operand* operand : {destination_operand, source_operand}) {
    if (operand->verdict == Operand::Verdict::kRefused) {
      call->Note(operand->reason);
      return abi::kErrorInvalidValue;
    }
  }
  for (const Operand* operand : {destination_operand, source_operand}) {
    if (operand->verdict == Operand::Verdict::kWild) call->Die(operand->reason);
  }
  return abi::kSuccess;
}

// What captures forbid. Of synchronous calls, which wait for their stream
// alone, a capture elsewhere forbids none.
Result RefuseUse(Driver& driver, Stream* stream, bool synchronous) {
  if (stream->capture != nullptr) {
    if (synchronous) return RefuseWaitingForStream(driver, stream);
    return stream->capture->valid ? abi::kSuccess
                                  : abi::kErrorStreamCaptureInvalidated;
  }
  return RefuseImplicitDependency(driver, stream);
}

// A copy on a stream. `synchronous`: done when this returns.
Result Copy(Driver& driver, Call* call, DevicePointer destination,
            DevicePointer source, std::size_t size, StreamHandle handle,
            bool synchronous) {
  std::shared_ptr<Stream> stream;
  Result result = FindStream(driver, call, handle, &stream);
  if (result != abi::kSuccess) return result;
  result = RefuseUse(driver, stream.get(), synchronous);
  if (result != abi::kSuccess) return result;
  if (size == 0) return abi::kSuccess;
  Operand to;
  Operand from;
  result = CheckCopy(driver, call, *stream->context, destination, source, size,
                     &to, &from);
  if (result != abi::kSuccess) return result;
  const auto work = std::make_shared<CopyWork>(destination, source, size);
  if (stream->capture != nullptr) {
    return AddToCapture(driver, stream.get(), work);
  }
  const TaskId task =
      AddCopy(driver, *stream, Predecessors(driver, stream.get()), work,
              abi::kMemcpySourceAccessOrderStream, to, from);
  stream->tail = {task};
  // Between host and host the call is documented to return when it is done.
  if (synchronous || (to.host && from.host)) {
    driver.scheduler.RunUntilFinished({task});
    return stream->context->failure;
  }
  return abi::kSuccess;
}

Result Fill(Driver& driver, Call* call, DevicePointer destination,
            unsigned char value, std::size_t count, StreamHandle handle,
            bool synchronous) {
  std::shared_ptr<Stream> stream;
  Result result = FindStream(driver, call, handle, &stream);
  if (result != abi::kSuccess) return result;
  result = RefuseUse(driver, stream.get(), synchronous);
  if (result != abi::kSuccess) return result;
  if (count == 0) return abi::kSuccess;
  HostMemoryMap host_memory;
  const Operand to = CheckOperand(driver, *stream->context, &host_memory,
                                  destination, count, Access::kWrite);
  if (to.verdict != Operand::Verdict::kValid || to.pageable) {
    call->Note(to.pageable ? "not the driver's memory" : to.reason);
    return abi::kErrorInvalidValue;
  }
  result = Submit(driver, stream.get(),
                  std::make_shared<FillWork>(destination, value, count));
  if (result == abi::kSuccess && synchronous) {
    SynchronizeStream(driver, stream.get());
    return stream->context->failure;
  }
  return result;
}

Result SynchronousCopy(Entry entry, DevicePointer destination,
                       DevicePointer source, std::size_t size,
                       StreamHandle stream) {
  Call call(entry);
  call.Argument("destination", destination)
      .Argument("source", source)
      .Argument("size", size);
  return call.Run([&](Driver& driver) {
    return Copy(driver, &call, destination, source, size, stream, true);
  });
}

DevicePointer ToAddress(const void* pointer) {
  return reinterpret_cast<DevicePointer>(pointer);
}

}  // namespace

TaskId AddCopy(Driver& driver, const Stream& stream,
               const std::vector<TaskId>& before,
               const std::shared_ptr<const CopyWork>& work,
               abi::MemcpySourceAccessOrder order, const Operand& destination,
               const Operand& source) {
  TaskId task;
  if (order == abi::kMemcpySourceAccessOrderDuringApiCall) {
    task = AddStagedCopy(driver, stream, before, work);
  } else if (order == abi::kMemcpySourceAccessOrderAny) {
    task = AddReadAheadCopy(driver, stream, before, work);
  } else if (source.pageable && driver.scheduler.Draw(2) == 0) {
    // Staged: the driver waits for its turn in the stream, then reads.
    driver.scheduler.RunUntilFinished(before);
    task = AddStagedCopy(driver, stream, before, work);
  } else {
    task = driver.scheduler.Add(
        InContext(stream.context, [&driver, work] { work->Run(driver); }),
        before);
  }
  // To pageable memory, the call may or may not wait.
  if (destination.pageable && driver.scheduler.Draw(2) == 0) {
    driver.scheduler.RunUntilFinished({task});
  }
  return task;
}

extern "C" {

Result cuMemcpyAsync(DevicePointer destination, DevicePointer source,
                     std::size_t size, StreamHandle stream) {
  Call call(Entry::cuMemcpyAsync);
  call.Argument("destination", destination)
      .Argument("source", source)
      .Argument("size", size)
      .Argument("stream", stream);
  return call.Run([&](Driver& driver) {
    return Copy(driver, &call, destination, source, size, stream, false);
  });
}

Result cuMemcpy(DevicePointer destination, DevicePointer source,
                std::size_t size) {
  return SynchronousCopy(Entry::cuMemcpy, destination, source, size, nullptr);
}

Result cuMemcpyHtoD_v2(DevicePointer destination, const void* source,
                       std::size_t size) {
  return SynchronousCopy(Entry::cuMemcpyHtoD_v2, destination, ToAddress(source),
                         size, nullptr);
}

Result cuMemcpyDtoH_v2(void* destination, DevicePointer source,
                       std::size_t size) {
  return SynchronousCopy(Entry::cuMemcpyDtoH_v2, ToAddress(destination), source,
                         size, nullptr);
}

Result cuMemsetD8Async(DevicePointer destination, unsigned char value,
                       std::size_t count, StreamHandle stream) {
  Call call(Entry::cuMemsetD8Async);
  call.Argument("destination", destination)
      .Argument("value", value)
      .Argument("count", count)
      .Argument("stream", stream);
  return call.Run([&](Driver& driver) {
    return Fill(driver, &call, destination, value, count, stream, false);
  });
}

Result cuMemsetD8_v2(DevicePointer destination, unsigned char value,
                     std::size_t count) {
  Call call(Entry::cuMemsetD8_v2);
  call.Argument("destination", destination)
      .Argument("value", value)
      .Argument("count", count);
  return call.Run([&](Driver& driver) {
    return Fill(driver, &call, destination, value, count, nullptr, true);
  });
}

Result cuMemcpyAsync_ptsz(DevicePointer destination, DevicePointer source,
                          std::size_t size, StreamHandle stream) {
  return cuMemcpyAsync(destination, source, size, PerThread(stream));
}

Result cuMemcpy_ptds(DevicePointer destination, DevicePointer source,
                     std::size_t size) {
  return SynchronousCopy(Entry::cuMemcpy, destination, source, size,
                         PerThread(nullptr));
}

Result cuMemcpyHtoD_v2_ptds(DevicePointer destination, const void* source,
                            std::size_t size) {
  return SynchronousCopy(Entry::cuMemcpyHtoD_v2, destination, ToAddress(source),
                         size, PerThread(nullptr));
}

Result cuMemcpyDtoH_v2_ptds(void* destination, DevicePointer source,
                            std::size_t size) {
  return SynchronousCopy(Entry::cuMemcpyDtoH_v2, ToAddress(destination), source,
                         size, PerThread(nullptr));
}

Result cuMemsetD8Async_ptsz(DevicePointer destination, unsigned char value,
                            std::size_t count, StreamHandle stream) {
  return cuMemsetD8Async(destination, value, count, PerThread(stream));
}

Result cuMemsetD8_v2_ptds(DevicePointer destination, unsigned char value,
                          std::size_t count) {
  Call call(Entry::cuMemsetD8_v2);
  call.Argument("destination", destination)
      .Argument("value", value)
      .Argument("count", count);
  return call.Run([&](Driver& driver) {
    return Fill(driver, &call, destination, value, count, PerThread(nullptr),
                true);
  });
}

}  // extern "C"

}  // namespace kvswap::sim
