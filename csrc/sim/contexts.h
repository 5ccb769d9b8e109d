// Contexts and the threads' context stacks.

#ifndef KVSWAP_SIM_CONTEXTS_H_
#define KVSWAP_SIM_CONTEXTS_H_

#include <memory>

#include "csrc/sim/driver.h"

namespace kvswap::sim {

// The calling thread's context, or the error of having none.
Result CurrentContext(Driver& driver, std::shared_ptr<Context>* context);

// The failure that a kernel left in the calling thread's context, for calls
// that work without a context too.
Result FailureOfCurrent(Driver& driver);

// The context of a handle; null means the current one.
Result FindContext(Driver& driver, ContextHandle handle,
                   std::shared_ptr<Context>* context);

inline ContextHandle HandleOf(const Context& context) {
  return static_cast<ContextHandle>(context.handle);
}

// Makes a context usable: gives it an id and its legacy stream.
void BeginContext(Driver& driver, const std::shared_ptr<Context>& context);

// Runs all work of a context.
void SynchronizeContext(Driver& driver, const Context& context);

// Ends a context: runs its work, frees its memory, destroys its streams and
// events.
void EndContext(Driver& driver, Context* context);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_CONTEXTS_H_
