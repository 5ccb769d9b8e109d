// The state of the simulated driver: one a process, behind one mutex.

#ifndef KVSWAP_SIM_DRIVER_H_
#define KVSWAP_SIM_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "csrc/sim/address_space.h"
#include "csrc/sim/driver_abi.h"
#include "csrc/sim/faults.h"
#include "csrc/sim/handle_table.h"
#include "csrc/sim/kernel_plugins.h"
#include "csrc/sim/objects.h"
#include "csrc/sim/options.h"
#include "csrc/sim/scheduler.h"
#include "csrc/sim/trace.h"

namespace kvswap::sim {

inline constexpr std::size_t kDeviceMemory = std::size_t{64} << 30;

struct DeviceState {
  std::map<int, int> attributes;
  // The same object for the process's life, in use or not.
  std::shared_ptr<Context> primary;
  unsigned primary_retained = 0;
};

struct PhysicalAllocation {
  std::shared_ptr<PhysicalMemory> memory;
  Device device = 0;
};

// What the driver keeps for a thread.
struct ThreadState {
  std::uint64_t key = 0;        // never used twice
  std::uint64_t system_id = 0;  // as the operating system numbers it
  std::vector<std::shared_ptr<Context>> contexts;
  CaptureMode capture_mode = kCaptureModeGlobal;
};

struct Driver {
  // The process's driver; its first use reads the environment.
  static Driver& Get();
  static std::mutex& Mutex();
  // Back to the state after loading; the environment is read anew.
  static void Reset();

  explicit Driver(Options read_options);

  // The calling thread's state.
  ThreadState& Thread();
  // Context stack depth aside, what the thread's calls work in; null if none.
  std::shared_ptr<Context> Current();

  // Notes a mistake of the caller that the driver's ABI has no code for, or for
  // which a real driver's behaviour is undefined.
  void Violation(const std::string& text);

  std::uint64_t NextId() { return next_id++; }

  // Nodes are only named, never destroyed apart from their graph.
  void* NewNodeHandle(GraphNodeType type);
  const GraphNodeType* FindNodeType(const void* handle) const;

  const std::uint64_t generation;  // counts resets
  Options options;
  int version;  // as 12080
  bool initialized = false;
  // In a child process of one that had initialised the driver.
  bool forked = false;
  // Whether batch calls can be captured.
  bool batch_capture = false;
  // No id is used again, not even after a reset: programs keep what belongs to
  // a context by its id.
  std::uint64_t next_id = (generation << 32) + 1;

  Trace trace;
  Faults faults;
  Scheduler scheduler;
  AddressSpace addresses;
  std::vector<DeviceState> devices;
  HandleTable<Context> contexts;
  HandleTable<Stream> streams;
  HandleTable<Event> events;
  HandleTable<Graph> graphs;
  HandleTable<GraphExec> executables;
  HandleTable<Module> modules;
  HandleTable<Function> functions;
  KernelPlugins kernels;
  // Captures that have not ended.
  std::vector<std::shared_ptr<Capture>> captures;
  std::map<PhysicalHandle, PhysicalAllocation> physical_allocations;
  // The node handle is an element's address.
  std::deque<GraphNodeType> node_types;
  std::vector<std::string> violations;
};

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_DRIVER_H_
