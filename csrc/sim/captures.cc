#include "csrc/sim/captures.h"

#include <algorithm>
#include <utility>

#include "csrc/sim/call.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/streams.h"

namespace kvswap::sim {
namespace {

// Captures of blocking streams of a context, which the legacy stream would have
// to wait for.
std::vector<Capture*> CapturesOfBlockingStreams(const Context& context) {
  std::vector<Capture*> captures;
  for (const std::shared_ptr<Stream>& stream : context.streams) {
    if (stream->IsBlocking() && stream->capture != nullptr) {
      captures.push_back(stream->capture.get());
    }
  }
  return captures;
}

// Takes a capture off its streams and off the list of captures.
void Dissolve(Driver& driver, const std::shared_ptr<Capture>& capture) {
  for (const std::weak_ptr<Stream>& weak : capture->streams) {
    const std::shared_ptr<Stream> stream = weak.lock();
    if (stream != nullptr && stream->capture == capture) {
      stream->capture = nullptr;
      stream->capture_tail.clear();
    }
  }
  driver.captures.erase(
      std::remove(driver.captures.begin(), driver.captures.end(), capture),
      driver.captures.end());
}

// Whether all nodes are before the ones that the origin stream has reached.
bool AllJoined(const Capture& capture, const Stream& origin) {
  std::vector<bool> reached(capture.graph->nodes.size(), false);
  for (std::size_t node : origin.capture_tail) reached[node] = true;
  for (std::size_t i = reached.size(); i-- > 0;) {
    if (!reached[i]) continue;
    for (std::size_t before : capture.graph->nodes[i].dependencies) {
      reached[before] = true;
    }
  }
  return std::all_of(reached.begin(), reached.end(),
                     [](bool node) { return node; });
}

Result BeginCapture(Driver& driver, const std::shared_ptr<Stream>& stream,
                    CaptureMode mode) {
  if (mode < kCaptureModeGlobal || mode > kCaptureModeRelaxed) {
    return abi::kErrorInvalidValue;
  }
  if (stream->kind == StreamKind::kLegacy) {
    return abi::kErrorStreamCaptureUnsupported;
  }
  if (stream->capture != nullptr) return kErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->id = driver.NextId();
  capture->mode = mode;
  capture->thread = driver.Thread().key;
  capture->origin = stream;
  capture->streams = {stream};
  capture->graph = std::make_shared<Graph>();
  capture->graph->id = driver.NextId();
  stream->capture = capture;
  stream->capture_tail.clear();
  driver.captures.push_back(std::move(capture));
  return abi::kSuccess;
}

Result EndCapture(Driver& driver, Call* call,
                  const std::shared_ptr<Stream>& stream, GraphHandle* graph) {
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return kErrorIllegalState;
  if (graph == nullptr) return abi::kErrorInvalidValue;
  *graph = nullptr;
  if (capture->mode != kCaptureModeRelaxed &&
      capture->thread != driver.Thread().key) {
    // Seen on driver 580: this ends the capture too.
    Dissolve(driver, capture);
    return kErrorStreamCaptureWrongThread;
  }
  if (capture->origin.lock() != stream) {
    Invalidate(capture.get());
    return abi::kErrorStreamCaptureUnmatched;
  }
  const bool joined = AllJoined(*capture, *stream);
  Dissolve(driver, capture);
  if (!capture->valid) return abi::kErrorStreamCaptureInvalidated;
  if (!joined) return abi::kErrorStreamCaptureUnjoined;
  if (capture->graph_handle == nullptr) {
    capture->graph_handle = driver.graphs.Add(capture->graph);
  }
  *graph = static_cast<GraphHandle>(capture->graph_handle);
  call->Output("graph", *graph);
  return abi::kSuccess;
}

StreamCaptureStatus Status(const Stream& stream) {
  if (stream.capture == nullptr) return abi::kStreamCaptureStatusNone;
  return stream.capture->valid ? abi::kStreamCaptureStatusActive
                               : abi::kStreamCaptureStatusInvalidated;
}

// The status, or the error of asking on the legacy stream at a time when work
// on it would be refused. Asking harms nothing.
Result AskStatus(const Stream& stream, StreamCaptureStatus* status) {
  if (stream.kind == StreamKind::kLegacy &&
      !CapturesOfBlockingStreams(*stream.context).empty()) {
    return abi::kErrorStreamCaptureImplicit;
  }
  *status = Status(stream);
  return abi::kSuccess;
}

Result CaptureInfo(Driver& driver, Call* call, StreamHandle handle,
                   StreamCaptureStatus* status, std::uint64_t* id,
                   GraphHandle* graph, const GraphNodeHandle** dependencies,
                   std::size_t* dependency_count) {
  if (status == nullptr) return abi::kErrorInvalidValue;
  std::shared_ptr<Stream> stream;
  Result result = FindStream(driver, call, handle, &stream);
  if (result != abi::kSuccess) return result;
  result = AskStatus(*stream, status);
  if (result != abi::kSuccess) return result;
  call->Output("status", *status);
  if (*status != abi::kStreamCaptureStatusActive) return abi::kSuccess;
  Capture& capture = *stream->capture;
  if (id != nullptr) *id = capture.id;
  if (graph != nullptr) {
    if (capture.graph_handle == nullptr) {
      capture.graph_handle = driver.graphs.Add(capture.graph);
    }
    *graph = static_cast<GraphHandle>(capture.graph_handle);
  }
  capture.reported_dependencies.clear();
  for (std::size_t node : stream->capture_tail) {
    capture.reported_dependencies.push_back(
        static_cast<GraphNodeHandle>(capture.graph->nodes[node].handle));
  }
  if (dependencies != nullptr) {
    *dependencies = capture.reported_dependencies.data();
  }
  if (dependency_count != nullptr) {
    *dependency_count = capture.reported_dependencies.size();
  }
  return abi::kSuccess;
}

}  // namespace

void Invalidate(Capture* capture) { capture->valid = false; }

Result AddToCapture(Driver& driver, Stream* stream,
                    const std::shared_ptr<const Work>& work) {
  Capture& capture = *stream->capture;
  if (!capture.valid) return abi::kErrorStreamCaptureInvalidated;
  GraphNode node;
  node.handle = driver.NewNodeHandle(work->type());
  node.work = work;
  node.dependencies = stream->capture_tail;
  stream->capture_tail = {capture.graph->nodes.size()};
  capture.graph->nodes.push_back(std::move(node));
  return abi::kSuccess;
}

void EndCaptureOfStream(Driver& driver, const std::shared_ptr<Stream>& stream) {
  const std::shared_ptr<Capture> capture = stream->capture;
  Invalidate(capture.get());
  if (capture->origin.lock() == stream) {
    Dissolve(driver, capture);
  } else {
    stream->capture = nullptr;
  }
}

Result RefuseImplicitDependency(Driver&, Stream* stream) {
  if (stream->kind != StreamKind::kLegacy) return abi::kSuccess;
  const std::vector<Capture*> captures =
      CapturesOfBlockingStreams(*stream->context);
  for (Capture* capture : captures) Invalidate(capture);
  return captures.empty() ? abi::kSuccess : abi::kErrorStreamCaptureImplicit;
}

Result RefuseUnsafeCall(Driver& driver) {
  const ThreadState& thread = driver.Thread();
  if (thread.capture_mode == kCaptureModeRelaxed) return abi::kSuccess;
  Result result = abi::kSuccess;
  for (const std::shared_ptr<Capture>& capture : driver.captures) {
    const bool own =
        capture->thread == thread.key && capture->mode != kCaptureModeRelaxed;
    const bool other = thread.capture_mode == kCaptureModeGlobal &&
                       capture->mode == kCaptureModeGlobal;
    if (!own && !other) continue;
    Invalidate(capture.get());
    result = abi::kErrorStreamCaptureUnsupported;
  }
  return result;
}

Result RefuseWaitingForStream(Driver& driver, Stream* stream) {
  if (stream->capture != nullptr) {
    Invalidate(stream->capture.get());
    return abi::kErrorStreamCaptureUnsupported;
  }
  const Result result = RefuseImplicitDependency(driver, stream);
  return result == abi::kSuccess ? RefuseUnsafeCall(driver) : result;
}

Result RefuseDuringContextCapture(Driver& driver, const Context& context) {
  Result result = RefuseUnsafeCall(driver);
  for (const std::shared_ptr<Stream>& stream : context.streams) {
    if (stream->capture == nullptr) continue;
    Invalidate(stream->capture.get());
    result = abi::kErrorStreamCaptureUnsupported;
  }
  return result;
}

extern "C" {

Result cuStreamIsCapturing(StreamHandle stream, StreamCaptureStatus* status) {
  Call call(Entry::cuStreamIsCapturing);
  call.Argument("stream", stream).Argument("status", status);
  return call.Run([&](Driver& driver) -> Result {
    if (status == nullptr) return abi::kErrorInvalidValue;
    std::shared_ptr<Stream> found;
    Result result = FindStream(driver, &call, stream, &found);
    if (result != abi::kSuccess) return result;
    result = AskStatus(*found, status);
    if (result == abi::kSuccess) call.Output("status", *status);
    return result;
  });
}

Result cuStreamBeginCapture_v2(StreamHandle stream, CaptureMode mode) {
  Call call(Entry::cuStreamBeginCapture_v2);
  call.Argument("stream", stream).Argument("mode", mode);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Stream> found;
    const Result result = FindStream(driver, &call, stream, &found);
    if (result != abi::kSuccess) return result;
    return BeginCapture(driver, found, mode);
  });
}

