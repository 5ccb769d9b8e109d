// Submission of copies.

#ifndef KVSWAP_SIM_COPIES_H_
#define KVSWAP_SIM_COPIES_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "csrc/sim/driver.h"
#include "csrc/sim/operands.h"

namespace kvswap::sim {

// Adds one copy of a stream that writes after `before`, and whose source is
// read when the access order and the kind of memory allow it. Where there is a
// choice, the generator makes it.
TaskId AddCopy(Driver& driver, const Stream& stream,
               const std::vector<TaskId>& before,
               const std::shared_ptr<const CopyWork>& work,
               abi::MemcpySourceAccessOrder order, const Operand& destination,
               const Operand& source);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_COPIES_H_
