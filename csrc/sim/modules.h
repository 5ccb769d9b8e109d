// Modules and their functions.

#ifndef KVSWAP_SIM_MODULES_H_
#define KVSWAP_SIM_MODULES_H_

#include <memory>

#include "csrc/sim/driver.h"

namespace kvswap::sim {

// Takes a module and its functions away.
void UnloadModule(Driver& driver, Module* module);

// The function of a handle, of a module that is loaded in a context in use.
Result FindFunction(Driver& driver, FunctionHandle handle,
                    std::shared_ptr<Function>* function);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_MODULES_H_
