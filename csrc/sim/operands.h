// What the driver makes of a pointer and a size before it copies.

#ifndef KVSWAP_SIM_OPERANDS_H_
#define KVSWAP_SIM_OPERANDS_H_

#include <cstddef>
#include <string>

#include "csrc/sim/driver.h"
#include "csrc/sim/host_memory.h"

namespace kvswap::sim {

struct Operand {
  enum class Verdict {
    kValid,
    kRefused,  // kErrorInvalidValue
    kWild,     // taken for host memory, and not accessible: the driver dies
  };
  Verdict verdict = Verdict::kValid;
  bool pageable = false;  // host memory that the driver does not know
  bool host = false;      // host memory of any kind
  std::string reason;     // where it is not valid
};

// Checks [address, address + size), size > 0, for an access by a stream of
// `context`.
Operand CheckOperand(Driver& driver, const Context& context,
                     HostMemoryMap* host_memory, DevicePointer address,
                     std::size_t size, Access access);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_OPERANDS_H_
