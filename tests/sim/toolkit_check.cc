// Compares the simulated driver's functions and structures with the <cuda.h> of
// a CUDA toolkit. Compiling it is the check; run, it does nothing.
//
// Toolkits before 13.0 do not declare all functions: with them only the
// structures are compared.

// Makes the header declare superseded functions too.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>
#include <type_traits>

#include "csrc/sim/driver_abi.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/entry_table.h"

namespace kvswap::sim {
namespace {

// Whether an argument of one type may stand for one of the other in a call.
template <typename Ours, typename Theirs>
constexpr bool SameArgument() {
  return std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
         (std::is_integral_v<Ours> || std::is_enum_v<Ours>) ==
             (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>) &&
         sizeof(Ours) == sizeof(Theirs);
}

template <typename Ours, typename Theirs>
struct SameFunction : std::false_type {};

template <typename... Ours, typename... Theirs>
struct SameFunction<Result (*)(Ours...), CUresult (*)(Theirs...)> {
  static constexpr bool Compare() {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
      return (SameArgument<Ours, Theirs>() && ... && true);
    }
    return false;
  }
  static constexpr bool value = Compare();
};

#if CUDA_VERSION >= 13000
#define KVSWAP_SIM_CHECK(name, version, symbol, per_thread)            \
  static_assert(                                                       \
      SameFunction<decltype(&symbol), PFN_##name##_v##version>::value, \
      #symbol " is not what NVIDIA calls " #name " at version " #version);
KVSWAP_SIM_FUNCTION_TABLE(KVSWAP_SIM_CHECK)
#undef KVSWAP_SIM_CHECK
#endif

static_assert(sizeof(MemAllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(MemAllocationProperties, location) ==
              offsetof(CUmemAllocationProp, location));
static_assert(offsetof(MemAllocationProperties, win32_handle_meta_data) ==
              offsetof(CUmemAllocationProp, win32HandleMetaData));
static_assert(sizeof(MemAccessDescriptor) == sizeof(CUmemAccessDesc));
static_assert(offsetof(MemAccessDescriptor, flags) ==
              offsetof(CUmemAccessDesc, flags));
static_assert(sizeof(GraphInstantiateParameters) ==
              sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
static_assert(offsetof(GraphInstantiateParameters, error_node) ==
              offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out));
static_assert(offsetof(GraphInstantiateParameters, result) ==
              offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out));
static_assert(sizeof(Uuid) == sizeof(CUuuid));

static_assert(kErrorIllegalState == static_cast<int>(CUDA_ERROR_ILLEGAL_STATE));
static_assert(kErrorPeerAccessUnsupported ==
              static_cast<int>(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED));
static_assert(kErrorPeerAccessAlreadyEnabled ==
              static_cast<int>(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED));
static_assert(kErrorPeerAccessNotEnabled ==
              static_cast<int>(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED));
static_assert(kErrorStreamCaptureMerge ==
              static_cast<int>(CUDA_ERROR_STREAM_CAPTURE_MERGE));
static_assert(kErrorStreamCaptureIsolation ==
              static_cast<int>(CUDA_ERROR_STREAM_CAPTURE_ISOLATION));
static_assert(kErrorCapturedEvent ==
              static_cast<int>(CUDA_ERROR_CAPTURED_EVENT));
static_assert(kErrorStreamCaptureWrongThread ==
              static_cast<int>(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD));
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kCaptureModeThreadLocal ==
              static_cast<int>(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
static_assert(kCaptureModeRelaxed ==
              static_cast<int>(CU_STREAM_CAPTURE_MODE_RELAXED));
static_assert(kErrorMisalignedAddress ==
              static_cast<int>(CUDA_ERROR_MISALIGNED_ADDRESS));
static_assert(kFunctionMaxThreads ==
              static_cast<int>(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(kFunctionStaticSharedBytes ==
              static_cast<int>(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(kFunctionConstantBytes ==
              static_cast<int>(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
static_assert(kFunctionLocalBytes ==
              static_cast<int>(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
static_assert(kFunctionRegisters ==
              static_cast<int>(CU_FUNC_ATTRIBUTE_NUM_REGS));
static_assert(kFunctionPtxVersion ==
              static_cast<int>(CU_FUNC_ATTRIBUTE_PTX_VERSION));
static_assert(kFunctionBinaryVersion ==
              static_cast<int>(CU_FUNC_ATTRIBUTE_BINARY_VERSION));
static_assert(kFunctionCacheModeCa ==
              static_cast<int>(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA));
static_assert(
    kFunctionMaxDynamicSharedBytes ==
    static_cast<int>(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(
    kFunctionPreferredCarveout ==
    static_cast<int>(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT));
static_assert(kLaunchParameterEnd == CU_LAUNCH_PARAM_END_AS_INT);
static_assert(kLaunchParameterBufferPointer ==
              CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
static_assert(kLaunchParameterBufferSize == CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);
static_assert(
    kDeviceAttributeMaxSharedMemory ==
    static_cast<int>(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
static_assert(kDeviceAttributeCapabilityMajor ==
              static_cast<int>(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(kDeviceAttributeCapabilityMinor ==
              static_cast<int>(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(
    kDeviceAttributeMaxSharedMemoryOptin ==
    static_cast<int>(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(kGraphNodeKernel == static_cast<int>(CU_GRAPH_NODE_TYPE_KERNEL));
static_assert(kGraphNodeMemcpy == static_cast<int>(CU_GRAPH_NODE_TYPE_MEMCPY));
static_assert(kGraphNodeMemset == static_cast<int>(CU_GRAPH_NODE_TYPE_MEMSET));
static_assert(kHostRegisterReadOnly == CU_MEMHOSTREGISTER_READ_ONLY);
static_assert(kMemAttachGlobal == CU_MEM_ATTACH_GLOBAL);
static_assert(kMemAttachHost == CU_MEM_ATTACH_HOST);
static_assert(kMemAccessRead ==
              static_cast<int>(CU_MEM_ACCESS_FLAGS_PROT_READ));
static_assert(kMemAccessReadWrite ==
              static_cast<int>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
static_assert(kPointerAttributeBufferId ==
              static_cast<int>(CU_POINTER_ATTRIBUTE_BUFFER_ID));
static_assert(kPointerAttributeMempoolHandle ==
              static_cast<int>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE));
static_assert(kDeviceAttributeCanUseHostPointerForRegistered ==
              static_cast<int>(
                  CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM));
static_assert(
    kDeviceAttributeReadOnlyHostRegister ==
    static_cast<int>(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED));

}  // namespace
}  // namespace kvswap::sim

int main() { return 0; }
