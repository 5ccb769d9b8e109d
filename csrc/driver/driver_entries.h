// Every function of the CUDA driver that kvswap calls, one row each.
//
// A row is ROW(name, version, need):
//   name     as cuGetProcAddress takes it, without its "cu" (and without `_v2`)
//   version  the CUDA version whose ABI of that name is meant; our type of the
//            function is abi::<name>_v<version>, NVIDIA's
//            PFN_cu<name>_v<version>
//   need     kRequired: without it no copy can be made; the driver is reported
//            as unusable. kOptional: something falls back without it, or a
//            call that needs it says so.
//
// Adding an entry: its type goes into abi/cuda_driver_types.h, its row here;
// the table, the ABI check against every toolkit and `driver_info()` follow.

#ifndef KVSWAP_DRIVER_DRIVER_ENTRIES_H_
#define KVSWAP_DRIVER_DRIVER_ENTRIES_H_

// Entries that the headers of every supported toolkit declare.
#define KVSWAP_DRIVER_ENTRIES_OF_ALL_TOOLKITS(ROW)       \
  ROW(DriverGetVersion, 2020, kRequired)                 \
  ROW(GetErrorName, 6000, kRequired)                     \
  ROW(GetErrorString, 6000, kRequired)                   \
  ROW(DeviceGet, 2000, kRequired)                        \
  ROW(DeviceGetAttribute, 2000, kRequired)               \
  ROW(CtxGetCurrent, 4000, kRequired)                    \
  ROW(CtxGetDevice, 2000, kRequired)                     \
  ROW(CtxPushCurrent, 4000, kRequired)                   \
  ROW(CtxPopCurrent, 4000, kRequired)                    \
  ROW(DevicePrimaryCtxGetState, 7000, kRequired)         \
  ROW(DevicePrimaryCtxRetain, 7000, kRequired)           \
  ROW(DevicePrimaryCtxRelease, 11000, kRequired)         \
  ROW(StreamGetCtx, 9020, kRequired)                     \
  ROW(StreamIsCapturing, 10000, kRequired)               \
  ROW(PointerGetAttributes, 7000, kRequired)             \
  ROW(MemcpyAsync, 4000, kRequired)                      \
  ROW(EventCreate, 2000, kOptional)                      \
  ROW(EventRecord, 2000, kOptional)                      \
  ROW(EventQuery, 2000, kOptional)                       \
  ROW(EventSynchronize, 2000, kOptional)                 \
  ROW(EventDestroy, 4000, kOptional)                     \
  ROW(StreamWaitEvent, 3020, kOptional)                  \
  ROW(ThreadExchangeStreamCaptureMode, 10010, kOptional) \
  ROW(MemHostRegister, 6050, kOptional)                  \
  ROW(MemHostUnregister, 4000, kOptional)                \
  ROW(CtxGetId, 12000, kOptional)                        \
  ROW(StreamCreate, 2000, kOptional)                     \
  ROW(StreamSynchronize, 2000, kOptional)                \
  ROW(ModuleLoadData, 2000, kOptional)                   \
  ROW(ModuleUnload, 2000, kOptional)                     \
  ROW(ModuleGetFunction, 2000, kOptional)                \
  ROW(FuncSetAttribute, 9000, kOptional)                 \
  ROW(LaunchKernel, 4000, kOptional)

// Entries that only headers from 12.8 on declare.
#define KVSWAP_DRIVER_ENTRIES_SINCE_12080(ROW) \
  ROW(MemcpyBatchAsync, 12080, kOptional)

#define KVSWAP_DRIVER_ENTRIES(ROW)           \
  KVSWAP_DRIVER_ENTRIES_OF_ALL_TOOLKITS(ROW) \
  KVSWAP_DRIVER_ENTRIES_SINCE_12080(ROW)

#endif  // KVSWAP_DRIVER_DRIVER_ENTRIES_H_
