#include "csrc/sim/kernel_plugins.h"

#include <dlfcn.h>
#include <unistd.h>

#include "csrc/sim/driver_functions.h"
#include "csrc/sim/report.h"

namespace kvswap::sim {
namespace {

constexpr char kPresetPlugin[] = "libkvswap_sim_kernels.so";

// The preset plug-in's file, or nothing where there is none.
std::vector<std::string> PresetFiles() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&cuInit), &info) == 0) return {};
  const std::string self = info.dli_fname;
  const std::string file = self.substr(0, self.rfind('/') + 1) + kPresetPlugin;
  if (file.find('/') == std::string::npos || access(file.c_str(), R_OK) != 0) {
    return {};
  }
  return {file};
}

}  // namespace

void KernelPlugins::Load() {
  loaded_ = true;
  for (const std::string& file : files_.empty() ? PresetFiles() : files_) {
    // Never closed: launches may be pending for as long as the process lives.
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* reason = dlerror();
      DieByAbort("the kernel plug-in " + file + " cannot be loaded: " +
                 (reason == nullptr ? "no reason given" : reason) +
                 "; KVSWAP_SIM_KERNELS names the plug-ins");
    }
    void* find = dlsym(library, "cuda_sim_find_kernel");
    if (find == nullptr) {
      DieByAbort("KVSWAP_SIM_KERNELS: " + file +
                 " is no kernel plug-in: it does not export "
                 "cuda_sim_find_kernel");
    }
    plugins_.push_back(reinterpret_cast<FindKernel>(find));
  }
}

const cuda_sim_kernel* KernelPlugins::Find(const std::string& name) {
  if (!loaded_) Load();
  for (const FindKernel find : plugins_) {
    const cuda_sim_kernel* kernel = find(name.c_str());
    if (kernel != nullptr) return kernel;
  }
  return nullptr;
}

}  // namespace kvswap::sim
