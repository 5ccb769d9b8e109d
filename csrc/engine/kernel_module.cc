#include "csrc/engine/kernel_module.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "csrc/engine/capture_mode.h"
#include "csrc/engine/report.h"
#include "csrc/kernels/kernel_images.h"
#include "csrc/kernels/kernel_parameters.h"

namespace kvswap::engine {
namespace {

using kernels::KernelImage;

// The first drivers that load an image of our toolkits, and that pass 32 KB of
// parameters (contract page).
constexpr int kKernelsSince = 12000;
constexpr int kLargeParametersSince = 12010;

// The static shared memory of the bulk kernels, and what the driver reserves in
// each CTA, cannot be had as dynamic shared memory.
constexpr int kReservedSharedBytes = 2048;

std::string CapabilityText(int capability) {
  return std::to_string(capability / 10) + "." +
         std::to_string(capability % 10);
}

bool CanRun(const KernelImage& image, int capability) {
  if (image.is_ptx) return image.compute_capability <= capability;
  return image.compute_capability / 10 == capability / 10 &&
         image.compute_capability <= capability;
}

// The images for a size of parameters, best first: cubins before PTX, which the
// driver has to compile, and the newer before the older.
std::vector<const KernelImage*> Candidates(int capability,
                                           unsigned parameter_bytes) {
  std::vector<const KernelImage*> candidates;
  for (std::size_t i = 0; i < kernels::kKernelImageCount; ++i) {
    const KernelImage& image = kernels::kKernelImages[i];
    if (image.parameter_bytes == parameter_bytes && CanRun(image, capability)) {
      candidates.push_back(&image);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const KernelImage* a, const KernelImage* b) {
                     if (a->is_ptx != b->is_ptx) return b->is_ptx;
                     return a->compute_capability > b->compute_capability;
                   });
  return candidates;
}

int GetFunctions(const driver::DriverTable& table, const KernelImage& image,
                 int ring_bytes, abi::Module module,
                 KernelFunctions* functions) {
  const std::string suffix =
      image.parameter_bytes == kernels::kLargeParameterBytes ? "_32k" : "_4k";
  struct Wanted {
    const char* name;
    abi::Function* function;
    bool is_bulk;
  };
  // A ring that holds the least that a ring has.
  const bool has_bulk =
      image.has_bulk &&
      ring_bytes >=
          static_cast<int>(kernels::kMinStages * kernels::kStageAlignment);
  KernelFunctions found;
  for (const Wanted& wanted :
       {Wanted{"kvswap_plain_compact", &found.plain_compact, false},
        Wanted{"kvswap_plain_sized", &found.plain_sized, false},
        Wanted{"kvswap_bulk_compact", &found.bulk_compact, true},
        Wanted{"kvswap_bulk_sized", &found.bulk_sized, true}}) {
    if (wanted.is_bulk && !has_bulk) continue;
    int code = table.ModuleGetFunction(wanted.function, module,
                                       (wanted.name + suffix).c_str());
    if (code == abi::kSuccess && wanted.is_bulk) {
      code = table.FuncSetAttribute(
          *wanted.function, abi::kFunctionAttributeMaxDynamicSharedSizeBytes,
          ring_bytes);
    }
    if (code != abi::kSuccess) return code;
  }
  *functions = found;
  return abi::kSuccess;
}

// What has been loaded, and is unloaded again unless it is kept.
class LoadedModules {
 public:
  explicit LoadedModules(const driver::DriverTable& table) : table_(table) {}
  ~LoadedModules() {
    while (!handles_.empty()) UnloadLast();
  }
  LoadedModules(const LoadedModules&) = delete;
  LoadedModules& operator=(const LoadedModules&) = delete;

  // The CUresult. May throw std::bad_alloc; nothing is loaded then.
  int Load(const KernelImage& image) {
    handles_.push_back(nullptr);
    const int code = table_.ModuleLoadData(&handles_.back(), image.data);
    if (code != abi::kSuccess) handles_.pop_back();
    return code;
  }
  abi::Module last() const { return handles_.back(); }
  void UnloadLast() {
    table_.ModuleUnload(handles_.back());
    handles_.pop_back();
  }
  void Keep() { handles_.clear(); }

 private:
  const driver::DriverTable& table_;
  std::vector<abi::Module> handles_;
};

// Loads the first image that the driver takes; what it refuses is told in
// `module`.
bool LoadFirst(const driver::DriverTable& table, const KernelTarget& target,
               unsigned parameter_bytes, LoadedModules* loaded,
               KernelFunctions* functions, KernelModule* module) {
  for (const KernelImage* image :
       Candidates(target.compute_capability, parameter_bytes)) {
    int code = loaded->Load(*image);
    if (code == abi::kSuccess) {
      code = GetFunctions(table, *image, module->ring_bytes, loaded->last(),
                          functions);
      if (code == abi::kSuccess) {
        module->image = image->name;
        return true;
      }
      loaded->UnloadLast();
    }
    module->may_retry = module->may_retry || code == abi::kErrorOutOfMemory;
    module->message += std::string(module->message.empty() ? "" : "; ") +
                       "the driver refused the image " + image->name +
                       " with " + DriverErrorName(table, code) + " (" +
                       std::to_string(code) + ")";
  }
  return false;
}

}  // namespace

bool HasKernelEntries(const driver::DriverTable& table) {
  return table.version >= kKernelsSince && table.CtxGetId != nullptr &&
         table.ModuleLoadData != nullptr && table.ModuleUnload != nullptr &&
         table.ModuleGetFunction != nullptr &&
         table.FuncSetAttribute != nullptr && table.LaunchKernel != nullptr &&
         table.ThreadExchangeStreamCaptureMode != nullptr;
}

KernelModule LoadKernelModule(const driver::DriverTable& table,
                              const KernelTarget& target) {
  KernelModule module;
  module.ring_bytes =
      std::max(0, target.shared_memory_bytes - kReservedSharedBytes);
  const RelaxedCaptureMode mode(table);
  if (mode.code() != abi::kSuccess) {
    module.reason = KVSWAP_REASON_NO_KERNEL_IMAGE;
    module.may_retry = true;
    module.message = "the driver answered " +
                     std::string(DriverErrorName(table, mode.code())) +
                     " to cuThreadExchangeStreamCaptureMode";
    return module;
  }
  LoadedModules loaded(table);
  const bool has_small = LoadFirst(table, target, kernels::kSmallParameterBytes,
                                   &loaded, &module.small, &module);
  if (has_small && table.version >= kLargeParametersSince) {
    // Without them launches hold fewer copies, and that is all.
    LoadFirst(table, target, kernels::kLargeParameterBytes, &loaded,
              &module.large, &module);
  }
  if (has_small) {
    loaded.Keep();
    module.refused.swap(module.message);
    module.message.clear();
    module.may_retry = false;
    return module;
  }
  module.reason = KVSWAP_REASON_NO_KERNEL_IMAGE;
  if (module.message.empty()) {
    module.message =
        kernels::kKernelImageCount == 0
            ? "this library was built without copy kernels"
            : "this library has no copy kernel for compute capability " +
                  CapabilityText(target.compute_capability);
  }
  return module;
}

}  // namespace kvswap::engine
