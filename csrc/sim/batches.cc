// cuMemcpyBatchAsync in both ABIs: the 9-argument function of CUDA 12.8 and the
// 8-argument one of 13.0, which does not report the copy at fault.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "csrc/sim/call.h"
#include "csrc/sim/captures.h"
#include "csrc/sim/copies.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/report.h"
#include "csrc/sim/streams.h"

namespace kvswap::sim {
namespace {

constexpr std::size_t kNoIndex = SIZE_MAX;

// CUmemcpyFlags: PREFER_OVERLAP_WITH_COMPUTE
constexpr unsigned kMemcpyFlagsKnown = 0x1;

struct Batch {
  DevicePointer* destinations;
  DevicePointer* sources;
  std::size_t* sizes;
  std::size_t count;
  MemcpyAttributes* attributes;
  std::size_t* attribute_indices;
  std::size_t attribute_count;
  StreamHandle stream;
};

void AddArguments(Call* call, const Batch& batch) {
  call->Array("destinations", batch.destinations, batch.count)
      .Array("sources", batch.sources, batch.count)
      .Array("sizes", batch.sizes, batch.count)
      .Argument("count", batch.count);
  std::vector<int> orders;
  std::vector<unsigned> flags;
  if (batch.attributes != nullptr && batch.attribute_count <= batch.count) {
    for (std::size_t i = 0; i < batch.attribute_count; ++i) {
      orders.push_back(batch.attributes[i].source_access_order);
      flags.push_back(batch.attributes[i].flags);
    }
    call->Array("source_access_orders", orders.data(), orders.size())
        .Array("attribute_flags", flags.data(), flags.size());
  }
  call->Argument("attributes", batch.attributes)
      .Array("attribute_indices", batch.attribute_indices,
             batch.attribute_count)
      .Argument("attribute_count", batch.attribute_count);
}

bool AttributesAreValid(const Batch& batch, std::string* reason) {
  if (batch.attributes == nullptr || batch.attribute_indices == nullptr ||
      batch.attribute_count == 0 || batch.attribute_count > batch.count) {
    *reason = "no attributes, or more than copies";
    return false;
  }
  for (std::size_t i = 0; i < batch.attribute_count; ++i) {
    const std::size_t index = batch.attribute_indices[i];
    if (i == 0
            ? index != 0
            : index <= batch.attribute_indices[i - 1] || index >= batch.count) {
      *reason =
          "attribute indices begin with 0, increase strictly and stay below "
          "the count";
      return false;
    }
    if ((batch.attributes[i].flags & ~kMemcpyFlagsKnown) != 0) {
      *reason = "unknown flags";
      return false;
    }
    const int order = batch.attributes[i].source_access_order;
    if (order < abi::kMemcpySourceAccessOrderStream ||
        order > abi::kMemcpySourceAccessOrderAny) {
      *reason = "source access order " + std::to_string(order);
      return false;
    }
  }
  return true;
}

struct CheckedCopy {
  Operand destination;
  Operand source;
};

// Checks the copies in turn, up to the first that is refused. A wild address
// before it ends the process.
Result CheckCopies(Driver& driver, Call* call, const Batch& batch,
                   const Context& context, std::vector<CheckedCopy>* checked) {
  HostMemoryMap host_memory;
  checked->reserve(batch.count);
  for (std::size_t i = 0; i < batch.count; ++i) {
    const std::string which = "copy " + std::to_string(i) + ": ";
    if (batch.sizes[i] == 0) {
      call->Note(which + "size 0");
      return abi::kErrorInvalidValue;
    }
    CheckedCopy copy;
    copy.destination =
        CheckOperand(driver, context, &host_memory, batch.destinations[i],
                     batch.sizes[i], Access::kWrite);
    copy.source = CheckOperand(driver, context, &host_memory, batch.sources[i],
                               batch.sizes[i], Access::kRead);
    for (const Operand* operand : {&copy.destination, &copy.source}) {
      if (operand->verdict == Operand::Verdict::kRefused) {
        call->Note(which + operand->reason);
        return abi::kErrorInvalidValue;
      }
    }
    for (const Operand* operand : {&copy.destination, &copy.source}) {
      if (operand->verdict == Operand::Verdict::kWild) {
        call->Die(which + operand->reason);
      }
    }
    checked->push_back(std::move(copy));
  }
  return abi::kSuccess;
}

abi::MemcpySourceAccessOrder OrderOf(const Batch& batch, std::size_t copy) {
  std::size_t attribute = batch.attribute_count;
  while (batch.attribute_indices[--attribute] > copy) {
  }
  return batch.attributes[attribute].source_access_order;
}

// Enqueues the first `count` copies. A batch is in stream order as a whole;
// inside it there is no order.
void Enqueue(Driver& driver, const Batch& batch, std::size_t count,
             const std::vector<CheckedCopy>& checked, Stream* stream) {
  const std::vector<TaskId> before = Predecessors(driver, stream);
  std::vector<TaskId> copies = before;
  for (std::size_t i = 0; i < count; ++i) {
    copies.push_back(
        AddCopy(driver, *stream, before,
                std::make_shared<CopyWork>(batch.destinations[i],
                                           batch.sources[i], batch.sizes[i]),
                OrderOf(batch, i), checked[i].destination, checked[i].source));
  }
  stream->tail = {driver.scheduler.Add(nullptr, copies)};
}

Result RefuseCapture(const Driver& driver, const Stream& stream) {
  if (!stream.capture->valid) return abi::kErrorStreamCaptureInvalidated;
  // Without harm to the capture.
  return driver.batch_capture ? abi::kSuccess
                              : abi::kErrorStreamCaptureUnsupported;
}

Result Capture(Driver& driver, const Batch& batch, Stream* stream) {
  const std::vector<std::size_t> before = stream->capture_tail;
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < batch.count; ++i) {
    stream->capture_tail = before;
    const Result result = AddToCapture(
        driver, stream,
        std::make_shared<CopyWork>(batch.destinations[i], batch.sources[i],
                                   batch.sizes[i]));
    if (result != abi::kSuccess) return result;
    nodes.push_back(stream->capture_tail.front());
  }
  stream->capture_tail = nodes;
  return abi::kSuccess;
}

// `failed` is where to report the copy at fault.
Result Submit(Driver& driver, Call* call, const Batch& batch,
              std::size_t* failed) {
  const auto refuse = [call](const std::string& reason) {
    call->Note(reason);
    return abi::kErrorInvalidValue;
  };
  const auto handle = reinterpret_cast<std::uintptr_t>(batch.stream);
  if (handle == abi::kStreamNull) return refuse("the legacy stream");
  *failed = kNoIndex;
  if (handle == abi::kStreamLegacy) return refuse("the legacy stream");
  std::shared_ptr<Stream> stream;
  Result result = FindStream(driver, call, batch.stream, &stream);
  if (result != abi::kSuccess) return result;
  // Unlike a single copy, a batch needs one, though the stream has its own.
  if (driver.Current() == nullptr) return refuse("no current context");
  if (batch.count == 0 || batch.destinations == nullptr ||
      batch.sources == nullptr || batch.sizes == nullptr) {
    return refuse("no copies");
  }
  const BatchLimit& limit = driver.faults.batch_limit();
  if (batch.count > limit.count) {
    call->Note("more copies than the limit set on demand");
    return limit.code;
  }
  std::string reason;
  if (!AttributesAreValid(batch, &reason)) return refuse(reason);
  if (stream->capture != nullptr) {
    result = RefuseCapture(driver, *stream);
    if (result != abi::kSuccess) return result;
  }
  std::vector<CheckedCopy> checked;
  result = CheckCopies(driver, call, batch, *stream->context, &checked);
  if (result != abi::kSuccess) {
    *failed = checked.size();
    // The driver may have enqueued copies ahead of the one at fault (seen on
    // driver 580): here, any number of them.
    const std::size_t enqueued = driver.scheduler.Draw(checked.size() + 1);
    if (stream->capture == nullptr && enqueued != 0) {
      Enqueue(driver, batch, enqueued, checked, stream.get());
    }
    return result;
  }
  if (stream->capture != nullptr) {
    return Capture(driver, batch, stream.get());
  }
  Enqueue(driver, batch, batch.count, checked, stream.get());
  return abi::kSuccess;
}

// Whether the argument that should point to the failed index is a stream: then
// the caller passed the arguments of the 8-argument function.
bool IsStreamHandle(const Driver& driver, const std::size_t* failed_index) {
  const auto value = reinterpret_cast<std::uintptr_t>(failed_index);
  return value == abi::kStreamLegacy || value == abi::kStreamPerThread ||
         driver.streams.Find(failed_index) != nullptr;
}

}  // namespace

