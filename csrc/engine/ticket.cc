#include "csrc/engine/ticket.h"

#include <algorithm>

#include "csrc/engine/capture_mode.h"
#include "csrc/engine/context.h"
#include "csrc/engine/report.h"
#include "csrc/engine/stream.h"

namespace kvswap::engine {
namespace {

// Every driver from CUDA 11.4 on has them.
bool HasFunctions(const driver::DriverTable& table) {
  return table.EventCreate != nullptr && table.EventRecord != nullptr &&
         table.EventQuery != nullptr && table.EventSynchronize != nullptr &&
         table.EventDestroy != nullptr && table.StreamWaitEvent != nullptr &&
         table.ThreadExchangeStreamCaptureMode != nullptr;
}

}  // namespace

Ticket::~Ticket() {
  // An event may be destroyed before what it was recorded after is done, and
  // whether or not a stream captures.
  for (const LayerEvent& entry : events_) {
    CallWithContext(table_.EventDestroy, entry.event);
  }
}

template <typename Function>
int Ticket::CallWithContext(Function function, abi::Event event) const {
  const int code = function(event);
  if (code != abi::kErrorInvalidContext) return code;
  ScopedContext context(table_);
  kvswap_result report;
  InitReport(&report);
  if (!context.Enter(Stream(nullptr), device_, &report)) return code;
  return function(event);
}

bool Ticket::CreateEvents(const PoolCopies& copies, int device,
                          kvswap_result* report) {
  // No copies need no driver.
  if (copies.count() != 0 && !HasFunctions(table_)) {
    return Fail(report, KVSWAP_ERROR_UNSUPPORTED,
                "the driver lacks functions of events, which a ticket needs "
                "(driver_info lists them): make the call without a ticket, "
                "and synchronise with the stream. Nothing was "
                "submitted");
  }
  device_ = device;
  for (std::size_t number = 0; number < copies.count();
       number = copies.EndOfLayer(number)) {
    // Room first, so that an event that was made is never lost.
    if (events_.size() == events_.capacity()) {
      events_.reserve(2 * events_.size() + 1);
    }
    abi::Event event = nullptr;
    const int code = table_.EventCreate(&event, abi::kEventDisableTiming);
    if (code != abi::kSuccess) {
      return FailDriverCall(table_, code, "cuEventCreate", report);
    }
    events_.push_back({copies.LayerOf(number), event});
  }
  return true;
}

bool Ticket::RecordNext(abi::Stream stream, kvswap_result* report) {
  const int code = table_.EventRecord(events_[recorded_].event, stream);
  if (code != abi::kSuccess) {
    return FailDriverCall(table_, code, "cuEventRecord on the stream", report);
  }
  ++recorded_;
  return true;
}

bool Ticket::Find(std::int32_t layer, abi::Event* event,
                  kvswap_result* report) const {
  *event = nullptr;
  if (events_.empty()) return true;
  if (layer == KVSWAP_ALL_LAYERS) {
    *event = events_.back().event;
    return true;
  }
  const auto found = std::find_if(
      events_.begin(), events_.end(),
      [layer](const LayerEvent& entry) { return entry.layer == layer; });
  if (found == events_.end()) {
    const bool has_layers = events_.front().layer != KVSWAP_ALL_LAYERS;
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "the ticket knows no layer %d: %s", static_cast<int>(layer),
                has_layers ? "no region of the call was of it"
                           : "the call was made without KVSWAP_FLAG_LAYERS");
  }
  *event = found->event;
  return true;
}

bool Ticket::Query(std::int32_t layer, bool* done,
                   kvswap_result* report) const {
  abi::Event event = nullptr;
  if (!Find(layer, &event, report)) return false;
  *done = true;
  if (event == nullptr) return true;
  const RelaxedCaptureMode mode(table_);
  const int code = mode.code() == abi::kSuccess
                       ? CallWithContext(table_.EventQuery, event)
                       : mode.code();
  *done = code == abi::kSuccess;
  return code == abi::kSuccess || code == abi::kErrorNotReady ||
         FailOtherDriverCall(table_, code, "cuEventQuery of a ticket", report);
}

bool Ticket::Wait(std::int32_t layer, kvswap_result* report) const {
  abi::Event event = nullptr;
  if (!Find(layer, &event, report)) return false;
  if (event == nullptr) return true;
  const RelaxedCaptureMode mode(table_);
  const int code = mode.code() == abi::kSuccess
                       ? CallWithContext(table_.EventSynchronize, event)
                       : mode.code();
  return code == abi::kSuccess ||
         FailOtherDriverCall(table_, code, "cuEventSynchronize of a ticket",
                             report);
}

bool Ticket::WaitStream(std::int32_t layer, void* handle,
                        kvswap_result* report) const {
  abi::Event event = nullptr;
  const Stream stream(handle);
  if (!Find(layer, &event, report) || !CheckHandle(stream, report)) {
    return false;
  }
  if (event == nullptr) return true;
  ScopedContext context(table_);
  bool is_capturing = false;
  if (!context.Enter(stream, device_, report) ||
      !AskCapturing(table_, stream, &is_capturing, report)) {
    return false;
  }
  if (is_capturing) {
    return Fail(report, KVSWAP_ERROR_CAPTURE,
                "the stream captures a graph, which cannot wait for copies "
                "outside it: let the stream wait before the capture begins, or "
                "wait for the ticket on the host. The capture is as it was");
  }
  int code = table_.StreamWaitEvent(stream.handle, event, 0);
  if (code != abi::kSuccess) {
    return FailOtherDriverCall(table_, code, "cuStreamWaitEvent of the stream",
                               report);
  }
  code = context.Leave();
  return code == abi::kSuccess ||
         FailOtherDriverCall(
             table_, code, "giving the thread its former context back", report);
}

}  // namespace kvswap::engine
