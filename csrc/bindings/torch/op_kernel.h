// Operators as torch calls them, with errors that torch raises.
//
// No exception of this library may reach torch: releases of kvswap have a C++
// library of their own inside, whose exceptions torch cannot read. So
// everything is caught here, and torch is asked to throw.

#ifndef KVSWAP_BINDINGS_TORCH_OP_KERNEL_H_
#define KVSWAP_BINDINGS_TORCH_OP_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "csrc/bindings/torch/torch_api.h"

namespace kvswap::torch_ops {

// Ends with the operator's own message of at most KVSWAP_MESSAGE_SIZE bytes.
inline constexpr size_t kErrorSize = 1536;

// Runs `function`. False if it threw: then `error` says what.
bool RunWithoutThrowing(void (*function)(StableIValue*), StableIValue* stack,
                        const char* name, char (&error)[kErrorSize]) noexcept;

// The kernel that torch calls for the operator `name`, which `function` is.
template <const char* name, void (*function)(StableIValue*)>
void OpKernel(StableIValue* stack, uint64_t /*input_count*/,
              uint64_t /*output_count*/) {
  // torch's exception passes through this frame, in which nothing is to be
  // destroyed.
  char error[kErrorSize];
  if (RunWithoutThrowing(function, stack, name, error)) return;
  aoti_torch_check(false, name, __FILE__, __LINE__, error);
}

}  // namespace kvswap::torch_ops

#endif  // KVSWAP_BINDINGS_TORCH_OP_KERNEL_H_
