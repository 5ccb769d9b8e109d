// Every function of the simulated driver, one row each; cuGetProcAddress, the
// trace and the faults know the functions by it.
//
// A row is ROW(name, version, symbol, per_thread):
//   name        as cuGetProcAddress takes it
//   version     the CUDA version from which on that name means this function
//   symbol      the function, under the name by which it is exported
//   per_thread  NONE, or the suffix (ptsz, ptds) of a second function of that
//               name, for which stream handle 0 is the calling thread's default
//               stream
//
// Where two rows share a name, the one with the highest version not above the
// version asked for is meant.

#ifndef KVSWAP_SIM_ENTRY_TABLE_H_
#define KVSWAP_SIM_ENTRY_TABLE_H_

#define KVSWAP_SIM_FUNCTION_TABLE(ROW)                                         \
  ROW(cuInit, 2000, cuInit, NONE)                                              \
  ROW(cuDriverGetVersion, 2020, cuDriverGetVersion, NONE)                      \
  ROW(cuGetErrorName, 6000, cuGetErrorName, NONE)                              \
  ROW(cuGetErrorString, 6000, cuGetErrorString, NONE)                          \
  ROW(cuGetProcAddress, 11030, cuGetProcAddress, NONE)                         \
  ROW(cuGetProcAddress, 12000, cuGetProcAddress_v2, NONE)                      \
  ROW(cuDeviceGet, 2000, cuDeviceGet, NONE)                                    \
  ROW(cuDeviceGetCount, 2000, cuDeviceGetCount, NONE)                          \
  ROW(cuDeviceGetName, 2000, cuDeviceGetName, NONE)                            \
  ROW(cuDeviceGetUuid, 9020, cuDeviceGetUuid, NONE)                            \
  ROW(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2, NONE)                        \
  ROW(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2, NONE)                       \
  ROW(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute, NONE)                  \
  ROW(cuDeviceCanAccessPeer, 4000, cuDeviceCanAccessPeer, NONE)                \
  ROW(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain, NONE)          \
  ROW(cuDevicePrimaryCtxRelease, 7000, cuDevicePrimaryCtxRelease, NONE)        \
  ROW(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2, NONE)    \
  ROW(cuDevicePrimaryCtxReset, 7000, cuDevicePrimaryCtxReset, NONE)            \
  ROW(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2, NONE)        \
  ROW(cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState, NONE)      \
  ROW(cuCtxCreate, 3020, cuCtxCreate_v2, NONE)                                 \
  ROW(cuCtxCreate, 11040, cuCtxCreate_v3, NONE)                                \
  ROW(cuCtxCreate, 12050, cuCtxCreate_v4, NONE)                                \
  ROW(cuCtxDestroy, 4000, cuCtxDestroy_v2, NONE)                               \
  ROW(cuCtxGetCurrent, 4000, cuCtxGetCurrent, NONE)                            \
  ROW(cuCtxSetCurrent, 4000, cuCtxSetCurrent, NONE)                            \
  ROW(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2, NONE)                       \
  ROW(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2, NONE)                         \
  ROW(cuCtxGetDevice, 2000, cuCtxGetDevice, NONE)                              \
  ROW(cuCtxGetDevice, 13000, cuCtxGetDevice_v2, NONE)                          \
  ROW(cuCtxGetFlags, 7000, cuCtxGetFlags, NONE)                                \
  ROW(cuCtxGetApiVersion, 3020, cuCtxGetApiVersion, NONE)                      \
  ROW(cuCtxGetId, 12000, cuCtxGetId, NONE)                                     \
  ROW(cuCtxSynchronize, 2000, cuCtxSynchronize, NONE)                          \
  ROW(cuCtxSynchronize, 13000, cuCtxSynchronize_v2, NONE)                      \
  ROW(cuCtxGetStreamPriorityRange, 5050, cuCtxGetStreamPriorityRange, NONE)    \
  ROW(cuCtxEnablePeerAccess, 4000, cuCtxEnablePeerAccess, NONE)                \
  ROW(cuCtxDisablePeerAccess, 4000, cuCtxDisablePeerAccess, NONE)              \
  ROW(cuMemGetInfo, 3020, cuMemGetInfo_v2, NONE)                               \
  ROW(cuMemAlloc, 3020, cuMemAlloc_v2, NONE)                                   \
  ROW(cuMemFree, 3020, cuMemFree_v2, NONE)                                     \
  ROW(cuMemGetAddressRange, 3020, cuMemGetAddressRange_v2, NONE)               \
  ROW(cuMemAllocHost, 3020, cuMemAllocHost_v2, NONE)                           \
  ROW(cuMemHostAlloc, 2020, cuMemHostAlloc, NONE)                              \
  ROW(cuMemFreeHost, 2000, cuMemFreeHost, NONE)                                \
  ROW(cuMemHostGetDevicePointer, 3020, cuMemHostGetDevicePointer_v2, NONE)     \
  ROW(cuMemHostGetFlags, 2030, cuMemHostGetFlags, NONE)                        \
  ROW(cuMemHostRegister, 6050, cuMemHostRegister_v2, NONE)                     \
  ROW(cuMemHostUnregister, 4000, cuMemHostUnregister, NONE)                    \
  ROW(cuMemAllocManaged, 6000, cuMemAllocManaged, NONE)                        \
  ROW(cuMemAllocAsync, 11020, cuMemAllocAsync, ptsz)                           \
  ROW(cuMemFreeAsync, 11020, cuMemFreeAsync, ptsz)                             \
  ROW(cuMemAddressReserve, 10020, cuMemAddressReserve, NONE)                   \
  ROW(cuMemAddressFree, 10020, cuMemAddressFree, NONE)                         \
  ROW(cuMemGetAllocationGranularity, 10020, cuMemGetAllocationGranularity,     \
      NONE)                                                                    \
  ROW(cuMemCreate, 10020, cuMemCreate, NONE)                                   \
  ROW(cuMemRelease, 10020, cuMemRelease, NONE)                                 \
  ROW(cuMemMap, 10020, cuMemMap, NONE)                                         \
  ROW(cuMemUnmap, 10020, cuMemUnmap, NONE)                                     \
  ROW(cuMemSetAccess, 10020, cuMemSetAccess, NONE)                             \
  ROW(cuMemGetAccess, 10020, cuMemGetAccess, NONE)                             \
  ROW(cuPointerGetAttribute, 4000, cuPointerGetAttribute, NONE)                \
  ROW(cuPointerGetAttributes, 7000, cuPointerGetAttributes, NONE)              \
  ROW(cuMemcpy, 4000, cuMemcpy, ptds)                                          \
  ROW(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2, ptds)                               \
  ROW(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2, ptds)                               \
  ROW(cuMemcpyAsync, 4000, cuMemcpyAsync, ptsz)                                \
  ROW(cuMemcpyBatchAsync, 12080, cuMemcpyBatchAsync, ptsz)                     \
  ROW(cuMemcpyBatchAsync, 13000, cuMemcpyBatchAsync_v2, ptsz)                  \
  ROW(cuMemsetD8, 3020, cuMemsetD8_v2, ptds)                                   \
  ROW(cuMemsetD8Async, 3020, cuMemsetD8Async, ptsz)                            \
  ROW(cuStreamCreate, 2000, cuStreamCreate, NONE)                              \
  ROW(cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority, NONE)      \
  ROW(cuStreamDestroy, 4000, cuStreamDestroy_v2, NONE)                         \
  ROW(cuStreamSynchronize, 2000, cuStreamSynchronize, ptsz)                    \
  ROW(cuStreamQuery, 2000, cuStreamQuery, ptsz)                                \
  ROW(cuStreamGetCtx, 9020, cuStreamGetCtx, ptsz)                              \
  ROW(cuStreamGetCtx, 12050, cuStreamGetCtx_v2, ptsz)                          \
  ROW(cuStreamGetFlags, 5050, cuStreamGetFlags, ptsz)                          \
  ROW(cuStreamGetPriority, 5050, cuStreamGetPriority, ptsz)                    \
  ROW(cuStreamGetId, 12000, cuStreamGetId, ptsz)                               \
  ROW(cuStreamGetDevice, 12080, cuStreamGetDevice, ptsz)                       \
  ROW(cuStreamWaitEvent, 3020, cuStreamWaitEvent, ptsz)                        \
  ROW(cuEventCreate, 2000, cuEventCreate, NONE)                                \
  ROW(cuEventRecord, 2000, cuEventRecord, ptsz)                                \
  ROW(cuEventQuery, 2000, cuEventQuery, NONE)                                  \
  ROW(cuEventSynchronize, 2000, cuEventSynchronize, NONE)                      \
  ROW(cuEventDestroy, 4000, cuEventDestroy_v2, NONE)                           \
  ROW(cuStreamIsCapturing, 10000, cuStreamIsCapturing, ptsz)                   \
  ROW(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2, ptsz)              \
  ROW(cuStreamEndCapture, 10000, cuStreamEndCapture, ptsz)                     \
  ROW(cuStreamGetCaptureInfo, 10010, cuStreamGetCaptureInfo, ptsz)             \
  ROW(cuStreamGetCaptureInfo, 11030, cuStreamGetCaptureInfo_v2, ptsz)          \
  ROW(cuStreamGetCaptureInfo, 12030, cuStreamGetCaptureInfo_v3, ptsz)          \
  ROW(cuThreadExchangeStreamCaptureMode, 10010,                                \
      cuThreadExchangeStreamCaptureMode, NONE)                                 \
  ROW(cuModuleLoadData, 2000, cuModuleLoadData, NONE)                          \
  ROW(cuModuleUnload, 2000, cuModuleUnload, NONE)                              \
  ROW(cuModuleGetFunction, 2000, cuModuleGetFunction, NONE)                    \
  ROW(cuFuncGetAttribute, 2020, cuFuncGetAttribute, NONE)                      \
  ROW(cuFuncSetAttribute, 9000, cuFuncSetAttribute, NONE)                      \
  ROW(cuLaunchKernel, 4000, cuLaunchKernel, ptsz)                              \
  ROW(cuGraphInstantiate, 11000, cuGraphInstantiate_v2, NONE)                  \
  ROW(cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags, NONE)   \
  ROW(cuGraphInstantiateWithParams, 12000, cuGraphInstantiateWithParams, ptsz) \
  ROW(cuGraphLaunch, 10000, cuGraphLaunch, ptsz)                               \
  ROW(cuGraphGetNodes, 10000, cuGraphGetNodes, NONE)                           \
  ROW(cuGraphNodeGetType, 10000, cuGraphNodeGetType, NONE)                     \
  ROW(cuGraphDestroy, 10000, cuGraphDestroy, NONE)                             \
  ROW(cuGraphExecDestroy, 10000, cuGraphExecDestroy, NONE)

#endif  // KVSWAP_SIM_ENTRY_TABLE_H_
