#include "csrc/engine/kernel_info.h"

#include <cstdio>
#include <string>

#include "csrc/engine/call_log.h"
#include "csrc/engine/context_state.h"
#include "csrc/engine/names.h"
#include "csrc/kernels/kernel_parameters.h"

namespace kvswap::engine {
namespace {

void SetUnavailable(kvswap_kernel_info* info, kvswap_reason reason,
                    const std::string& message) {
  info->available = 0;
  info->reason = reason;
  std::snprintf(info->message, sizeof(info->message), "%s", message.c_str());
}

}  // namespace

void DescribeKernels(const driver::DriverTable& table,
                     kvswap_kernel_info* info) {
  info->device = -1;
  if (!table.Usable()) {
    SetUnavailable(info, KVSWAP_REASON_NO_KERNEL_ENTRY, table.message);
    return;
  }
  if (!HasKernelEntries(table)) {
    SetUnavailable(info, KVSWAP_REASON_NO_KERNEL_ENTRY,
                   ReasonText(KVSWAP_REASON_NO_KERNEL_ENTRY));
    return;
  }
  abi::Context context = nullptr;
  abi::Device device = 0;
  int code = table.CtxGetCurrent(&context);
  if (code == abi::kSuccess && context != nullptr) {
    code = table.CtxGetDevice(&device);
  }
  if (code != abi::kSuccess || context == nullptr) {
    SetUnavailable(info, KVSWAP_REASON_NO_KERNEL_IMAGE,
                   "no context is current: kernels are loaded for a context");
    return;
  }
  info->device = device;
  ContextState* const state = FindContextState(table, context, device, &code);
  if (state == nullptr) {
    SetUnavailable(info, KVSWAP_REASON_NO_KERNEL_IMAGE,
                   "the driver answered " + std::to_string(code) +
                       " to a question about the context or its device");
    return;
  }
  info->compute_capability = state->compute_capability();
  const KernelModule& module = state->Kernels();
  LogKernels(state->device(), state->compute_capability(), module);
  if (module.reason != KVSWAP_REASON_NONE) {
    SetUnavailable(info, module.reason, module.message);
    return;
  }
  info->available = 1;
  info->bulk = module.small.HasBulk() ? 1 : 0;
  info->parameter_bytes = static_cast<std::int32_t>(
      module.large.HasPlain() ? kernels::kLargeParameterBytes
                              : kernels::kSmallParameterBytes);
  std::snprintf(info->image, sizeof(info->image), "%s", module.image.c_str());
}

}  // namespace kvswap::engine
