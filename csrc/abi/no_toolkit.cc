// Stands in for toolkit_abi_check.cc where no CUDA toolkit is selected.

#include "csrc/abi/toolkit_version.h"

namespace kvswap::abi {

const int kToolkitVersion = 0;

}  // namespace kvswap::abi
