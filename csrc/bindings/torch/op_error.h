// What an operator of this library throws inside it. Never leaves it:
// op_kernel.h.

#ifndef KVSWAP_BINDINGS_TORCH_OP_ERROR_H_
#define KVSWAP_BINDINGS_TORCH_OP_ERROR_H_

#include <stdexcept>

namespace kvswap::torch_ops {

class OpError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace kvswap::torch_ops

#endif  // KVSWAP_BINDINGS_TORCH_OP_ERROR_H_
