// The keyword arguments of a call, as the C ABI's options.

#ifndef KVSWAP_BINDINGS_CALL_OPTIONS_H_
#define KVSWAP_BINDINGS_CALL_OPTIONS_H_

#include "csrc/bindings/call_arguments.h"
#include "csrc/kvswap.h"

namespace kvswap::bindings {

// Options, and what they refer to.
struct CallOptions {
  kvswap_options options = KVSWAP_OPTIONS_INIT;
  py::object policy;  // null: none
};

// The C ABI's default stands for an argument that was left out. Throws
// TypeError or ValueError, naming the argument at fault.
CallOptions MakeOptions(const CallArguments& arguments);

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_CALL_OPTIONS_H_
