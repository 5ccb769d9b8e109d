// Compares cuda_driver_types.h with the <cuda.h> of the selected CUDA toolkit.
//
// Compiling this file is the check: it emits nothing but kToolkitVersion. It is
// the one source of kvswap that includes a header of CUDA or names
// CUDA_VERSION.
//
// Two types are compared as the calling convention sees them. A C++ `int` and
// NVIDIA's `enum CUresult_enum` are different types and the same argument; a
// pointer and an integer of eight bytes travel alike today, and are told apart
// all the same, since taking one for the other is a mistake.

#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "csrc/abi/cuda_driver_types.h"
#include "csrc/abi/toolkit_version.h"
#include "csrc/driver/driver_entries.h"

#ifndef CUDA_VERSION
#error "<cuda.h> does not define CUDA_VERSION"
#endif

namespace kvswap::abi {
namespace {

// ---------------------------------------------------------------------------
// ABI equivalence of types
// ---------------------------------------------------------------------------

enum class TypeClass { kVoid, kInteger, kPointer, kStructure, kOther };

template <typename T>
constexpr TypeClass ClassOf() {
  if constexpr (std::is_void_v<T>) {
    return TypeClass::kVoid;
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return TypeClass::kInteger;
  } else if constexpr (std::is_pointer_v<T>) {
    return TypeClass::kPointer;
  } else if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
    return TypeClass::kStructure;
  } else {
    return TypeClass::kOther;
  }
}

template <typename T, typename = void>
struct IsComplete : std::false_type {};
template <typename T>
struct IsComplete<T, std::void_t<decltype(sizeof(T))>> : std::true_type {};

// Whether the two are passed, returned and, behind a pointer, read and written
// alike. `const` makes no difference; an opaque structure equals only another.
template <typename OurType, typename TheirType>
constexpr bool Equivalent() {
  using Ours = std::remove_cv_t<OurType>;
  using Theirs = std::remove_cv_t<TheirType>;
  if constexpr (ClassOf<Ours>() != ClassOf<Theirs>() ||
                ClassOf<Ours>() == TypeClass::kOther) {
    return false;
  } else if constexpr (ClassOf<Ours>() == TypeClass::kVoid) {
    return true;
  } else if constexpr (ClassOf<Ours>() == TypeClass::kPointer) {
    return Equivalent<std::remove_pointer_t<Ours>,
                      std::remove_pointer_t<Theirs>>();
  } else if constexpr (IsComplete<Ours>::value && IsComplete<Theirs>::value) {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
  } else {
    return IsComplete<Ours>::value == IsComplete<Theirs>::value;
  }
}

// ---------------------------------------------------------------------------
// ABI equivalence of functions
// ---------------------------------------------------------------------------

// "No argument differs."
enum : int { kNone = -1 };

template <typename OurFunction, typename TheirFunction>
struct Compare;

// Functions, not constants: what is only used at compile time leaves no trace
// in the object file.
template <typename OurResult, typename... OurArguments, typename TheirResult,
          typename... TheirArguments>
struct Compare<OurResult (*)(OurArguments...),
               TheirResult (*)(TheirArguments...)> {
  static constexpr int OurArity() { return sizeof...(OurArguments); }
  static constexpr int TheirArity() { return sizeof...(TheirArguments); }

  // Position, from 0, of the first argument that differs; kNone where none does
  // or the arities differ.
  static constexpr int FirstDifferentArgument() {
    if constexpr (OurArity() == TheirArity()) {
      constexpr bool kEquivalent[] = {
          Equivalent<OurArguments, TheirArguments>()...};
      for (int position = 0; position < OurArity(); ++position) {
        if (!kEquivalent[position]) return position;
      }
    }
    return kNone;
  }

  static constexpr bool SameResult() {
    return Equivalent<OurResult, TheirResult>();
  }

  static constexpr bool SameFunction() {
    return OurArity() == TheirArity() && FirstDifferentArgument() == kNone &&
           SameResult();
  }
};

#define KVSWAP_CHECK_FUNCTION(name, version)                                   \
  static_assert(                                                               \
      Compare<name##_v##version, PFN_cu##name##_v##version>::OurArity() ==     \
          Compare<name##_v##version, PFN_cu##name##_v##version>::TheirArity(), \
      "cu" #name " at version " #version                                       \
      ": our type takes another number of arguments than NVIDIA's");           \
  static_assert(                                                               \
      Compare<name##_v##version,                                               \
              PFN_cu##name##_v##version>::FirstDifferentArgument() == kNone,   \
      "cu" #name " at version " #version                                       \
      ": an argument (its position, from 0, is on the left-hand side) "        \
      "differs from NVIDIA's in class or size");                               \
  static_assert(                                                               \
      Compare<name##_v##version, PFN_cu##name##_v##version>::SameResult(),     \
      "cu" #name " at version " #version                                       \
      ": the result differs from NVIDIA's in class or size");

#define KVSWAP_CHECK_ROW(name, version, need) \
  KVSWAP_CHECK_FUNCTION(name, version)

KVSWAP_DRIVER_ENTRIES_OF_ALL_TOOLKITS(KVSWAP_CHECK_ROW)
KVSWAP_CHECK_FUNCTION(GetProcAddress, 11030)
KVSWAP_CHECK_FUNCTION(GetProcAddress, 12000)

// The comparison has to be able to fail, also where a toolkit declares little.
static_assert(!Compare<GetProcAddress_v11030,
                       PFN_cuGetProcAddress_v12000>::SameFunction(),
              "the two forms of cuGetProcAddress compare equal: the comparison "
              "of function types is broken");

#if CUDA_VERSION >= 12080
KVSWAP_DRIVER_ENTRIES_SINCE_12080(KVSWAP_CHECK_ROW)
#endif

#if CUDA_VERSION >= 13000
KVSWAP_CHECK_FUNCTION(MemcpyBatchAsync, 13000)
static_assert(!Compare<MemcpyBatchAsync_v12080,
                       PFN_cuMemcpyBatchAsync_v13000>::SameFunction(),
              "cuMemcpyBatchAsync of 12.8 and of 13.0 compare equal: the "
              "comparison of function types is broken");
#endif

// ---------------------------------------------------------------------------
// Sizes, alignments, offsets
// ---------------------------------------------------------------------------

#define KVSWAP_CHECK_TYPE(ours, theirs)                                \
  static_assert(ClassOf<ours>() == ClassOf<theirs>(),                  \
                #ours " is of another class than " #theirs);           \
  static_assert(sizeof(ours) == sizeof(theirs),                        \
                "sizeof(" #ours ") differs from sizeof(" #theirs ")"); \
  static_assert(alignof(ours) == alignof(theirs),                      \
                "alignof(" #ours ") differs from alignof(" #theirs ")");

#define KVSWAP_CHECK_FIELD(ours, our_field, theirs, their_field)              \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field),   \
                #ours "::" #our_field " lies at another offset than " #theirs \
                      "::" #their_field);                                     \
  static_assert(                                                              \
      Equivalent<decltype(ours::our_field), decltype(theirs::their_field)>(), \
      #ours "::" #our_field " differs in class or size from " #theirs         \
            "::" #their_field);

KVSWAP_CHECK_TYPE(Result, CUresult)
KVSWAP_CHECK_TYPE(Device, CUdevice)
KVSWAP_CHECK_TYPE(DevicePointer, CUdeviceptr)
KVSWAP_CHECK_TYPE(Context, CUcontext)
KVSWAP_CHECK_TYPE(Stream, CUstream)
KVSWAP_CHECK_TYPE(Event, CUevent)
KVSWAP_CHECK_TYPE(Module, CUmodule)
KVSWAP_CHECK_TYPE(Function, CUfunction)
KVSWAP_CHECK_TYPE(DeviceAttribute, CUdevice_attribute)
KVSWAP_CHECK_TYPE(FunctionAttribute, CUfunction_attribute)
KVSWAP_CHECK_TYPE(MemoryAccessFlags, CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS)
KVSWAP_CHECK_TYPE(StreamCaptureStatus, CUstreamCaptureStatus)
KVSWAP_CHECK_TYPE(StreamCaptureMode, CUstreamCaptureMode)
KVSWAP_CHECK_TYPE(MemoryType, CUmemorytype)
KVSWAP_CHECK_TYPE(PointerAttribute, CUpointer_attribute)
KVSWAP_CHECK_TYPE(MemLocationType, CUmemLocationType)
KVSWAP_CHECK_TYPE(ProcAddressFlags, cuuint64_t)
KVSWAP_CHECK_TYPE(ProcAddressQueryResult, CUdriverProcAddressQueryResult)

KVSWAP_CHECK_TYPE(MemLocation, CUmemLocation)
KVSWAP_CHECK_FIELD(MemLocation, type, CUmemLocation, type)
KVSWAP_CHECK_FIELD(MemLocation, id, CUmemLocation, id)

#if CUDA_VERSION >= 12080
KVSWAP_CHECK_TYPE(MemcpySourceAccessOrder, CUmemcpySrcAccessOrder)
KVSWAP_CHECK_TYPE(MemcpyAttributes, CUmemcpyAttributes)
KVSWAP_CHECK_FIELD(MemcpyAttributes, source_access_order, CUmemcpyAttributes,
                   srcAccessOrder)
KVSWAP_CHECK_FIELD(MemcpyAttributes, source_location_hint, CUmemcpyAttributes,
                   srcLocHint)
KVSWAP_CHECK_FIELD(MemcpyAttributes, destination_location_hint,
                   CUmemcpyAttributes, dstLocHint)
KVSWAP_CHECK_FIELD(MemcpyAttributes, flags, CUmemcpyAttributes, flags)
#endif

// ---------------------------------------------------------------------------
// Enumerators and special handles
// ---------------------------------------------------------------------------

#define KVSWAP_CHECK_VALUE(ours, theirs)                              \
  static_assert(                                                      \
      static_cast<long long>(ours) == static_cast<long long>(theirs), \
      #ours " has another value than " #theirs);

KVSWAP_CHECK_VALUE(kSuccess, CUDA_SUCCESS)
KVSWAP_CHECK_VALUE(kErrorInvalidValue, CUDA_ERROR_INVALID_VALUE)
KVSWAP_CHECK_VALUE(kErrorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY)
KVSWAP_CHECK_VALUE(kErrorNotInitialized, CUDA_ERROR_NOT_INITIALIZED)
KVSWAP_CHECK_VALUE(kErrorDeinitialized, CUDA_ERROR_DEINITIALIZED)
KVSWAP_CHECK_VALUE(kErrorNoDevice, CUDA_ERROR_NO_DEVICE)
KVSWAP_CHECK_VALUE(kErrorInvalidDevice, CUDA_ERROR_INVALID_DEVICE)
KVSWAP_CHECK_VALUE(kErrorInvalidImage, CUDA_ERROR_INVALID_IMAGE)
KVSWAP_CHECK_VALUE(kErrorNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU)
KVSWAP_CHECK_VALUE(kErrorInvalidPtx, CUDA_ERROR_INVALID_PTX)
KVSWAP_CHECK_VALUE(kErrorUnsupportedPtxVersion,
                   CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
KVSWAP_CHECK_VALUE(kErrorInvalidContext, CUDA_ERROR_INVALID_CONTEXT)
KVSWAP_CHECK_VALUE(kErrorInvalidHandle, CUDA_ERROR_INVALID_HANDLE)
KVSWAP_CHECK_VALUE(kErrorNotFound, CUDA_ERROR_NOT_FOUND)
KVSWAP_CHECK_VALUE(kErrorNotReady, CUDA_ERROR_NOT_READY)
KVSWAP_CHECK_VALUE(kErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS)
KVSWAP_CHECK_VALUE(kErrorLaunchOutOfResources,
                   CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
KVSWAP_CHECK_VALUE(kErrorContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED)
KVSWAP_CHECK_VALUE(kErrorHostMemoryAlreadyRegistered,
                   CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
KVSWAP_CHECK_VALUE(kErrorHostMemoryNotRegistered,
                   CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
KVSWAP_CHECK_VALUE(kErrorLaunchFailed, CUDA_ERROR_LAUNCH_FAILED)
KVSWAP_CHECK_VALUE(kErrorNotPermitted, CUDA_ERROR_NOT_PERMITTED)
KVSWAP_CHECK_VALUE(kErrorNotSupported, CUDA_ERROR_NOT_SUPPORTED)
KVSWAP_CHECK_VALUE(kErrorStreamCaptureUnsupported,
                   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
KVSWAP_CHECK_VALUE(kErrorStreamCaptureInvalidated,
                   CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
KVSWAP_CHECK_VALUE(kErrorStreamCaptureUnmatched,
                   CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
KVSWAP_CHECK_VALUE(kErrorStreamCaptureUnjoined,
                   CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
KVSWAP_CHECK_VALUE(kErrorStreamCaptureImplicit,
                   CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
KVSWAP_CHECK_VALUE(kErrorUnknown, CUDA_ERROR_UNKNOWN)

KVSWAP_CHECK_VALUE(kStreamCaptureStatusNone, CU_STREAM_CAPTURE_STATUS_NONE)
KVSWAP_CHECK_VALUE(kStreamCaptureStatusActive, CU_STREAM_CAPTURE_STATUS_ACTIVE)
KVSWAP_CHECK_VALUE(kStreamCaptureStatusInvalidated,
                   CU_STREAM_CAPTURE_STATUS_INVALIDATED)

KVSWAP_CHECK_VALUE(kStreamCaptureModeGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL)
KVSWAP_CHECK_VALUE(kStreamCaptureModeThreadLocal,
                   CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
KVSWAP_CHECK_VALUE(kStreamCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED)

KVSWAP_CHECK_VALUE(kDeviceAttributeComputeCapabilityMajor,
                   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
KVSWAP_CHECK_VALUE(kDeviceAttributeComputeCapabilityMinor,
                   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
KVSWAP_CHECK_VALUE(kDeviceAttributeCanUseHostPointerForRegisteredMemory,
                   CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM)
KVSWAP_CHECK_VALUE(kDeviceAttributeMaxSharedMemoryPerBlockOptin,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
KVSWAP_CHECK_VALUE(kFunctionAttributeMaxDynamicSharedSizeBytes,
                   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
KVSWAP_CHECK_VALUE(kMemoryAccessNone, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE)
KVSWAP_CHECK_VALUE(kMemoryAccessRead, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ)
KVSWAP_CHECK_VALUE(kMemoryAccessReadWrite,
                   CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE)
KVSWAP_CHECK_VALUE(kStreamNonBlocking, CU_STREAM_NON_BLOCKING)

KVSWAP_CHECK_VALUE(kEventDisableTiming, CU_EVENT_DISABLE_TIMING)

KVSWAP_CHECK_VALUE(kMemHostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE)
KVSWAP_CHECK_VALUE(kMemHostRegisterReadOnly, CU_MEMHOSTREGISTER_READ_ONLY)

KVSWAP_CHECK_VALUE(kMemoryTypeHost, CU_MEMORYTYPE_HOST)
KVSWAP_CHECK_VALUE(kMemoryTypeDevice, CU_MEMORYTYPE_DEVICE)
KVSWAP_CHECK_VALUE(kMemoryTypeArray, CU_MEMORYTYPE_ARRAY)
KVSWAP_CHECK_VALUE(kMemoryTypeUnified, CU_MEMORYTYPE_UNIFIED)

KVSWAP_CHECK_VALUE(kPointerAttributeContext, CU_POINTER_ATTRIBUTE_CONTEXT)
KVSWAP_CHECK_VALUE(kPointerAttributeMemoryType,
                   CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
KVSWAP_CHECK_VALUE(kPointerAttributeDevicePointer,
                   CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
KVSWAP_CHECK_VALUE(kPointerAttributeHostPointer,
                   CU_POINTER_ATTRIBUTE_HOST_POINTER)
KVSWAP_CHECK_VALUE(kPointerAttributeIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED)
KVSWAP_CHECK_VALUE(kPointerAttributeDeviceOrdinal,
                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
KVSWAP_CHECK_VALUE(kPointerAttributeRangeStartAddress,
                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
KVSWAP_CHECK_VALUE(kPointerAttributeRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE)
KVSWAP_CHECK_VALUE(kPointerAttributeMapped, CU_POINTER_ATTRIBUTE_MAPPED)
KVSWAP_CHECK_VALUE(kPointerAttributeAccessFlags,
                   CU_POINTER_ATTRIBUTE_ACCESS_FLAGS)
KVSWAP_CHECK_VALUE(kPointerAttributeMappingSize,
                   CU_POINTER_ATTRIBUTE_MAPPING_SIZE)
KVSWAP_CHECK_VALUE(kPointerAttributeMappingBaseAddress,
                   CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR)

KVSWAP_CHECK_VALUE(kMemLocationTypeInvalid, CU_MEM_LOCATION_TYPE_INVALID)
KVSWAP_CHECK_VALUE(kMemLocationTypeDevice, CU_MEM_LOCATION_TYPE_DEVICE)
KVSWAP_CHECK_VALUE(kMemLocationTypeHost, CU_MEM_LOCATION_TYPE_HOST)
KVSWAP_CHECK_VALUE(kMemLocationTypeHostNuma, CU_MEM_LOCATION_TYPE_HOST_NUMA)
KVSWAP_CHECK_VALUE(kMemLocationTypeHostNumaCurrent,
                   CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)

KVSWAP_CHECK_VALUE(kProcAddressDefault, CU_GET_PROC_ADDRESS_DEFAULT)
KVSWAP_CHECK_VALUE(kProcAddressLegacyStream, CU_GET_PROC_ADDRESS_LEGACY_STREAM)
KVSWAP_CHECK_VALUE(kProcAddressPerThreadDefaultStream,
                   CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
KVSWAP_CHECK_VALUE(kProcAddressQuerySuccess, CU_GET_PROC_ADDRESS_SUCCESS)
KVSWAP_CHECK_VALUE(kProcAddressQuerySymbolNotFound,
                   CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND)
KVSWAP_CHECK_VALUE(kProcAddressQueryVersionNotSufficient,
                   CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT)

#if CUDA_VERSION >= 12080
KVSWAP_CHECK_VALUE(kMemcpySourceAccessOrderInvalid,
                   CU_MEMCPY_SRC_ACCESS_ORDER_INVALID)
KVSWAP_CHECK_VALUE(kMemcpySourceAccessOrderStream,
                   CU_MEMCPY_SRC_ACCESS_ORDER_STREAM)
KVSWAP_CHECK_VALUE(kMemcpySourceAccessOrderDuringApiCall,
                   CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)
KVSWAP_CHECK_VALUE(kMemcpySourceAccessOrderAny, CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
KVSWAP_CHECK_VALUE(kMemcpyFlagPreferOverlapWithCompute,
                   CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)
#endif

// CU_STREAM_LEGACY is `((CUstream)0x1)`: a cast to a pointer, which no constant
// expression may hold. With the type's name made an integer's it can.
#define CUstream std::uintptr_t
KVSWAP_CHECK_VALUE(kStreamLegacy, CU_STREAM_LEGACY)
KVSWAP_CHECK_VALUE(kStreamPerThread, CU_STREAM_PER_THREAD)
#undef CUstream

}  // namespace

const int kToolkitVersion = CUDA_VERSION;

}  // namespace kvswap::abi
