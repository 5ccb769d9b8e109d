// The copy kernels of one context: their image, chosen and loaded.

#ifndef KVSWAP_ENGINE_KERNEL_MODULE_H_
#define KVSWAP_ENGINE_KERNEL_MODULE_H_

#include <string>

#include "csrc/abi/cuda_driver_types.h"
#include "csrc/driver/driver_table.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// The kernels of one image, all of one size of parameters. Null: not there.
struct KernelFunctions {
  abi::Function plain_compact = nullptr;
  abi::Function plain_sized = nullptr;
  abi::Function bulk_compact = nullptr;
  abi::Function bulk_sized = nullptr;

  bool HasPlain() const { return plain_compact != nullptr; }
  bool HasBulk() const { return bulk_compact != nullptr; }
};

struct KernelModule {
  // Of 4 KB and of 32 KB of parameters. The small ones are always there where
  // `reason` is NONE; the large ones need driver 12.1.
  KernelFunctions small;
  KernelFunctions large;
  kvswap_reason reason = KVSWAP_REASON_NONE;  // why there are none
  std::string image;                          // name of the one that was loaded
  std::string message;                        // why there are none, for people
  std::string refused;  // what the driver refused, where one was loaded
  // The driver was out of memory: worth another try.
  bool may_retry = false;
  // Dynamic shared memory that the bulk kernels may have, for their ring.
  int ring_bytes = 0;
};

// What a choice among the images depends on.
struct KernelTarget {
  int compute_capability = 0;   // as 90 for 9.0
  int shared_memory_bytes = 0;  // of a CTA at most, by opting in
};

// Whether the driver has what the kernel engine calls.
bool HasKernelEntries(const driver::DriverTable& table);

// Loads the best image for the current context. The modules stay loaded as long
// as the context lives. Disturbs no stream's capture. May throw std::bad_alloc;
// nothing stays loaded then.
KernelModule LoadKernelModule(const driver::DriverTable& table,
                              const KernelTarget& target);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_KERNEL_MODULE_H_
