// Policies of the C ABI, for kvswap.policies, the public side.

#ifndef KVSWAP_BINDINGS_POLICY_OBJECTS_H_
#define KVSWAP_BINDINGS_POLICY_OBJECTS_H_

#include "csrc/bindings/python_objects.h"
#include "csrc/kvswap.h"

namespace kvswap::bindings {

// The rules of a kvswap.Policy; a null object for None. Throws TypeError for
// anything else.
py::object FindRules(py::handle policy);

// The C ABI's form of rules, which live as long; null for a null object.
const kvswap_policy* PolicyOf(const py::object& rules);

void AddPolicyObjects(py::module_& module);

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_POLICY_OBJECTS_H_
