// Access of one device's kernels to another's memory.

#include <memory>

#include "csrc/sim/call.h"
#include "csrc/sim/contexts.h"
#include "csrc/sim/driver_functions.h"

namespace kvswap::sim {

extern "C" {

Result cuCtxEnablePeerAccess(ContextHandle peer, unsigned flags) {
  Call call(Entry::cuCtxEnablePeerAccess);
  call.Argument("peer", peer).Argument("flags", flags);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Context> current;
    std::shared_ptr<Context> other;
    Result result = CurrentContext(driver, &current);
    if (result != abi::kSuccess) return result;
    if (peer == nullptr) return abi::kErrorInvalidContext;
    result = FindContext(driver, peer, &other);
    if (result != abi::kSuccess) return result;
    if (flags != 0) return abi::kErrorInvalidValue;
    if (other == current || other->device == current->device) {
      return kErrorPeerAccessUnsupported;
    }
    return current->peers.insert(other->id).second
               ? abi::kSuccess
               : kErrorPeerAccessAlreadyEnabled;
  });
}

Result cuCtxDisablePeerAccess(ContextHandle peer) {
  Call call(Entry::cuCtxDisablePeerAccess);
  call.Argument("peer", peer);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Context> current;
    std::shared_ptr<Context> other;
    Result result = CurrentContext(driver, &current);
    if (result != abi::kSuccess) return result;
    if (peer == nullptr) return abi::kErrorInvalidContext;
    result = FindContext(driver, peer, &other);
    if (result != abi::kSuccess) return result;
    return current->peers.erase(other->id) == 1 ? abi::kSuccess
                                                : kErrorPeerAccessNotEnabled;
  });
}

}  // extern "C"

}  // namespace kvswap::sim
