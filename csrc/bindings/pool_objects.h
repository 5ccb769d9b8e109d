// Block pools, tickets and registrations of the C ABI, for kvswap's Python
// modules. What they define begins with an underscore: kvswap.pools and its
// neighbours are the public side.

#ifndef KVSWAP_BINDINGS_POOL_OBJECTS_H_
#define KVSWAP_BINDINGS_POOL_OBJECTS_H_

#include "csrc/bindings/python_objects.h"

namespace kvswap::bindings {

void AddPoolObjects(py::module_& module);

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_POOL_OBJECTS_H_
