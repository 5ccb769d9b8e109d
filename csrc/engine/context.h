// The CUDA context that a call works in.

#ifndef KVSWAP_ENGINE_CONTEXT_H_
#define KVSWAP_ENGINE_CONTEXT_H_

#include "csrc/abi/cuda_driver_types.h"
#include "csrc/driver/driver_table.h"
#include "csrc/engine/stream.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// Makes the context of a stream current for the time of a call, and the former
// one current again afterwards. Creates no context.
class ScopedContext {
 public:
  explicit ScopedContext(const driver::DriverTable& table) : table_(table) {}
  ~ScopedContext() { Leave(); }
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

  // A created stream's own context. For handles 0, 1 and 2 the current context
  // if it belongs to `device`, else that device's primary context if it is
  // active; with `device` -1 the current context. False: `report` says why.
  bool Enter(const Stream& stream, int device, kvswap_result* report);

  // What cannot be undone is reported: the CUresult of the first call that
  // failed. Does nothing the second time.
  int Leave();

  // The entered context, and whether it was current before.
  abi::Context context() const { return context_; }
  bool was_current() const { return !pushed_; }

  // The ordinal of the entered context's device; -1 before Enter.
  int device() const { return device_; }

 private:
  bool EnterPrimary(int device, kvswap_result* report);
  bool Push(abi::Context context, kvswap_result* report);

  const driver::DriverTable& table_;
  bool pushed_ = false;
  bool retained_ = false;
  abi::Device retained_device_ = 0;
  abi::Context context_ = nullptr;
  int device_ = -1;
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_CONTEXT_H_
