// The keyword arguments of a call, as the C ABI's options.

#ifndef KVSWAP_BINDINGS_CALL_OPTIONS_H_
#define KVSWAP_BINDINGS_CALL_OPTIONS_H_

#include "csrc/bindings/call_arguments.h"
#include "csrc/kvswap.h"

namespace kvswap::bindings {

// The C ABI's default stands for an argument that was left out. The policy is
// that of the argument, and lives as long. Throws TypeError or ValueError,
// naming the argument at fault.
kvswap_options MakeOptions(const CallArguments& arguments);

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_CALL_OPTIONS_H_
