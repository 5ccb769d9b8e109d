// Graphs and their launch.

#include <memory>
#include <vector>

#include "csrc/sim/call.h"
#include "csrc/sim/captures.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/streams.h"

namespace kvswap::sim {
namespace {

Result Instantiate(Driver& driver, Call* call, GraphExecHandle* executable,
                   GraphHandle graph) {
  if (executable == nullptr) return abi::kErrorInvalidValue;
  const std::shared_ptr<Graph> found = driver.graphs.Find(graph);
  if (found == nullptr) return abi::kErrorInvalidValue;
  auto created = std::make_shared<GraphExec>();
  created->id = driver.NextId();
  created->graph = std::make_shared<const Graph>(*found);
  *executable = static_cast<GraphExecHandle>(driver.executables.Add(created));
  call->Output("executable", *executable);
  return abi::kSuccess;
}

// Submits the nodes in the order of their dependencies, as a whole in stream
// order.
void Launch(Driver& driver, GraphExec* executable, Stream* stream) {
  std::vector<TaskId> before = Predecessors(driver, stream);
  before.insert(before.end(), executable->tail.begin(), executable->tail.end());
  const std::shared_ptr<const Graph> graph = executable->graph;
  std::vector<TaskId> tasks;
  for (const GraphNode& node : graph->nodes) {
    std::vector<TaskId> after;
    for (std::size_t dependency : node.dependencies) {
      after.push_back(tasks[dependency]);
    }
    if (after.empty()) after = before;
    const std::shared_ptr<const Work> work = node.work;
    tasks.push_back(driver.scheduler.Add(
        InContext(stream->context, [&driver, work] { work->Run(driver); }),
        after));
  }
  tasks.insert(tasks.end(), before.begin(), before.end());
  stream->tail = {driver.scheduler.Add(nullptr, tasks)};
  executable->tail = stream->tail;
}

}  // namespace

extern "C" {

Result cuGraphInstantiate_v2(GraphExecHandle* executable, GraphHandle graph,
                             GraphNodeHandle* error_node, char* log,
                             std::size_t log_size) {
  Call call(Entry::cuGraphInstantiate_v2);
  call.Argument("executable", executable)
      .Argument("graph", graph)
      .Argument("error_node", error_node)
      .Argument("log", log)
      .Argument("log_size", log_size);
  return call.Run([&](Driver& driver) {
    return Instantiate(driver, &call, executable, graph);
  });
}

Result cuGraphInstantiateWithFlags(GraphExecHandle* executable,
                                   GraphHandle graph,
                                   unsigned long long flags) {
  Call call(Entry::cuGraphInstantiateWithFlags);
  call.Argument("executable", executable)
      .Argument("graph", graph)
      .Argument("flags", flags);
  return call.Run([&](Driver& driver) {
    return Instantiate(driver, &call, executable, graph);
  });
}

Result cuGraphInstantiateWithParams(GraphExecHandle* executable,
                                    GraphHandle graph,
                                    GraphInstantiateParameters* parameters) {
  Call call(Entry::cuGraphInstantiateWithParams);
  call.Argument("executable", executable)
      .Argument("graph", graph)
      .Argument("parameters", parameters);
  return call.Run([&](Driver& driver) -> Result {
    if (parameters == nullptr) return abi::kErrorInvalidValue;
    const Result result = Instantiate(driver, &call, executable, graph);
    parameters->error_node = nullptr;
    parameters->result = result == abi::kSuccess ? 0 : 1;
    return result;
  });
}

Result cuGraphLaunch(GraphExecHandle executable, StreamHandle stream) {
  Call call(Entry::cuGraphLaunch);
  call.Argument("executable", executable).Argument("stream", stream);
  return call.Run([&](Driver& driver) -> Result {
    const std::shared_ptr<GraphExec> found =
        driver.executables.Find(executable);
    if (found == nullptr) return abi::kErrorInvalidValue;
    std::shared_ptr<Stream> on;
    Result result = FindStream(driver, &call, stream, &on);
    if (result != abi::kSuccess) return result;
    result = RefuseImplicitDependency(driver, on.get());
    if (result != abi::kSuccess) return result;
    if (on->capture != nullptr) {
      if (!on->capture->valid) return abi::kErrorStreamCaptureInvalidated;
      Invalidate(on->capture.get());
      return abi::kErrorStreamCaptureUnsupported;
    }
    Launch(driver, found.get(), on.get());
    return abi::kSuccess;
  });
}

Result cuGraphGetNodes(GraphHandle graph, GraphNodeHandle* nodes,
                       std::size_t* count) {
  Call call(Entry::cuGraphGetNodes);
  call.Argument("graph", graph)
      .Argument("nodes", nodes)
      .Argument("count", count);
  return call.Run([&](Driver& driver) -> Result {
    const std::shared_ptr<Graph> found = driver.graphs.Find(graph);
    if (found == nullptr || count == nullptr) return abi::kErrorInvalidValue;
    if (nodes == nullptr) {
      *count = found->nodes.size();
      call.Output("count", *count);
      return abi::kSuccess;
    }
    // Room beyond the last node is cleared.
    for (std::size_t i = 0; i < *count; ++i) {
      nodes[i] = i < found->nodes.size()
                     ? static_cast<GraphNodeHandle>(found->nodes[i].handle)
                     : nullptr;
    }
    if (*count > found->nodes.size()) *count = found->nodes.size();
    call.Output("count", *count);
    return abi::kSuccess;
  });
}

Result cuGraphNodeGetType(GraphNodeHandle node, GraphNodeType* type) {
  Call call(Entry::cuGraphNodeGetType);
  call.Argument("node", node).Argument("type", type);
  return call.Run([&](Driver& driver) -> Result {
    const GraphNodeType* found = driver.FindNodeType(node);
    if (found == nullptr || type == nullptr) return abi::kErrorInvalidValue;
    *type = *found;
    call.Output("type", *type);
    return abi::kSuccess;
  });
}

Result cuGraphDestroy(GraphHandle graph) {
  Call call(Entry::cuGraphDestroy);
  call.Argument("graph", graph);
  return call.Run([&](Driver& driver) -> Result {
    if (driver.graphs.Find(graph) == nullptr) return abi::kErrorInvalidValue;
    driver.graphs.Remove(graph);
    return abi::kSuccess;
  });
}

Result cuGraphExecDestroy(GraphExecHandle executable) {
  Call call(Entry::cuGraphExecDestroy);
  call.Argument("executable", executable);
  return call.Run([&](Driver& driver) -> Result {
    if (driver.executables.Find(executable) == nullptr) {
      return abi::kErrorInvalidValue;
    }
    driver.executables.Remove(executable);
    return abi::kSuccess;
  });
}

Result cuGraphInstantiateWithParams_ptsz(
    GraphExecHandle* executable, GraphHandle graph,
    GraphInstantiateParameters* parameters) {
  return cuGraphInstantiateWithParams(executable, graph, parameters);
}

Result cuGraphLaunch_ptsz(GraphExecHandle executable, StreamHandle stream) {
  return cuGraphLaunch(executable, PerThread(stream));
}

}  // extern "C"

}  // namespace kvswap::sim
