#include "csrc/sim/modules.h"

#include <algorithm>
#include <string>
#include <utility>

#include "csrc/sim/call.h"
#include "csrc/sim/captures.h"
#include "csrc/sim/contexts.h"
#include "csrc/sim/devices.h"
#include "csrc/sim/driver_functions.h"

namespace kvswap::sim {
namespace {

constexpr int kMostCarveout = 100;

Result FindModule(Driver& driver, ModuleHandle handle,
                  std::shared_ptr<Module>* module) {
  *module = driver.modules.Find(handle);
  return *module == nullptr ? abi::kErrorInvalidHandle
                            : (*module)->context->failure;
}

Result Load(Driver& driver, Call* call, ModuleHandle* module,
            const void* data) {
  if (module == nullptr || data == nullptr) return abi::kErrorInvalidValue;
  std::shared_ptr<Context> context;
  Result result = CurrentContext(driver, &context);
  if (result != abi::kSuccess) return result;
  Image image;
  std::string why;
  result = ParseImage(data, &image, &why);
  if (result == abi::kSuccess) {
    result = CheckImage(image, driver.version,
                        ComputeCapability(driver, context->device), &why);
  }
  if (result != abi::kSuccess) {
    call->Note(why);
    return result;
  }
  auto loaded = std::make_shared<Module>();
  loaded->id = driver.NextId();
  loaded->context = std::move(context);
  loaded->image = std::move(image);
  loaded->handle = driver.modules.Add(loaded);
  *module = static_cast<ModuleHandle>(loaded->handle);
  call->Output("module", *module);
  return abi::kSuccess;
}

Result GetFunction(Driver& driver, Call* call, FunctionHandle* function,
                   ModuleHandle handle, const char* name) {
  if (function == nullptr || name == nullptr || *name == '\0') {
    return abi::kErrorInvalidValue;
  }
  std::shared_ptr<Module> module;
  const Result result = FindModule(driver, handle, &module);
  if (result != abi::kSuccess) return result;
  void*& known = module->functions[name];
  if (known == nullptr) {
    const auto& kernels = module->image.kernels;
    const auto kernel = std::find_if(
        kernels.begin(), kernels.end(),
        [&](const ImageKernel& candidate) { return candidate.name == name; });
    if (kernel == kernels.end()) {
      module->functions.erase(name);
      return abi::kErrorNotFound;
    }
    auto found = std::make_shared<Function>();
    found->id = driver.NextId();
    found->module = module;
    found->kernel = *kernel;
    const auto preset = static_cast<std::size_t>(DeviceAttribute(
        driver, module->context->device, kDeviceAttributeMaxSharedMemory));
    found->max_dynamic_shared_bytes =
        preset - std::min(preset, kernel->static_shared_bytes);
    known = driver.functions.Add(std::move(found));
  }
  *function = static_cast<FunctionHandle>(known);
  call->Output("function", *function);
  return abi::kSuccess;
}

// How many threads a block can have.
int MaxThreads(const Driver& driver, const Function& function) {
  constexpr int kAttributeMaxThreads = 1;
  const int device_limit = DeviceAttribute(
      driver, function.module->context->device, kAttributeMaxThreads);
  return function.kernel.max_threads == 0
             ? device_limit
             : std::min(device_limit,
                        static_cast<int>(function.kernel.max_threads));
}

Result ReadAttribute(const Driver& driver, const Function& function,
                     FunctionAttribute attribute, int* value) {
  const Image& image = function.module->image;
  switch (attribute) {
    case kFunctionMaxThreads:
      *value = MaxThreads(driver, function);
      return abi::kSuccess;
    case kFunctionStaticSharedBytes:
      *value = static_cast<int>(function.kernel.static_shared_bytes);
      return abi::kSuccess;
    case kFunctionConstantBytes:
    case kFunctionLocalBytes:
    case kFunctionCacheModeCa:
      *value = 0;
      return abi::kSuccess;
    case kFunctionRegisters:
      // As many as any kernel can have with 1024 threads.
      *value = 64;
      return abi::kSuccess;
    case kFunctionPtxVersion:
      *value = image.compute_capability;
      return abi::kSuccess;
    case kFunctionBinaryVersion:
      *value = image.is_ptx
                   ? ComputeCapability(driver, function.module->context->device)
                   : image.compute_capability;
      return abi::kSuccess;
    case kFunctionMaxDynamicSharedBytes:
      *value = static_cast<int>(function.max_dynamic_shared_bytes);
      return abi::kSuccess;
    case kFunctionPreferredCarveout:
      *value = function.preferred_carveout;
      return abi::kSuccess;
  }
  return abi::kErrorInvalidValue;
}

Result WriteAttribute(const Driver& driver, FunctionAttribute attribute,
                      int value, Function* function) {
  if (attribute == kFunctionPreferredCarveout) {
    if (value < -1 || value > kMostCarveout) return abi::kErrorInvalidValue;
    function->preferred_carveout = value;
    return abi::kSuccess;
  }
  if (attribute != kFunctionMaxDynamicSharedBytes || value < 0) {
    return abi::kErrorInvalidValue;
  }
  const int most = DeviceAttribute(driver, function->module->context->device,
                                   kDeviceAttributeMaxSharedMemoryOptin) -
                   static_cast<int>(function->kernel.static_shared_bytes);
  if (value > most) return abi::kErrorInvalidValue;
  function->max_dynamic_shared_bytes = static_cast<std::size_t>(value);
  return abi::kSuccess;
}

}  // namespace

void UnloadModule(Driver& driver, Module* module) {
  for (const auto& [name, handle] : module->functions) {
    driver.functions.Remove(handle);
  }
  module->functions.clear();
  module->context = nullptr;
  driver.modules.Remove(module->handle);
}

Result FindFunction(Driver& driver, FunctionHandle handle,
                    std::shared_ptr<Function>* function) {
  *function = driver.functions.Find(handle);
  return *function == nullptr ? abi::kErrorInvalidHandle
                              : (*function)->module->context->failure;
}

extern "C" {

Result cuModuleLoadData(ModuleHandle* module, const void* image) {
  Call call(Entry::cuModuleLoadData);
  call.Argument("module", module).Argument("image", image);
  return call.Run(
      [&](Driver& driver) { return Load(driver, &call, module, image); });
}

Result cuModuleUnload(ModuleHandle module) {
  Call call(Entry::cuModuleUnload);
  call.Argument("module", module);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Module> found;
    Result result = FindModule(driver, module, &found);
    if (found == nullptr) return result;
    if (result == abi::kSuccess) {
      result = RefuseUnsafeCall(driver);
      if (result != abi::kSuccess) return result;
    }
    UnloadModule(driver, found.get());
    return result;
  });
}

