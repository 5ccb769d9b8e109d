// Streams: what a handle means, and the order of work.

#ifndef KVSWAP_SIM_STREAMS_H_
#define KVSWAP_SIM_STREAMS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "csrc/sim/call.h"
#include "csrc/sim/driver.h"

namespace kvswap::sim {

inline constexpr int kLeastStreamPriority = 0;
inline constexpr int kGreatestStreamPriority = -5;

// The stream of a handle. Handles 0, 1 and 2 mean the current context's. A
// handle that is no stream is refused, with a remark in the call's record on
// what it is instead.
Result FindStream(Driver& driver, Call* call, StreamHandle handle,
                  std::shared_ptr<Stream>* stream);

// The handle that a function of the per-thread variety means.
inline StreamHandle PerThread(StreamHandle stream) {
  return stream == nullptr
             ? reinterpret_cast<StreamHandle>(abi::kStreamPerThread)
             : stream;
}

// What work that is submitted to the stream now has to wait for.
std::vector<TaskId> Predecessors(Driver& driver, Stream* stream);

// An action that is left out when a kernel's failure has ended its context.
template <typename Action>
Scheduler::Action InContext(std::shared_ptr<const Context> context,
                            Action action) {
  return [context = std::move(context), action = std::move(action)] {
    if (context->failure == abi::kSuccess) action();
  };
}

// Appends work to the stream's order.
TaskId Append(Driver& driver, Stream* stream, Scheduler::Action action);

// Appends work to the stream, or to the graph that it captures.
Result Submit(Driver& driver, Stream* stream,
              const std::shared_ptr<const Work>& work);

// What waiting for the stream waits for. The legacy stream's is that of all
// blocking streams too.
std::vector<TaskId> UnfinishedWork(Driver& driver, Stream* stream);

// Runs all work of the stream.
void SynchronizeStream(Driver& driver, Stream* stream);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_STREAMS_H_
