// Policies of the C ABI, for kvswap.policies, the public side.

#ifndef KVSWAP_BINDINGS_POLICY_OBJECTS_H_
#define KVSWAP_BINDINGS_POLICY_OBJECTS_H_

#include "csrc/bindings/python_objects.h"
#include "csrc/kvswap.h"

namespace kvswap::bindings {

// The C ABI's form of a kvswap.Policy, null for None. Lives as long as the
// argument. Throws TypeError for anything else.
const kvswap_policy* ParsePolicy(py::handle policy);

void AddPolicyObjects(py::module_& module);

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_POLICY_OBJECTS_H_