Result cuStreamEndCapture(StreamHandle stream, GraphHandle* graph) {
  Call call(Entry::cuStreamEndCapture);
  call.Argument("stream", stream).Argument("graph", graph);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Stream> found;
    const Result result = FindStream(driver, &call, stream, &found);
    if (result != abi::kSuccess) return result;
    return EndCapture(driver, &call, found, graph);
  });
}

Result cuStreamGetCaptureInfo(StreamHandle stream, StreamCaptureStatus* status,
                              std::uint64_t* id) {
  Call call(Entry::cuStreamGetCaptureInfo);
  call.Argument("stream", stream).Argument("status", status).Argument("id", id);
  return call.Run([&](Driver& driver) {
    return CaptureInfo(driver, &call, stream, status, id, nullptr, nullptr,
                       nullptr);
  });
}

Result cuStreamGetCaptureInfo_v2(StreamHandle stream,
                                 StreamCaptureStatus* status, std::uint64_t* id,
                                 GraphHandle* graph,
                                 const GraphNodeHandle** dependencies,
                                 std::size_t* dependency_count) {
  Call call(Entry::cuStreamGetCaptureInfo_v2);
  call.Argument("stream", stream)
      .Argument("status", status)
      .Argument("id", id)
      .Argument("graph", graph)
      .Argument("dependencies", dependencies)
      .Argument("dependency_count", dependency_count);
  return call.Run([&](Driver& driver) {
    return CaptureInfo(driver, &call, stream, status, id, graph, dependencies,
                       dependency_count);
  });
}

