// What the simulated driver needs of the driver's ABI beyond the product's
// part (csrc/abi/cuda_driver_types.h): handles, structures and enumerators of
// memory, capture and graphs. Facts from NVIDIA's cuda.h, 12.4 to 13.0;
// tests/sim/toolkit_check.cc holds them against a toolkit's header.

#ifndef KVSWAP_SIM_DRIVER_ABI_H_
#define KVSWAP_SIM_DRIVER_ABI_H_

#include <cstddef>
#include <cstdint>

#include "csrc/abi/cuda_driver_types.h"

namespace kvswap::sim {

using abi::Device;
using abi::DevicePointer;
using abi::MemcpyAttributes;
using abi::PointerAttribute;
using abi::ProcAddressQueryResult;
using abi::Result;
using abi::StreamCaptureStatus;

// Results that the product has no name for.
inline constexpr Result kErrorIllegalState = static_cast<Result>(401);
inline constexpr Result kErrorMisalignedAddress = static_cast<Result>(716);
inline constexpr Result kErrorPeerAccessUnsupported = static_cast<Result>(217);
inline constexpr Result kErrorPeerAccessAlreadyEnabled =
    static_cast<Result>(704);
inline constexpr Result kErrorPeerAccessNotEnabled = static_cast<Result>(705);
inline constexpr Result kErrorStreamCaptureMerge = static_cast<Result>(902);
inline constexpr Result kErrorStreamCaptureIsolation = static_cast<Result>(905);
inline constexpr Result kErrorCapturedEvent = static_cast<Result>(907);
inline constexpr Result kErrorStreamCaptureWrongThread =
    static_cast<Result>(908);

// Opaque handles. CUcontext and CUstream are the product's.
struct OpaqueEvent;
struct OpaqueGraph;
struct OpaqueGraphNode;
struct OpaqueGraphExec;
using ContextHandle = abi::Context;
using StreamHandle = abi::Stream;
using EventHandle = OpaqueEvent*;
using GraphHandle = OpaqueGraph*;
using GraphNodeHandle = OpaqueGraphNode*;
using GraphExecHandle = OpaqueGraphExec*;
using ModuleHandle = abi::Module;
using FunctionHandle = abi::Function;

// CUmemGenericAllocationHandle
using PhysicalHandle = std::uint64_t;

// CUstream_flags
inline constexpr unsigned kStreamNonBlocking = 1;

// CUevent_flags
inline constexpr unsigned kEventFlagsKnown = 0x7;

// CUevent_record_flags and CUevent_wait_flags
inline constexpr unsigned kEventExternal = 0x1;

// CUstreamCaptureMode
enum CaptureMode : int {
  kCaptureModeGlobal = 0,
  kCaptureModeThreadLocal = 1,
  kCaptureModeRelaxed = 2,
};

// CUgraphNodeType
enum GraphNodeType : int {
  kGraphNodeKernel = 0,
  kGraphNodeMemcpy = 1,
  kGraphNodeMemset = 2,
  kGraphNodeEmpty = 5,
};

// CUfunction_attribute, those that are simulated.
enum FunctionAttribute : int {
  kFunctionMaxThreads = 0,
  kFunctionStaticSharedBytes = 1,
  kFunctionConstantBytes = 2,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionPtxVersion = 5,
  kFunctionBinaryVersion = 6,
  kFunctionCacheModeCa = 7,
  kFunctionMaxDynamicSharedBytes = 8,
  kFunctionPreferredCarveout = 9,
};

// CU_LAUNCH_PARAM_*
inline constexpr std::uintptr_t kLaunchParameterEnd = 0;
inline constexpr std::uintptr_t kLaunchParameterBufferPointer = 1;
inline constexpr std::uintptr_t kLaunchParameterBufferSize = 2;

// CU_MEMHOSTALLOC_* and CU_MEMHOSTREGISTER_*
inline constexpr unsigned kHostAllocFlagsKnown = 0x7;
inline constexpr unsigned kHostRegisterFlagsKnown = 0xf;
inline constexpr unsigned kHostRegisterReadOnly = 0x8;

// CUmemAttach_flags
inline constexpr unsigned kMemAttachGlobal = 0x1;
inline constexpr unsigned kMemAttachHost = 0x2;

// CUmemAccess_flags, also CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS
enum MemAccessFlags : int {
  kMemAccessNone = 0,
  kMemAccessRead = 1,
  kMemAccessReadWrite = 3,
};

// CUmemAllocationType
inline constexpr int kMemAllocationPinned = 1;

// CUmemAllocationProp
struct MemAllocationProperties {
  int type;
  int requested_handle_types;
  abi::MemLocation location;
  void* win32_handle_meta_data;
  struct {
    unsigned char compression_type;
    unsigned char gpu_direct_rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};
static_assert(sizeof(MemAllocationProperties) == 32);

// CUmemAccessDesc
struct MemAccessDescriptor {
  abi::MemLocation location;
  MemAccessFlags flags;
};
static_assert(sizeof(MemAccessDescriptor) == 12);

// CUctxCreateParams; only its being null is looked at.
struct ContextCreateParameters;
// CUexecAffinityParam; only its being null is looked at.
struct ExecAffinityParameter;
// CUgraphEdgeData; never written: a capture here has plain edges only.
struct GraphEdgeData;

// CUDA_GRAPH_INSTANTIATE_PARAMS
struct GraphInstantiateParameters {
  std::uint64_t flags;
  StreamHandle upload_stream;
  GraphNodeHandle error_node;
  int result;
};
static_assert(sizeof(GraphInstantiateParameters) == 32);

// CUuuid
struct Uuid {
  char bytes[16];
};

// CUdevice_attribute, those with a meaning for the simulation.
inline constexpr int kDeviceAttributeMaxSharedMemory = 8;
inline constexpr int kDeviceAttributeCapabilityMajor = 75;
inline constexpr int kDeviceAttributeCapabilityMinor = 76;
inline constexpr int kDeviceAttributeMaxSharedMemoryOptin = 97;
inline constexpr int kDeviceAttributePageableMemoryAccess = 88;
inline constexpr int kDeviceAttributeCanUseHostPointerForRegistered = 91;
inline constexpr int kDeviceAttributeReadOnlyHostRegister = 113;

// Pointer attributes that the product has no name for.
inline constexpr int kPointerAttributeBufferId = 7;
inline constexpr int kPointerAttributeSyncMemops = 6;
inline constexpr int kPointerAttributeIsLegacyIpcCapable = 10;
inline constexpr int kPointerAttributeAllowedHandleTypes = 14;
inline constexpr int kPointerAttributeIsRdmaCapable = 15;
inline constexpr int kPointerAttributeMempoolHandle = 17;
inline constexpr int kPointerAttributeMemoryBlockId = 20;
inline constexpr int kPointerAttributeIsDecompressCapable = 21;

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_DRIVER_ABI_H_
