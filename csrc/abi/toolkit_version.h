// The CUDA toolkit that this build of kvswap was checked against.

#ifndef KVSWAP_ABI_TOOLKIT_VERSION_H_
#define KVSWAP_ABI_TOOLKIT_VERSION_H_

namespace kvswap::abi {

// CUDA_VERSION of the toolkit whose <cuda.h> cuda_driver_types.h was checked
// against, as 12080 for 12.8; 0 where the build had no toolkit. Nothing but
// this number depends on the toolkit.
extern const int kToolkitVersion;

}  // namespace kvswap::abi

#endif  // KVSWAP_ABI_TOOLKIT_VERSION_H_
