// Contexts, streams, events, captures and graphs.

#ifndef KVSWAP_SIM_OBJECTS_H_
#define KVSWAP_SIM_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "csrc/sim/driver_abi.h"
#include "csrc/sim/images.h"
#include "csrc/sim/scheduler.h"
#include "csrc/sim/work.h"

namespace kvswap::sim {

struct Capture;
struct Stream;

struct Context {
  std::uint64_t id = 0;  // never used twice, unlike the handle
  void* handle = nullptr;
  Device device = 0;
  bool primary = false;
  bool alive = true;
  unsigned flags = 0;
  std::shared_ptr<Stream> legacy;
  // All other streams, also destroyed ones whose work has not run.
  std::vector<std::shared_ptr<Stream>> streams;
  // Ids of contexts whose memory this one's kernels may touch.
  std::set<std::uint64_t> peers;
  // What a kernel's failure left: nothing more runs, and calls answer with it.
  Result failure = abi::kSuccess;
};

enum class StreamKind { kLegacy, kPerThread, kCreated };

struct Stream {
  std::uint64_t id = 0;
  void* handle = nullptr;  // of created streams
  StreamKind kind = StreamKind::kCreated;
  std::shared_ptr<Context> context;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t thread = 0;  // of per-thread streams
  bool destroyed = false;
  // What work that comes next has to wait for.
  std::vector<TaskId> tail;
  // Null while the stream does not capture.
  std::shared_ptr<Capture> capture;
  // Nodes of the capture's graph that the next node depends on.
  std::vector<std::size_t> capture_tail;

  // Whether the legacy stream and this one wait for each other.
  bool IsBlocking() const {
    return kind == StreamKind::kPerThread ||
           (kind == StreamKind::kCreated && (flags & kStreamNonBlocking) == 0);
  }
};

struct GraphNode {
  void* handle = nullptr;
  std::shared_ptr<const Work> work;
  // Positions of earlier nodes.
  std::vector<std::size_t> dependencies;
};

// Nodes stand after everything that they depend on.
struct Graph {
  std::uint64_t id = 0;
  std::vector<GraphNode> nodes;
};

struct GraphExec {
  std::uint64_t id = 0;
  // A copy: the graph can be destroyed or change.
  std::shared_ptr<const Graph> graph;
  // The latest launch: launches of one executable do not overlap.
  std::vector<TaskId> tail;
};

struct Capture {
  std::uint64_t id = 0;
  CaptureMode mode = kCaptureModeGlobal;
  std::uint64_t thread = 0;
  bool valid = true;
  // The stream on which it began.
  std::weak_ptr<Stream> origin;
  // All streams that take part.
  std::vector<std::weak_ptr<Stream>> streams;
  std::shared_ptr<Graph> graph;
  void* graph_handle = nullptr;
  // What cuStreamGetCaptureInfo handed out last.
  std::vector<GraphNodeHandle> reported_dependencies;
};

struct Module {
  std::uint64_t id = 0;
  void* handle = nullptr;
  // Null after the module was unloaded.
  std::shared_ptr<Context> context;
  Image image;
  // Handles that were given out, by name.
  std::map<std::string, void*> functions;
};

struct Function {
  std::uint64_t id = 0;
  std::shared_ptr<Module> module;
  ImageKernel kernel;
  // What it allows of dynamic shared memory.
  std::size_t max_dynamic_shared_bytes = 0;
  int preferred_carveout = -1;
};

struct Event {
  std::uint64_t id = 0;
  void* handle = nullptr;
  unsigned flags = 0;
  std::shared_ptr<Context> context;
  // What it stands for: work that was submitted before it was recorded.
  std::vector<TaskId> recorded;
  // Where it was recorded on a capturing stream instead.
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> capture_nodes;
};

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_OBJECTS_H_
