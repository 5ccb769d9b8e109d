#include "csrc/sim/reach.h"

namespace kvswap::sim {

bool Reaches(const Context& context, const Range& range,
             const Mapping* mapping) {
  if (mapping != nullptr) {
    return mapping->AccessOf(context.device) != kMemAccessNone;
  }
  if (range.IsHost() || range.kind == RangeKind::kManaged ||
      range.device == context.device) {
    return true;
  }
  // Peer access leaves pools out.
  return range.kind == RangeKind::kDevice &&
         context.peers.count(range.context->id) != 0;
}

}  // namespace kvswap::sim