Result cuStreamGetCaptureInfo_v3(StreamHandle stream,
                                 StreamCaptureStatus* status, std::uint64_t* id,
                                 GraphHandle* graph,
                                 const GraphNodeHandle** dependencies,
                                 const GraphEdgeData** edge_data,
                                 std::size_t* dependency_count) {
  Call call(Entry::cuStreamGetCaptureInfo_v3);
  call.Argument("stream", stream)
      .Argument("status", status)
      .Argument("id", id)
      .Argument("graph", graph)
      .Argument("dependencies", dependencies)
      .Argument("edge_data", edge_data)
      .Argument("dependency_count", dependency_count);
  return call.Run([&](Driver& driver) {
    // Captures here have plain edges, which are reported as no edge data.
    if (edge_data != nullptr) *edge_data = nullptr;
    return CaptureInfo(driver, &call, stream, status, id, graph, dependencies,
                       dependency_count);
  });
}

Result cuThreadExchangeStreamCaptureMode(CaptureMode* mode) {
  Call call(Entry::cuThreadExchangeStreamCaptureMode);
  call.Argument("mode", mode);
  return call.Run([&](Driver& driver) -> Result {
    if (mode == nullptr) call.Die("null argument");
    if (*mode < kCaptureModeGlobal || *mode > kCaptureModeRelaxed) {
      return abi::kErrorInvalidValue;
    }
    std::swap(*mode, driver.Thread().capture_mode);
    call.Output("previous", *mode);
    return abi::kSuccess;
  });
}

Result cuStreamIsCapturing_ptsz(StreamHandle stream,
                                StreamCaptureStatus* status) {
  return cuStreamIsCapturing(PerThread(stream), status);
}

Result cuStreamBeginCapture_v2_ptsz(StreamHandle stream, CaptureMode mode) {
  return cuStreamBeginCapture_v2(PerThread(stream), mode);
}

Result cuStreamEndCapture_ptsz(StreamHandle stream, GraphHandle* graph) {
  return cuStreamEndCapture(PerThread(stream), graph);
}

Result cuStreamGetCaptureInfo_ptsz(StreamHandle stream,
                                   StreamCaptureStatus* status,
                                   std::uint64_t* id) {
  return cuStreamGetCaptureInfo(PerThread(stream), status, id);
}

Result cuStreamGetCaptureInfo_v2_ptsz(StreamHandle stream,
                                      StreamCaptureStatus* status,
                                      std::uint64_t* id, GraphHandle* graph,
                                      const GraphNodeHandle** dependencies,
                                      std::size_t* dependency_count) {
  return cuStreamGetCaptureInfo_v2(PerThread(stream), status, id, graph,
                                   dependencies, dependency_count);
}

Result cuStreamGetCaptureInfo_v3_ptsz(StreamHandle stream,
                                      StreamCaptureStatus* status,
                                      std::uint64_t* id, GraphHandle* graph,
                                      const GraphNodeHandle** dependencies,
                                      const GraphEdgeData** edge_data,
                                      std::size_t* dependency_count) {
  return cuStreamGetCaptureInfo_v3(PerThread(stream), status, id, graph,
                                   dependencies, edge_data, dependency_count);
}

}  // extern "C"

}  // namespace kvswap::sim
