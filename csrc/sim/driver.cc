#include "csrc/sim/driver.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "csrc/sim/devices.h"
#include "csrc/sim/report.h"

namespace kvswap::sim {
namespace {

// Never destroyed: other libraries may call the driver while the process ends.
Driver* g_driver = nullptr;

struct ThreadSlot {
  std::uint64_t generation = 0;
  ThreadState state;
};

ThreadSlot& CallingThread() {
  static thread_local ThreadSlot slot;
  return slot;
}

std::uint64_t SystemThreadId() {
  return static_cast<std::uint64_t>(syscall(SYS_gettid));
}

std::uint64_t NextGeneration() {
  static std::uint64_t generation = 0;
  return ++generation;
}

void LockBeforeFork() { Driver::Mutex().lock(); }

void UnlockAfterFork() { Driver::Mutex().unlock(); }

void MarkChild() {
  if (g_driver != nullptr && g_driver->initialized) g_driver->forked = true;
  // The child's only thread has another number than its parent's.
  CallingThread().state.system_id = SystemThreadId();
  Driver::Mutex().unlock();
}

}  // namespace

std::mutex& Driver::Mutex() {
  static std::mutex* const mutex = [] {
    pthread_atfork(&LockBeforeFork, &UnlockAfterFork, &MarkChild);
    return new std::mutex;
  }();
  return *mutex;
}

Driver& Driver::Get() {
  if (g_driver == nullptr) g_driver = new Driver(ReadOptions());
  return *g_driver;
}

void Driver::Reset() {
  Driver* const old = g_driver;
  g_driver = nullptr;
  if (old == nullptr) return;
  // Contexts and streams point to each other.
  for (DeviceState& device : old->devices) {
    if (device.primary != nullptr) {
      device.primary->alive = false;
      device.primary->streams.clear();
      device.primary->legacy = nullptr;
    }
  }
  for (const std::shared_ptr<Context>& context : old->contexts.All()) {
    context->alive = false;
    context->streams.clear();
    context->legacy = nullptr;
  }
  delete old;
}

Driver::Driver(Options read_options)
    : generation(NextGeneration()),
      options(std::move(read_options)),
      version(options.driver_version),
      faults(options.faults),
      scheduler(options.seed),
      contexts(HandleTable<Context>::Reuse::kLatestFirst),
      streams(HandleTable<Stream>::Reuse::kLate),
      events(HandleTable<Event>::Reuse::kLate),
      graphs(HandleTable<Graph>::Reuse::kLate),
      executables(HandleTable<GraphExec>::Reuse::kLate),
      modules(HandleTable<Module>::Reuse::kLate),
      functions(HandleTable<Function>::Reuse::kLate),
      kernels(options.kernels) {
  if (!options.trace_file.empty() && !trace.OpenFile(options.trace_file)) {
    DieByAbort("KVSWAP_SIM_TRACE=\"" + options.trace_file +
               "\" cannot be opened for writing");
  }
  for (int i = 0; i < options.device_count; ++i) {
    devices.emplace_back();
    devices.back().attributes = PresetDeviceAttributes();
    if (options.compute_capability != 0) {
      SetComputeCapability(&devices.back(), options.compute_capability);
    }
    for (const auto& [attribute, value] : options.device_attributes) {
      devices.back().attributes[attribute] = value;
    }
  }
}

ThreadState& Driver::Thread() {
  ThreadSlot& slot = CallingThread();
  if (slot.generation != generation) {
    slot.generation = generation;
    slot.state = ThreadState();
    slot.state.key = NextId();
    slot.state.system_id = SystemThreadId();
  }
  return slot.state;
}

std::shared_ptr<Context> Driver::Current() {
  const ThreadState& thread = Thread();
  return thread.contexts.empty() ? nullptr : thread.contexts.back();
}

void* Driver::NewNodeHandle(GraphNodeType type) {
  node_types.push_back(type);
  return &node_types.back();
}

const GraphNodeType* Driver::FindNodeType(const void* handle) const {
  for (const GraphNodeType& type : node_types) {
    if (&type == handle) return &type;
  }
  return nullptr;
}

void Driver::Violation(const std::string& text) {
  Report(text + " (seed " + std::to_string(scheduler.seed()) + ")");
  violations.push_back(text);
}

}  // namespace kvswap::sim
