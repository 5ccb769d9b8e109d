// What kvswap keeps for each context: its kernels and its bridge.

#ifndef KVSWAP_ENGINE_CONTEXT_STATE_H_
#define KVSWAP_ENGINE_CONTEXT_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "csrc/driver/driver_table.h"
#include "csrc/engine/bridge.h"
#include "csrc/engine/kernel_module.h"

namespace kvswap::engine {

// Found by the context's id, which no later context has, while the address of a
// CUcontext is used again. Never destroyed: calls may come from exit handlers,
// and the driver gives back what a destroyed context held.
class ContextState {
 public:
  ContextState(const driver::DriverTable& table, std::uint64_t id, int device,
               const KernelTarget& target,
               bool host_pointers_reach_registered_memory)
      : table_(table),
        id_(id),
        device_(device),
        target_(target),
        reaches_registered_(host_pointers_reach_registered_memory) {}
  ContextState(const ContextState&) = delete;
  ContextState& operator=(const ContextState&) = delete;

  std::uint64_t id() const { return id_; }
  int device() const { return device_; }  // ordinal
  int compute_capability() const { return target_.compute_capability; }
  // Device attribute CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM.
  bool reaches_registered() const { return reaches_registered_; }

  // The kernels, loaded by the first call; other threads wait for it. Where the
  // device was out of memory, tried again on later calls, ever more seldom. The
  // context is current. May throw std::bad_alloc.
  const KernelModule& Kernels();

  // The bridge, opened by the first call; null where the driver refused it. The
  // context is current.
  Bridge* OpenBridge();

 private:
  const KernelModule& LoadKernels(const KernelModule* known);

  const driver::DriverTable& table_;
  const std::uint64_t id_;
  const int device_;
  const KernelTarget target_;
  const bool reaches_registered_;
  std::mutex mutex_;
  std::atomic<const KernelModule*> kernels_{nullptr};
  std::atomic<std::uint32_t> calls_since_refusal_{0};
  std::atomic<Bridge*> bridge_{nullptr};
};

// The state of a context, which is current and of `device`. Null, with `*code`
// the CUresult, where the driver does not answer; null with kSuccess where it
// has no ids of contexts (before CUDA 12.0). May throw std::bad_alloc.
ContextState* FindContextState(const driver::DriverTable& table,
                               abi::Context context, int device, int* code);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_CONTEXT_STATE_H_
