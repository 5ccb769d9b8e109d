// The part of the CUDA driver's ABI that kvswap uses, as our own types.
//
// kvswap never includes <cuda.h> in what it ships: the header of one toolkit
// renames functions and changes their argument lists (13.0 turns
// cuMemcpyBatchAsync into an 8-argument function), while the ABI of a function
// looked up by name *and version* never changes. toolkit_abi_check.cc is
// compiled against the <cuda.h> of every toolkit of the matrix and refuses to
// compile where a size, an offset, an enumerator or a function type here
// differs from NVIDIA's.
//
// Names follow the driver's: CUresult is Result, CU_STREAM_LEGACY is
// kStreamLegacy. Source of all facts: NVIDIA's cuda.h and cudaTypedefs.h,
// toolkits 12.4, 12.8 and 13.0.

#ifndef KVSWAP_ABI_CUDA_DRIVER_TYPES_H_
#define KVSWAP_ABI_CUDA_DRIVER_TYPES_H_

#include <cstddef>
#include <cstdint>

namespace kvswap::abi {

// CUresult. A driver can answer with codes that this list does not name.
enum Result : int {
  kSuccess = 0,
  kErrorInvalidValue = 1,
  kErrorOutOfMemory = 2,
  kErrorNotInitialized = 3,
  kErrorDeinitialized = 4,
  kErrorNoDevice = 100,
  kErrorInvalidDevice = 101,
  kErrorInvalidImage = 200,
  kErrorInvalidContext = 201,
  kErrorNoBinaryForGpu = 209,
  kErrorInvalidPtx = 218,
  kErrorUnsupportedPtxVersion = 222,
  kErrorInvalidHandle = 400,
  kErrorNotFound = 500,
  kErrorNotReady = 600,
  kErrorIllegalAddress = 700,
  kErrorLaunchOutOfResources = 701,
  kErrorContextIsDestroyed = 709,
  kErrorHostMemoryAlreadyRegistered = 712,
  kErrorHostMemoryNotRegistered = 713,
  kErrorLaunchFailed = 719,
  kErrorNotPermitted = 800,
  kErrorNotSupported = 801,
  kErrorStreamCaptureUnsupported = 900,
  kErrorStreamCaptureInvalidated = 901,
  kErrorStreamCaptureUnmatched = 903,
  kErrorStreamCaptureUnjoined = 904,
  kErrorStreamCaptureImplicit = 906,
  kErrorUnknown = 999,
};

// CUdevice: the ordinal of a device.
using Device = int;

// CUdeviceptr: an address in the unified address space, host memory included.
using DevicePointer = std::uint64_t;

// CUcontext, CUstream, CUevent, CUmodule and CUfunction: opaque handles.
struct OpaqueContext;
struct OpaqueStream;
struct OpaqueEvent;
struct OpaqueModule;
struct OpaqueFunction;
using Context = OpaqueContext*;
using Stream = OpaqueStream*;
using Event = OpaqueEvent*;
using Module = OpaqueModule*;
using Function = OpaqueFunction*;

// Handles that name a stream without being one. They mean the current
// context's stream.
inline constexpr std::uintptr_t kStreamNull = 0;
inline constexpr std::uintptr_t kStreamLegacy = 1;
inline constexpr std::uintptr_t kStreamPerThread = 2;

// CUstreamCaptureStatus
enum StreamCaptureStatus : int {
  kStreamCaptureStatusNone = 0,
  kStreamCaptureStatusActive = 1,
  kStreamCaptureStatusInvalidated = 2,
};

// CUstreamCaptureMode
enum StreamCaptureMode : int {
  kStreamCaptureModeGlobal = 0,
  kStreamCaptureModeThreadLocal = 1,
  kStreamCaptureModeRelaxed = 2,
};

// CUdevice_attribute
enum DeviceAttribute : int {
  kDeviceAttributeComputeCapabilityMajor = 75,
  kDeviceAttributeComputeCapabilityMinor = 76,
  kDeviceAttributeCanUseHostPointerForRegisteredMemory = 91,
  kDeviceAttributeMaxSharedMemoryPerBlockOptin = 97,
};

// CUfunction_attribute
enum FunctionAttribute : int {
  kFunctionAttributeMaxDynamicSharedSizeBytes = 8,
};

// CUpointer_attribute kPointerAttributeAccessFlags (CUmemAccess_flags)
enum MemoryAccessFlags : unsigned {
  kMemoryAccessNone = 0,
  kMemoryAccessRead = 1,
  kMemoryAccessReadWrite = 3,
};

// CUstream_flags
inline constexpr unsigned kStreamNonBlocking = 1;

// CUevent_flags
inline constexpr unsigned kEventDisableTiming = 2;

// CU_MEMHOSTREGISTER_...
inline constexpr unsigned kMemHostRegisterPortable = 1;
inline constexpr unsigned kMemHostRegisterReadOnly = 8;

// CUmemorytype
enum MemoryType : unsigned {
  kMemoryTypeHost = 1,
  kMemoryTypeDevice = 2,
  kMemoryTypeArray = 3,
  kMemoryTypeUnified = 4,
};

// CUpointer_attribute, and the type that cuPointerGetAttributes writes.
enum PointerAttribute : int {
  kPointerAttributeContext = 1,              // Context
  kPointerAttributeMemoryType = 2,           // MemoryType; 0: not CUDA's memory
  kPointerAttributeDevicePointer = 3,        // DevicePointer
  kPointerAttributeHostPointer = 4,          // void*
  kPointerAttributeIsManaged = 8,            // int
  kPointerAttributeDeviceOrdinal = 9,        // int; -2: not CUDA's memory
  kPointerAttributeRangeStartAddress = 11,   // DevicePointer
  kPointerAttributeRangeSize = 12,           // size_t
  kPointerAttributeMapped = 13,              // int
  kPointerAttributeAccessFlags = 16,         // PointerAttributeAccessFlags
  kPointerAttributeMappingSize = 18,         // size_t
  kPointerAttributeMappingBaseAddress = 19,  // DevicePointer
};

// CUmemcpySrcAccessOrder
enum MemcpySourceAccessOrder : int {
  kMemcpySourceAccessOrderInvalid = 0,
  kMemcpySourceAccessOrderStream = 1,
  kMemcpySourceAccessOrderDuringApiCall = 2,
  kMemcpySourceAccessOrderAny = 3,
};

// CUmemcpyFlags
inline constexpr unsigned kMemcpyFlagPreferOverlapWithCompute = 1;

// CUmemLocationType
enum MemLocationType : int {
  kMemLocationTypeInvalid = 0,
  kMemLocationTypeDevice = 1,
  kMemLocationTypeHost = 2,
  kMemLocationTypeHostNuma = 3,
  kMemLocationTypeHostNumaCurrent = 4,
};

// CUmemLocation
struct MemLocation {
  MemLocationType type;
  int id;
};

// CUmemcpyAttributes, in headers from 12.8 on
struct MemcpyAttributes {
  MemcpySourceAccessOrder source_access_order;
  MemLocation source_location_hint;
  MemLocation destination_location_hint;
  unsigned int flags;
};

// CUdriverProcAddress_flags
enum ProcAddressFlags : std::uint64_t {
  kProcAddressDefault = 0,
  kProcAddressLegacyStream = 1,
  kProcAddressPerThreadDefaultStream = 2,
};

// CUdriverProcAddressQueryResult
enum ProcAddressQueryResult : int {
  kProcAddressQuerySuccess = 0,
  kProcAddressQuerySymbolNotFound = 1,
  kProcAddressQueryVersionNotSufficient = 2,
};

// The two forms of cuGetProcAddress. The exported name `cuGetProcAddress` is
// the 4-argument form of CUDA 11.3; `cuGetProcAddress_v2` is the 5-argument
// form of CUDA 12.0. Calling one through the other's type corrupts the stack.
using GetProcAddress_v11030 = Result (*)(const char* symbol, void** function,
                                         int version, std::uint64_t flags);
using GetProcAddress_v12000 = Result (*)(const char* symbol, void** function,
                                         int version, std::uint64_t flags,
                                         ProcAddressQueryResult* status);

// Entries of the driver table, each by the version that it is asked for.
using DriverGetVersion_v2020 = Result (*)(int* version);
using GetErrorName_v6000 = Result (*)(Result error, const char** name);
using GetErrorString_v6000 = Result (*)(Result error, const char** text);
using DeviceGet_v2000 = Result (*)(Device* device, int ordinal);
using DeviceGetAttribute_v2000 = Result (*)(int* value,
                                            DeviceAttribute attribute,
                                            Device device);
using CtxGetId_v12000 = Result (*)(Context context, std::uint64_t* id);
using CtxGetCurrent_v4000 = Result (*)(Context* context);
using CtxGetDevice_v2000 = Result (*)(Device* device);
using CtxPushCurrent_v4000 = Result (*)(Context context);
using CtxPopCurrent_v4000 = Result (*)(Context* context);
using DevicePrimaryCtxGetState_v7000 = Result (*)(Device device,
                                                  unsigned int* flags,
                                                  int* active);
using DevicePrimaryCtxRetain_v7000 = Result (*)(Context* context,
                                                Device device);
using DevicePrimaryCtxRelease_v11000 = Result (*)(Device device);
using StreamCreate_v2000 = Result (*)(Stream* stream, unsigned int flags);
using StreamGetCtx_v9020 = Result (*)(Stream stream, Context* context);
using StreamIsCapturing_v10000 = Result (*)(Stream stream,
                                            StreamCaptureStatus* status);
using PointerGetAttributes_v7000 = Result (*)(unsigned int attribute_count,
                                              PointerAttribute* attributes,
                                              void** values,
                                              DevicePointer pointer);
using MemcpyAsync_v4000 = Result (*)(DevicePointer destination,
                                     DevicePointer source, std::size_t size,
                                     Stream stream);
using EventCreate_v2000 = Result (*)(Event* event, unsigned int flags);
using EventRecord_v2000 = Result (*)(Event event, Stream stream);
using EventQuery_v2000 = Result (*)(Event event);
using EventSynchronize_v2000 = Result (*)(Event event);
using EventDestroy_v4000 = Result (*)(Event event);
using StreamWaitEvent_v3020 = Result (*)(Stream stream, Event event,
                                         unsigned int flags);
using StreamSynchronize_v2000 = Result (*)(Stream stream);
using ThreadExchangeStreamCaptureMode_v10010 =
    Result (*)(StreamCaptureMode* mode);
using MemHostRegister_v6050 = Result (*)(void* pointer, std::size_t size,
                                         unsigned int flags);
using MemHostUnregister_v4000 = Result (*)(void* pointer);
using ModuleLoadData_v2000 = Result (*)(Module* module, const void* image);
using ModuleUnload_v2000 = Result (*)(Module module);
using ModuleGetFunction_v2000 = Result (*)(Function* function, Module module,
                                           const char* name);
using FuncSetAttribute_v9000 = Result (*)(Function function,
                                          FunctionAttribute attribute,
                                          int value);
using LaunchKernel_v4000 = Result (*)(Function function, unsigned int grid_x,
                                      unsigned int grid_y, unsigned int grid_z,
                                      unsigned int block_x,
                                      unsigned int block_y,
                                      unsigned int block_z,
                                      unsigned int shared_bytes, Stream stream,
                                      void** parameters, void** extra);
// `attributes` and `attribute_indices` have `attribute_count` entries each (not
// `count`); the first index is 0 and they increase strictly. `failed_index` is
// relative to this call and SIZE_MAX where no copy is to blame; with stream
// handle 0 the driver leaves it untouched.
using MemcpyBatchAsync_v12080 = Result (*)(
    DevicePointer* destinations, DevicePointer* sources, std::size_t* sizes,
    std::size_t count, MemcpyAttributes* attributes,
    std::size_t* attribute_indices, std::size_t attribute_count,
    std::size_t* failed_index, Stream stream);
// What the same name means when it is asked for at 13000. Never called: it
// stands here so that the ABI check can prove that it is another function.
using MemcpyBatchAsync_v13000 = Result (*)(
    DevicePointer* destinations, DevicePointer* sources, std::size_t* sizes,
    std::size_t count, MemcpyAttributes* attributes,
    std::size_t* attribute_indices, std::size_t attribute_count, Stream stream);

}  // namespace kvswap::abi

#endif  // KVSWAP_ABI_CUDA_DRIVER_TYPES_H_
