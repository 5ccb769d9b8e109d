// Which memory the kernels of a context reach.

#ifndef KVSWAP_SIM_REACH_H_
#define KVSWAP_SIM_REACH_H_

#include "csrc/sim/address_space.h"
#include "csrc/sim/objects.h"

namespace kvswap::sim {

// Whether kernels of a context reach memory at all; `mapping` is null except
// for reservations.
bool Reaches(const Context& context, const Range& range,
             const Mapping* mapping);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_REACH_H_
