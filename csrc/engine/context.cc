#include "csrc/engine/context.h"

#include "csrc/engine/report.h"

namespace kvswap::engine {

bool ScopedContext::Enter(const Stream& stream, int device,
                          kvswap_result* report) {
  abi::Context current = nullptr;
  int code = table_.CtxGetCurrent(&current);
  if (code != abi::kSuccess) {
    return FailDriverCall(table_, code, "cuCtxGetCurrent", report);
  }
  if (stream.kind == KVSWAP_STREAM_CREATED) {
    abi::Context context = nullptr;
    code = table_.StreamGetCtx(stream.handle, &context);
    if (code != abi::kSuccess) {
      return FailDriverCall(table_, code, "cuStreamGetCtx of the stream",
                            report);
    }
    if (context != current && !Push(context, report)) return false;
    context_ = context;
    code = table_.CtxGetDevice(&device_);
    return code == abi::kSuccess ||
           FailDriverCall(table_, code, "cuCtxGetDevice", report);
  }
  if (current != nullptr) {
    code = table_.CtxGetDevice(&device_);
    if (code != abi::kSuccess) {
      return FailDriverCall(table_, code, "cuCtxGetDevice", report);
    }
    if (device < 0 || device == device_) {
      context_ = current;
      return true;
    }
  }
  if (device < 0) {
    return Fail(report, KVSWAP_ERROR_NO_CONTEXT,
                "no CUDA context is current on this thread, and the pointers "
                "(host memory only) name no GPU: make a context current, or "
                "pass a created stream. Nothing was submitted");
  }
  return EnterPrimary(device, report);
}

bool ScopedContext::EnterPrimary(int device, kvswap_result* report) {
  abi::Device handle = 0;
  int code = table_.DeviceGet(&handle, device);
  if (code != abi::kSuccess) {
    return FailDriverCall(table_, code, "cuDeviceGet of the pointers' device",
                          report);
  }
  unsigned int flags = 0;
  int active = 0;
  code = table_.DevicePrimaryCtxGetState(handle, &flags, &active);
  if (code != abi::kSuccess) {
    return FailDriverCall(table_, code, "cuDevicePrimaryCtxGetState", report);
  }
  if (active == 0) {
    return Fail(report, KVSWAP_ERROR_NO_CONTEXT,
                "the pointers are on GPU %d, whose context is not current on "
                "this thread and whose primary context is not active; kvswap "
                "creates none. Make its context current, or pass a stream "
                "created in it. Nothing was submitted",
                device);
  }
  abi::Context primary = nullptr;
  code = table_.DevicePrimaryCtxRetain(&primary, handle);
  if (code != abi::kSuccess) {
    return FailDriverCall(table_, code, "cuDevicePrimaryCtxRetain", report);
  }
  retained_ = true;
  retained_device_ = handle;
  device_ = device;
  context_ = primary;
  return Push(primary, report);
}

bool ScopedContext::Push(abi::Context context, kvswap_result* report) {
  const int code = table_.CtxPushCurrent(context);
  if (code != abi::kSuccess) {
    return FailDriverCall(table_, code, "cuCtxPushCurrent", report);
  }
  pushed_ = true;
  return true;
}

int ScopedContext::Leave() {
  int first_error = abi::kSuccess;
  if (pushed_) {
    pushed_ = false;
    abi::Context popped = nullptr;
    first_error = table_.CtxPopCurrent(&popped);
  }
  if (retained_) {
    retained_ = false;
    const int code = table_.DevicePrimaryCtxRelease(retained_device_);
    if (first_error == abi::kSuccess) first_error = code;
  }
  return first_error;
}

}  // namespace kvswap::engine
