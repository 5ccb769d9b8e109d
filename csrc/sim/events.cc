// Events.

#include <algorithm>

#include "csrc/sim/call.h"
#include "csrc/sim/captures.h"
#include "csrc/sim/contexts.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/streams.h"

namespace kvswap::sim {
namespace {

Result FindEvent(Driver& driver, EventHandle handle,
                 std::shared_ptr<Event>* event) {
  *event = driver.events.Find(handle);
  return *event == nullptr ? abi::kErrorInvalidHandle
                           : (*event)->context->failure;
}

Result Record(Driver& driver, Event* event, Stream* stream) {
  const Result result = RefuseImplicitDependency(driver, stream);
  if (result != abi::kSuccess) return result;
  if (stream->capture != nullptr) {
    if (!stream->capture->valid) return abi::kErrorStreamCaptureInvalidated;
    event->capture = stream->capture;
    event->capture_nodes = stream->capture_tail;
    return abi::kSuccess;
  }
  if (event->context != stream->context) return abi::kErrorInvalidHandle;
  event->capture = nullptr;
  event->recorded = {Append(driver, stream, nullptr)};
  return abi::kSuccess;
}

// Makes a stream wait for an event that was recorded in a capture: the stream
// joins it.
Result WaitForCapturedEvent(const Event& event,
                            const std::shared_ptr<Stream>& stream) {
  const std::shared_ptr<Capture>& capture = event.capture;
  if (stream->capture != nullptr && stream->capture != capture) {
    Invalidate(stream->capture.get());
    Invalidate(capture.get());
    return kErrorStreamCaptureMerge;
  }
  if (!capture->valid) return abi::kErrorStreamCaptureInvalidated;
  if (stream->kind == StreamKind::kLegacy) {
    Invalidate(capture.get());
    return abi::kErrorStreamCaptureImplicit;
  }
  if (stream->capture == nullptr) {
    stream->capture = capture;
    stream->capture_tail.clear();
    capture->streams.push_back(stream);
  }
  for (std::size_t node : event.capture_nodes) {
    if (std::find(stream->capture_tail.begin(), stream->capture_tail.end(),
                  node) == stream->capture_tail.end()) {
      stream->capture_tail.push_back(node);
    }
  }
  return abi::kSuccess;
}

// Whether the capture that an event was recorded in still goes on.
bool InCapture(const Driver& driver, const Event& event) {
  return event.capture != nullptr &&
         std::find(driver.captures.begin(), driver.captures.end(),
                   event.capture) != driver.captures.end();
}

// For waiting for an event, or asking whether it is done.
Result RefuseWaitingForEvent(Driver& driver, const Event& event) {
  if (InCapture(driver, event)) {
    Invalidate(event.capture.get());
    return kErrorCapturedEvent;
  }
  if (event.capture != nullptr) return abi::kErrorInvalidValue;
  return RefuseUnsafeCall(driver);
}

Result WaitEvent(Driver& driver, const std::shared_ptr<Stream>& stream,
                 const Event& event) {
  Result result = RefuseImplicitDependency(driver, stream.get());
  if (result != abi::kSuccess) return result;
  if (InCapture(driver, event)) return WaitForCapturedEvent(event, stream);
  if (stream->capture != nullptr) {
    if (!stream->capture->valid) return abi::kErrorStreamCaptureInvalidated;
    if (event.recorded.empty()) return abi::kSuccess;
    // Work outside a graph cannot be waited for inside.
    Invalidate(stream->capture.get());
    return kErrorStreamCaptureIsolation;
  }
  std::vector<TaskId> tasks = Predecessors(driver, stream.get());
  tasks.insert(tasks.end(), event.recorded.begin(), event.recorded.end());
  stream->tail = {driver.scheduler.Add(nullptr, tasks)};
  return abi::kSuccess;
}

}  // namespace

extern "C" {

Result cuEventCreate(EventHandle* event, unsigned flags) {
  Call call(Entry::cuEventCreate);
  call.Argument("event", event).Argument("flags", flags);
  return call.Run([&](Driver& driver) -> Result {
    if (event == nullptr || (flags & ~kEventFlagsKnown) != 0) {
      return abi::kErrorInvalidValue;
    }
    std::shared_ptr<Context> context;
    const Result result = CurrentContext(driver, &context);
    if (result != abi::kSuccess) return result;
    auto created = std::make_shared<Event>();
    created->id = driver.NextId();
    created->flags = flags;
    created->context = context;
    created->handle = driver.events.Add(created);
    *event = static_cast<EventHandle>(created->handle);
    call.Output("event", *event);
    return abi::kSuccess;
  });
}

Result cuEventRecord(EventHandle event, StreamHandle stream) {
  Call call(Entry::cuEventRecord);
  call.Argument("event", event).Argument("stream", stream);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Event> found;
    Result result = FindEvent(driver, event, &found);
    if (result != abi::kSuccess) return result;
    std::shared_ptr<Stream> on;
    result = FindStream(driver, &call, stream, &on);
    if (result != abi::kSuccess) return result;
    return Record(driver, found.get(), on.get());
  });
}

Result cuEventQuery(EventHandle event) {
  Call call(Entry::cuEventQuery);
  call.Argument("event", event);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Event> found;
    Result result = FindEvent(driver, event, &found);
    if (result != abi::kSuccess) return result;
    result = RefuseWaitingForEvent(driver, *found);
    if (result != abi::kSuccess) return result;
    return driver.scheduler.Finished(found->recorded) ? abi::kSuccess
                                                      : abi::kErrorNotReady;
  });
}

Result cuEventSynchronize(EventHandle event) {
  Call call(Entry::cuEventSynchronize);
  call.Argument("event", event);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Event> found;
    Result result = FindEvent(driver, event, &found);
    if (result != abi::kSuccess) return result;
    result = RefuseWaitingForEvent(driver, *found);
    if (result != abi::kSuccess) return result;
    driver.scheduler.RunUntilFinished(found->recorded);
    return found->context->failure;
  });
}

Result cuEventDestroy_v2(EventHandle event) {
  Call call(Entry::cuEventDestroy_v2);
  call.Argument("event", event);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Event> found;
    const Result result = FindEvent(driver, event, &found);
    if (found != nullptr) driver.events.Remove(event);
    return result;
  });
}

Result cuStreamWaitEvent(StreamHandle stream, EventHandle event,
                         unsigned flags) {
  Call call(Entry::cuStreamWaitEvent);
  call.Argument("stream", stream)
      .Argument("event", event)
      .Argument("flags", flags);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Event> found;
    Result result = FindEvent(driver, event, &found);
    if (result != abi::kSuccess) return result;
    // Event nodes of graphs (CU_EVENT_WAIT_EXTERNAL) are not simulated.
    if (flags == kEventExternal) return abi::kErrorNotSupported;
    if (flags != 0) return abi::kErrorInvalidValue;
    std::shared_ptr<Stream> waiting;
    result = FindStream(driver, &call, stream, &waiting);
    if (result != abi::kSuccess) return result;
    return WaitEvent(driver, waiting, *found);
  });
}

Result cuEventRecord_ptsz(EventHandle event, StreamHandle stream) {
  return cuEventRecord(event, PerThread(stream));
}

Result cuStreamWaitEvent_ptsz(StreamHandle stream, EventHandle event,
                              unsigned flags) {
  return cuStreamWaitEvent(PerThread(stream), event, flags);
}

}  // extern "C"

}  // namespace kvswap::sim
