// Names and texts of result codes.

#ifndef KVSWAP_SIM_ERROR_TEXTS_H_
#define KVSWAP_SIM_ERROR_TEXTS_H_

#include "csrc/sim/driver_abi.h"

namespace kvswap::sim {

// Null for codes that the driver does not know.
const char* ErrorName(Result code);
const char* ErrorText(Result code);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_ERROR_TEXTS_H_