extern "C" {

Result cuMemcpyBatchAsync(DevicePointer* destinations, DevicePointer* sources,
                          std::size_t* sizes, std::size_t count,
                          MemcpyAttributes* attributes,
                          std::size_t* attribute_indices,
                          std::size_t attribute_count,
                          std::size_t* failed_index, StreamHandle stream) {
  Call call(Entry::cuMemcpyBatchAsync);
  const Batch batch = {destinations,    sources,    sizes,
                       count,           attributes, attribute_indices,
                       attribute_count, stream};
  AddArguments(&call, batch);
  call.Argument("failed_index", failed_index).Argument("stream", stream);
  // With handle 0 it stays untouched.
  if (stream != nullptr) call.SetFailedIndex(failed_index);
  return call.Run([&](Driver& driver) -> Result {
    if (IsStreamHandle(driver, failed_index)) {
      const std::string text =
          "the failed index argument " +
          Hexadecimal(reinterpret_cast<std::uint64_t>(failed_index)) +
          " is a stream: was the 8-argument function of CUDA 13.0 meant?";
      call.Note(text);
      driver.Violation("cuMemcpyBatchAsync: " + text);
      return abi::kErrorInvalidValue;
    }
    std::size_t unused = 0;
    std::size_t* const failed =
        failed_index != nullptr ? failed_index : &unused;
    const Result result = Submit(driver, &call, batch, failed);
    if (failed_index != nullptr) call.Output("failed_index", *failed_index);
    return result;
  });
}

Result cuMemcpyBatchAsync_v2(DevicePointer* destinations,
                             DevicePointer* sources, std::size_t* sizes,
                             std::size_t count, MemcpyAttributes* attributes,
                             std::size_t* attribute_indices,
                             std::size_t attribute_count, StreamHandle stream) {
  Call call(Entry::cuMemcpyBatchAsync_v2);
  const Batch batch = {destinations,    sources,    sizes,
                       count,           attributes, attribute_indices,
                       attribute_count, stream};
  AddArguments(&call, batch);
  call.Argument("stream", stream);
  return call.Run([&](Driver& driver) {
    std::size_t unused = 0;
    return Submit(driver, &call, batch, &unused);
  });
}

Result cuMemcpyBatchAsync_ptsz(DevicePointer* destinations,
                               DevicePointer* sources, std::size_t* sizes,
                               std::size_t count, MemcpyAttributes* attributes,
                               std::size_t* attribute_indices,
                               std::size_t attribute_count,
                               std::size_t* failed_index, StreamHandle stream) {
  return cuMemcpyBatchAsync(destinations, sources, sizes, count, attributes,
                            attribute_indices, attribute_count, failed_index,
                            PerThread(stream));
}

Result cuMemcpyBatchAsync_v2_ptsz(DevicePointer* destinations,
                                  DevicePointer* sources, std::size_t* sizes,
                                  std::size_t count,
                                  MemcpyAttributes* attributes,
                                  std::size_t* attribute_indices,
                                  std::size_t attribute_count,
                                  StreamHandle stream) {
  return cuMemcpyBatchAsync_v2(destinations, sources, sizes, count, attributes,
                               attribute_indices, attribute_count,
                               PerThread(stream));
}

}  // extern "C"

}  // namespace kvswap::sim