Result cuModuleGetFunction(FunctionHandle* function, ModuleHandle module,
                           const char* name) {
  Call call(Entry::cuModuleGetFunction);
  call.Argument("function", function)
      .Argument("module", module)
      .Text("name", name);
  return call.Run([&](Driver& driver) {
    return GetFunction(driver, &call, function, module, name);
  });
}

Result cuFuncGetAttribute(int* value, FunctionAttribute attribute,
                          FunctionHandle function) {
  Call call(Entry::cuFuncGetAttribute);
  call.Argument("value", value)
      .Argument("attribute", attribute)
      .Argument("function", function);
  return call.Run([&](Driver& driver) -> Result {
    if (value == nullptr) return abi::kErrorInvalidValue;
    std::shared_ptr<Function> found;
    Result result = FindFunction(driver, function, &found);
    if (result != abi::kSuccess) return result;
    result = ReadAttribute(driver, *found, attribute, value);
    if (result == abi::kSuccess) call.Output("value", *value);
    return result;
  });
}

Result cuFuncSetAttribute(FunctionHandle function, FunctionAttribute attribute,
                          int value) {
  Call call(Entry::cuFuncSetAttribute);
  call.Argument("function", function)
      .Argument("attribute", attribute)
      .Argument("value", value);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Function> found;
    const Result result = FindFunction(driver, function, &found);
    if (result != abi::kSuccess) return result;
    return WriteAttribute(driver, attribute, value, found.get());
  });
}

}  // extern "C"

}  // namespace kvswap::sim
