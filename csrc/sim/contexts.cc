#include "csrc/sim/contexts.h"

#include <utility>

#include "csrc/sim/call.h"
#include "csrc/sim/captures.h"
#include "csrc/sim/devices.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/modules.h"
#include "csrc/sim/streams.h"

namespace kvswap::sim {
namespace {

Result CreateContext(Driver& driver, Call* call, ContextHandle* context,
                     unsigned flags, Device device) {
  if (context == nullptr) return abi::kErrorInvalidValue;
  if (!IsDevice(driver, device)) return abi::kErrorInvalidDevice;
  const Result failure = FailureOfCurrent(driver);
  if (failure != abi::kSuccess) return failure;
  auto created = std::make_shared<Context>();
  created->device = device;
  created->flags = flags;
  created->handle = driver.contexts.Add(created);
  BeginContext(driver, created);
  driver.Thread().contexts.push_back(created);
  *context = HandleOf(*created);
  call->Output("context", *context);
  return abi::kSuccess;
}

}  // namespace

void BeginContext(Driver& driver, const std::shared_ptr<Context>& context) {
  context->id = driver.NextId();
  context->alive = true;
  context->failure = abi::kSuccess;
  auto legacy = std::make_shared<Stream>();
  legacy->id = driver.NextId();
  legacy->kind = StreamKind::kLegacy;
  legacy->context = context;
  context->legacy = std::move(legacy);
}

Result CurrentContext(Driver& driver, std::shared_ptr<Context>* context) {
  *context = driver.Current();
  if (*context == nullptr) return abi::kErrorInvalidContext;
  return (*context)->alive ? (*context)->failure
                           : abi::kErrorContextIsDestroyed;
}

Result FailureOfCurrent(Driver& driver) {
  const std::shared_ptr<Context> current = driver.Current();
  return current == nullptr ? abi::kSuccess : current->failure;
}

Result FindContext(Driver& driver, ContextHandle handle,
                   std::shared_ptr<Context>* context) {
  if (handle == nullptr) return CurrentContext(driver, context);
  *context = driver.contexts.Find(handle);
  if (*context == nullptr) *context = driver.contexts.FindRemoved(handle);
  if (*context == nullptr) return abi::kErrorInvalidContext;
  return (*context)->alive ? abi::kSuccess : abi::kErrorContextIsDestroyed;
}

void SynchronizeContext(Driver& driver, const Context& context) {
  std::vector<TaskId> tasks = context.legacy->tail;
  for (const std::shared_ptr<Stream>& stream : context.streams) {
    tasks.insert(tasks.end(), stream->tail.begin(), stream->tail.end());
  }
  driver.scheduler.RunUntilFinished(tasks);
}

void EndContext(Driver& driver, Context* context) {
  SynchronizeContext(driver, *context);
  context->alive = false;
  for (const std::shared_ptr<Stream>& stream : context->streams) {
    if (stream->capture != nullptr) EndCaptureOfStream(driver, stream);
    stream->destroyed = true;
    driver.streams.Remove(stream->handle);
  }
  for (const std::shared_ptr<Event>& event : driver.events.All()) {
    if (event->context.get() == context) driver.events.Remove(event->handle);
  }
  for (const std::shared_ptr<Module>& module : driver.modules.All()) {
    if (module->context.get() == context) UnloadModule(driver, module.get());
  }
  for (Range* range : driver.addresses.Select([&](const Range& candidate) {
         return candidate.context.get() == context;
       })) {
    driver.addresses.Remove(range);
  }
  context->streams.clear();
  context->legacy = nullptr;
  context->peers.clear();
}

extern "C" {

Result cuCtxCreate_v2(ContextHandle* context, unsigned flags, Device device) {
  Call call(Entry::cuCtxCreate_v2);
  call.Argument("context", context)
      .Argument("flags", flags)
      .Argument("device", device);
  return call.Run([&](Driver& driver) {
    return CreateContext(driver, &call, context, flags, device);
  });
}

Result cuCtxCreate_v3(ContextHandle* context, ExecAffinityParameter* parameters,
                      int parameter_count, unsigned flags, Device device) {
  Call call(Entry::cuCtxCreate_v3);
  call.Argument("context", context)
      .Argument("parameters", parameters)
      .Argument("parameter_count", parameter_count)
      .Argument("flags", flags)
      .Argument("device", device);
  return call.Run([&](Driver& driver) -> Result {
    if (parameters != nullptr || parameter_count != 0) {
      return abi::kErrorNotSupported;
    }
    return CreateContext(driver, &call, context, flags, device);
  });
}

Result cuCtxCreate_v4(ContextHandle* context,
                      ContextCreateParameters* parameters, unsigned flags,
                      Device device) {
  Call call(Entry::cuCtxCreate_v4);
  call.Argument("context", context)
      .Argument("parameters", parameters)
      .Argument("flags", flags)
      .Argument("device", device);
  return call.Run([&](Driver& driver) -> Result {
    if (parameters != nullptr) return abi::kErrorNotSupported;
    return CreateContext(driver, &call, context, flags, device);
  });
}

Result cuCtxDestroy_v2(ContextHandle context) {
  Call call(Entry::cuCtxDestroy_v2);
  call.Argument("context", context);
  return call.Run([&](Driver& driver) -> Result {
    if (context == nullptr) return abi::kErrorInvalidValue;
    std::shared_ptr<Context> found;
    const Result result = FindContext(driver, context, &found);
    if (result != abi::kSuccess) return result;
    if (found->primary) return abi::kErrorInvalidContext;
    EndContext(driver, found.get());
    driver.contexts.Remove(context);
    std::vector<std::shared_ptr<Context>>& stack = driver.Thread().contexts;
    if (!stack.empty() && stack.back() == found) stack.pop_back();
    return abi::kSuccess;
  });
}

Result cuCtxGetCurrent(ContextHandle* context) {
  Call call(Entry::cuCtxGetCurrent);
  call.Argument("context", context);
  return call.Run([&](Driver& driver) -> Result {
    if (context == nullptr) return abi::kErrorInvalidValue;
    const std::shared_ptr<Context> current = driver.Current();
    *context = current == nullptr ? nullptr : HandleOf(*current);
    call.Output("context", *context);
    return abi::kSuccess;
  });
}

Result cuCtxSetCurrent(ContextHandle context) {
  Call call(Entry::cuCtxSetCurrent);
  call.Argument("context", context);
  return call.Run([&](Driver& driver) -> Result {
    std::vector<std::shared_ptr<Context>>& stack = driver.Thread().contexts;
    if (context == nullptr) {
      if (!stack.empty()) stack.pop_back();
      return abi::kSuccess;
    }
    std::shared_ptr<Context> found;
    FindContext(driver, context, &found);
    if (found == nullptr) return abi::kErrorInvalidContext;
    if (stack.empty()) {
      stack.push_back(std::move(found));
    } else {
      stack.back() = std::move(found);
    }
    return abi::kSuccess;
  });
}

Result cuCtxPushCurrent_v2(ContextHandle context) {
  Call call(Entry::cuCtxPushCurrent_v2);
  call.Argument("context", context);
  return call.Run([&](Driver& driver) -> Result {
    if (context == nullptr) return abi::kErrorInvalidValue;
    std::shared_ptr<Context> found;
    FindContext(driver, context, &found);
    // A destroyed context can be made current; what needs one then fails.
    if (found == nullptr) return abi::kErrorInvalidContext;
    driver.Thread().contexts.push_back(std::move(found));
    return abi::kSuccess;
  });
}

Result cuCtxPopCurrent_v2(ContextHandle* context) {
  Call call(Entry::cuCtxPopCurrent_v2);
  call.Argument("context", context);
  return call.Run([&](Driver& driver) -> Result {
    std::vector<std::shared_ptr<Context>>& stack = driver.Thread().contexts;
    if (stack.empty()) return abi::kErrorInvalidContext;
    if (context != nullptr) {
      *context = HandleOf(*stack.back());
      call.Output("context", *context);
    }
    stack.pop_back();
    return abi::kSuccess;
  });
}

Result cuCtxGetDevice(Device* device) {
  Call call(Entry::cuCtxGetDevice);
  call.Argument("device", device);
  return call.Run([&](Driver& driver) -> Result {
    if (device == nullptr) return abi::kErrorInvalidValue;
    // Also of a destroyed context.
    const std::shared_ptr<Context> current = driver.Current();
    if (current == nullptr) return abi::kErrorInvalidContext;
    *device = current->device;
    call.Output("device", *device);
    return abi::kSuccess;
  });
}

Result cuCtxGetDevice_v2(Device* device, ContextHandle context) {
  Call call(Entry::cuCtxGetDevice_v2);
  call.Argument("device", device).Argument("context", context);
  return call.Run([&](Driver& driver) -> Result {
    if (device == nullptr) return abi::kErrorInvalidValue;
    std::shared_ptr<Context> found;
    const Result result = FindContext(driver, context, &found);
    if (result != abi::kSuccess) return result;
    *device = found->device;
    call.Output("device", *device);
    return abi::kSuccess;
  });
}

Result cuCtxGetFlags(unsigned* flags) {
  Call call(Entry::cuCtxGetFlags);
  call.Argument("flags", flags);
  return call.Run([&](Driver& driver) -> Result {
    if (flags == nullptr) return abi::kErrorInvalidValue;
    std::shared_ptr<Context> current;
    const Result result = CurrentContext(driver, &current);
    if (result != abi::kSuccess) return result;
    *flags = current->flags;
    return abi::kSuccess;
  });
}

Result cuCtxGetApiVersion(ContextHandle context, unsigned* version) {
  Call call(Entry::cuCtxGetApiVersion);
  call.Argument("context", context).Argument("version", version);
  return call.Run([&](Driver& driver) -> Result {
    if (version == nullptr) return abi::kErrorInvalidValue;
    std::shared_ptr<Context> found;
    const Result result = FindContext(driver, context, &found);
    if (result != abi::kSuccess) return abi::kErrorInvalidContext;
    *version = 3020;
    return abi::kSuccess;
  });
}

Result cuCtxGetId(ContextHandle context, unsigned long long* id) {
  Call call(Entry::cuCtxGetId);
  call.Argument("context", context).Argument("id", id);
  return call.Run([&](Driver& driver) -> Result {
    if (id == nullptr) return abi::kErrorInvalidValue;
    std::shared_ptr<Context> found;
    const Result result = FindContext(driver, context, &found);
    if (result != abi::kSuccess) return result;
    *id = found->id;
    call.Output("id", *id);
    return abi::kSuccess;
  });
}

Result cuCtxSynchronize() {
  Call call(Entry::cuCtxSynchronize);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Context> current;
    Result result = CurrentContext(driver, &current);
    if (result != abi::kSuccess) return result;
    result = RefuseDuringContextCapture(driver, *current);
    if (result != abi::kSuccess) return result;
    SynchronizeContext(driver, *current);
    return current->failure;
  });
}

Result cuCtxSynchronize_v2(ContextHandle context) {
  Call call(Entry::cuCtxSynchronize_v2);
  call.Argument("context", context);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Context> found;
    Result result = FindContext(driver, context, &found);
    if (result != abi::kSuccess) return result;
    result = RefuseDuringContextCapture(driver, *found);
    if (result != abi::kSuccess) return result;
    SynchronizeContext(driver, *found);
    return found->failure;
  });
}

Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  Call call(Entry::cuCtxGetStreamPriorityRange);
  call.Argument("least", least).Argument("greatest", greatest);
  return call.Run([&](Driver& driver) -> Result {
    std::shared_ptr<Context> current;
    const Result result = CurrentContext(driver, &current);
    if (result != abi::kSuccess) return result;
    if (least != nullptr) *least = kLeastStreamPriority;
    if (greatest != nullptr) *greatest = kGreatestStreamPriority;
    return abi::kSuccess;
  });
}

}  // extern "C"

}  // namespace kvswap::sim
