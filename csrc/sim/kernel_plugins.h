// Kernel plug-ins: the host code that stands for device code.

#ifndef KVSWAP_SIM_KERNEL_PLUGINS_H_
#define KVSWAP_SIM_KERNEL_PLUGINS_H_

#include <string>
#include <utility>
#include <vector>

#include "csrc/sim/cuda_sim_kernel.h"

namespace kvswap::sim {

class KernelPlugins {
 public:
  // Files of plug-ins. None: the one beside this library, if it is there.
  explicit KernelPlugins(std::vector<std::string> files)
      : files_(std::move(files)) {}

  // The kernel of a name, or null. The first question loads the plug-ins, and
  // ends the process where one that was asked for cannot be loaded.
  const cuda_sim_kernel* Find(const std::string& name);

 private:
  using FindKernel = decltype(&cuda_sim_find_kernel);

  void Load();

  const std::vector<std::string> files_;
  bool loaded_ = false;
  std::vector<FindKernel> plugins_;
};

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_KERNEL_PLUGINS_H_
