// The functions that the simulated driver exports, under the driver's own
// names and with its ABI. Rows of entry_table.h, declared.

#ifndef KVSWAP_SIM_DRIVER_FUNCTIONS_H_
#define KVSWAP_SIM_DRIVER_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>

#include "csrc/sim/driver_abi.h"

#define KVSWAP_SIM_EXPORT __attribute__((visibility("default")))

namespace kvswap::sim {

extern "C" {

// Library
KVSWAP_SIM_EXPORT Result cuInit(unsigned flags);
KVSWAP_SIM_EXPORT Result cuDriverGetVersion(int* version);
KVSWAP_SIM_EXPORT Result cuGetErrorName(Result error, const char** name);
KVSWAP_SIM_EXPORT Result cuGetErrorString(Result error, const char** text);
KVSWAP_SIM_EXPORT Result cuGetProcAddress(const char* symbol, void** function,
                                          int version, std::uint64_t flags);
KVSWAP_SIM_EXPORT Result cuGetProcAddress_v2(const char* symbol,
                                             void** function, int version,
                                             std::uint64_t flags,
                                             ProcAddressQueryResult* status);

// Devices
KVSWAP_SIM_EXPORT Result cuDeviceGet(Device* device, int ordinal);
KVSWAP_SIM_EXPORT Result cuDeviceGetCount(int* count);
KVSWAP_SIM_EXPORT Result cuDeviceGetName(char* name, int length, Device device);
KVSWAP_SIM_EXPORT Result cuDeviceGetUuid(Uuid* uuid, Device device);
KVSWAP_SIM_EXPORT Result cuDeviceGetUuid_v2(Uuid* uuid, Device device);
KVSWAP_SIM_EXPORT Result cuDeviceTotalMem_v2(std::size_t* bytes, Device device);
KVSWAP_SIM_EXPORT Result cuDeviceGetAttribute(int* value, int attribute,
                                              Device device);
KVSWAP_SIM_EXPORT Result cuDeviceCanAccessPeer(int* can_access, Device device,
                                               Device peer);

// Contexts
KVSWAP_SIM_EXPORT Result cuDevicePrimaryCtxRetain(ContextHandle* context,
                                                  Device device);
KVSWAP_SIM_EXPORT Result cuDevicePrimaryCtxRelease(Device device);
KVSWAP_SIM_EXPORT Result cuDevicePrimaryCtxRelease_v2(Device device);
KVSWAP_SIM_EXPORT Result cuDevicePrimaryCtxReset(Device device);
KVSWAP_SIM_EXPORT Result cuDevicePrimaryCtxReset_v2(Device device);
KVSWAP_SIM_EXPORT Result cuDevicePrimaryCtxGetState(Device device,
                                                    unsigned* flags,
                                                    int* active);
KVSWAP_SIM_EXPORT Result cuCtxCreate_v2(ContextHandle* context, unsigned flags,
                                        Device device);
KVSWAP_SIM_EXPORT Result cuCtxCreate_v3(ContextHandle* context,
                                        ExecAffinityParameter* parameters,
                                        int parameter_count, unsigned flags,
                                        Device device);
KVSWAP_SIM_EXPORT Result cuCtxCreate_v4(ContextHandle* context,
                                        ContextCreateParameters* parameters,
                                        unsigned flags, Device device);
KVSWAP_SIM_EXPORT Result cuCtxDestroy_v2(ContextHandle context);
KVSWAP_SIM_EXPORT Result cuCtxGetCurrent(ContextHandle* context);
KVSWAP_SIM_EXPORT Result cuCtxSetCurrent(ContextHandle context);
KVSWAP_SIM_EXPORT Result cuCtxPushCurrent_v2(ContextHandle context);
KVSWAP_SIM_EXPORT Result cuCtxPopCurrent_v2(ContextHandle* context);
KVSWAP_SIM_EXPORT Result cuCtxGetDevice(Device* device);
KVSWAP_SIM_EXPORT Result cuCtxGetDevice_v2(Device* device,
                                           ContextHandle context);
KVSWAP_SIM_EXPORT Result cuCtxGetFlags(unsigned* flags);
KVSWAP_SIM_EXPORT Result cuCtxGetApiVersion(ContextHandle context,
                                            unsigned* version);
KVSWAP_SIM_EXPORT Result cuCtxGetId(ContextHandle context,
                                    unsigned long long* id);
KVSWAP_SIM_EXPORT Result cuCtxSynchronize();
KVSWAP_SIM_EXPORT Result cuCtxSynchronize_v2(ContextHandle context);
KVSWAP_SIM_EXPORT Result cuCtxGetStreamPriorityRange(int* least, int* greatest);
KVSWAP_SIM_EXPORT Result cuCtxEnablePeerAccess(ContextHandle peer,
                                               unsigned flags);
KVSWAP_SIM_EXPORT Result cuCtxDisablePeerAccess(ContextHandle peer);

// Memory
KVSWAP_SIM_EXPORT Result cuMemGetInfo_v2(std::size_t* free_bytes,
                                         std::size_t* total_bytes);
KVSWAP_SIM_EXPORT Result cuMemAlloc_v2(DevicePointer* pointer,
                                       std::size_t size);
KVSWAP_SIM_EXPORT Result cuMemFree_v2(DevicePointer pointer);
KVSWAP_SIM_EXPORT Result cuMemGetAddressRange_v2(DevicePointer* base,
                                                 std::size_t* size,
                                                 DevicePointer pointer);
KVSWAP_SIM_EXPORT Result cuMemAllocHost_v2(void** pointer, std::size_t size);
KVSWAP_SIM_EXPORT Result cuMemHostAlloc(void** pointer, std::size_t size,
                                        unsigned flags);
KVSWAP_SIM_EXPORT Result cuMemFreeHost(void* pointer);
KVSWAP_SIM_EXPORT Result cuMemHostGetDevicePointer_v2(
    DevicePointer* device_pointer, void* pointer, unsigned flags);
KVSWAP_SIM_EXPORT Result cuMemHostGetFlags(unsigned* flags, void* pointer);
KVSWAP_SIM_EXPORT Result cuMemHostRegister_v2(void* pointer, std::size_t size,
                                              unsigned flags);
KVSWAP_SIM_EXPORT Result cuMemHostUnregister(void* pointer);
KVSWAP_SIM_EXPORT Result cuMemAllocManaged(DevicePointer* pointer,
                                           std::size_t size, unsigned flags);
KVSWAP_SIM_EXPORT Result cuMemAllocAsync(DevicePointer* pointer,
                                         std::size_t size, StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuMemAllocAsync_ptsz(DevicePointer* pointer,
                                              std::size_t size,
                                              StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuMemFreeAsync(DevicePointer pointer,
                                        StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuMemFreeAsync_ptsz(DevicePointer pointer,
                                             StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuPointerGetAttribute(void* value, int attribute,
                                               DevicePointer pointer);
KVSWAP_SIM_EXPORT Result cuPointerGetAttributes(unsigned attribute_count,
                                                PointerAttribute* attributes,
                                                void** values,
                                                DevicePointer pointer);

// Virtual memory
KVSWAP_SIM_EXPORT Result cuMemAddressReserve(DevicePointer* pointer,
                                             std::size_t size,
                                             std::size_t alignment,
                                             DevicePointer wish,
                                             unsigned long long flags);
KVSWAP_SIM_EXPORT Result cuMemAddressFree(DevicePointer pointer,
                                          std::size_t size);
KVSWAP_SIM_EXPORT Result cuMemGetAllocationGranularity(
    std::size_t* granularity, const MemAllocationProperties* properties,
    int option);
KVSWAP_SIM_EXPORT Result cuMemCreate(PhysicalHandle* handle, std::size_t size,
                                     const MemAllocationProperties* properties,
                                     unsigned long long flags);
KVSWAP_SIM_EXPORT Result cuMemRelease(PhysicalHandle handle);
KVSWAP_SIM_EXPORT Result cuMemMap(DevicePointer pointer, std::size_t size,
                                  std::size_t offset, PhysicalHandle handle,
                                  unsigned long long flags);
KVSWAP_SIM_EXPORT Result cuMemUnmap(DevicePointer pointer, std::size_t size);
KVSWAP_SIM_EXPORT Result cuMemSetAccess(DevicePointer pointer, std::size_t size,
                                        const MemAccessDescriptor* descriptors,
                                        std::size_t count);
KVSWAP_SIM_EXPORT Result cuMemGetAccess(unsigned long long* flags,
                                        const abi::MemLocation* location,
                                        DevicePointer pointer);

// Copies
KVSWAP_SIM_EXPORT Result cuMemcpy(DevicePointer destination,
                                  DevicePointer source, std::size_t size);
KVSWAP_SIM_EXPORT Result cuMemcpy_ptds(DevicePointer destination,
                                       DevicePointer source, std::size_t size);
KVSWAP_SIM_EXPORT Result cuMemcpyHtoD_v2(DevicePointer destination,
                                         const void* source, std::size_t size);
KVSWAP_SIM_EXPORT Result cuMemcpyHtoD_v2_ptds(DevicePointer destination,
                                              const void* source,
                                              std::size_t size);
KVSWAP_SIM_EXPORT Result cuMemcpyDtoH_v2(void* destination,
                                         DevicePointer source,
                                         std::size_t size);
KVSWAP_SIM_EXPORT Result cuMemcpyDtoH_v2_ptds(void* destination,
                                              DevicePointer source,
                                              std::size_t size);
KVSWAP_SIM_EXPORT Result cuMemcpyAsync(DevicePointer destination,
                                       DevicePointer source, std::size_t size,
                                       StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuMemcpyAsync_ptsz(DevicePointer destination,
                                            DevicePointer source,
                                            std::size_t size,
                                            StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuMemcpyBatchAsync(
    DevicePointer* destinations, DevicePointer* sources, std::size_t* sizes,
    std::size_t count, MemcpyAttributes* attributes,
    std::size_t* attribute_indices, std::size_t attribute_count,
    std::size_t* failed_index, StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuMemcpyBatchAsync_ptsz(
    DevicePointer* destinations, DevicePointer* sources, std::size_t* sizes,
    std::size_t count, MemcpyAttributes* attributes,
    std::size_t* attribute_indices, std::size_t attribute_count,
    std::size_t* failed_index, StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuMemcpyBatchAsync_v2(
    DevicePointer* destinations, DevicePointer* sources, std::size_t* sizes,
    std::size_t count, MemcpyAttributes* attributes,
    std::size_t* attribute_indices, std::size_t attribute_count,
    StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuMemcpyBatchAsync_v2_ptsz(
    DevicePointer* destinations, DevicePointer* sources, std::size_t* sizes,
    std::size_t count, MemcpyAttributes* attributes,
    std::size_t* attribute_indices, std::size_t attribute_count,
    StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuMemsetD8_v2(DevicePointer destination,
                                       unsigned char value, std::size_t count);
KVSWAP_SIM_EXPORT Result cuMemsetD8_v2_ptds(DevicePointer destination,
                                            unsigned char value,
                                            std::size_t count);
KVSWAP_SIM_EXPORT Result cuMemsetD8Async(DevicePointer destination,
                                         unsigned char value, std::size_t count,
                                         StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuMemsetD8Async_ptsz(DevicePointer destination,
                                              unsigned char value,
                                              std::size_t count,
                                              StreamHandle stream);

// Streams
KVSWAP_SIM_EXPORT Result cuStreamCreate(StreamHandle* stream, unsigned flags);
KVSWAP_SIM_EXPORT Result cuStreamCreateWithPriority(StreamHandle* stream,
                                                    unsigned flags,
                                                    int priority);
KVSWAP_SIM_EXPORT Result cuStreamDestroy_v2(StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuStreamSynchronize(StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuStreamSynchronize_ptsz(StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuStreamQuery(StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuStreamQuery_ptsz(StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuStreamGetCtx(StreamHandle stream,
                                        ContextHandle* context);
KVSWAP_SIM_EXPORT Result cuStreamGetCtx_ptsz(StreamHandle stream,
                                             ContextHandle* context);
KVSWAP_SIM_EXPORT Result cuStreamGetCtx_v2(StreamHandle stream,
                                           ContextHandle* context,
                                           void** green_context);
KVSWAP_SIM_EXPORT Result cuStreamGetCtx_v2_ptsz(StreamHandle stream,
                                                ContextHandle* context,
                                                void** green_context);
KVSWAP_SIM_EXPORT Result cuStreamGetFlags(StreamHandle stream, unsigned* flags);
KVSWAP_SIM_EXPORT Result cuStreamGetFlags_ptsz(StreamHandle stream,
                                               unsigned* flags);
KVSWAP_SIM_EXPORT Result cuStreamGetPriority(StreamHandle stream,
                                             int* priority);
KVSWAP_SIM_EXPORT Result cuStreamGetPriority_ptsz(StreamHandle stream,
                                                  int* priority);
KVSWAP_SIM_EXPORT Result cuStreamGetId(StreamHandle stream,
                                       unsigned long long* id);
KVSWAP_SIM_EXPORT Result cuStreamGetId_ptsz(StreamHandle stream,
                                            unsigned long long* id);
KVSWAP_SIM_EXPORT Result cuStreamGetDevice(StreamHandle stream, Device* device);
KVSWAP_SIM_EXPORT Result cuStreamGetDevice_ptsz(StreamHandle stream,
                                                Device* device);
KVSWAP_SIM_EXPORT Result cuStreamWaitEvent(StreamHandle stream,
                                           EventHandle event, unsigned flags);
KVSWAP_SIM_EXPORT Result cuStreamWaitEvent_ptsz(StreamHandle stream,
                                                EventHandle event,
                                                unsigned flags);

// Events
KVSWAP_SIM_EXPORT Result cuEventCreate(EventHandle* event, unsigned flags);
KVSWAP_SIM_EXPORT Result cuEventRecord(EventHandle event, StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuEventRecord_ptsz(EventHandle event,
                                            StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuEventQuery(EventHandle event);
KVSWAP_SIM_EXPORT Result cuEventSynchronize(EventHandle event);
KVSWAP_SIM_EXPORT Result cuEventDestroy_v2(EventHandle event);

// Capture
KVSWAP_SIM_EXPORT Result cuStreamIsCapturing(StreamHandle stream,
                                             StreamCaptureStatus* status);
KVSWAP_SIM_EXPORT Result cuStreamIsCapturing_ptsz(StreamHandle stream,
                                                  StreamCaptureStatus* status);
KVSWAP_SIM_EXPORT Result cuStreamBeginCapture_v2(StreamHandle stream,
                                                 CaptureMode mode);
KVSWAP_SIM_EXPORT Result cuStreamBeginCapture_v2_ptsz(StreamHandle stream,
                                                      CaptureMode mode);
KVSWAP_SIM_EXPORT Result cuStreamEndCapture(StreamHandle stream,
                                            GraphHandle* graph);
KVSWAP_SIM_EXPORT Result cuStreamEndCapture_ptsz(StreamHandle stream,
                                                 GraphHandle* graph);
KVSWAP_SIM_EXPORT Result cuStreamGetCaptureInfo(StreamHandle stream,
                                                StreamCaptureStatus* status,
                                                std::uint64_t* id);
KVSWAP_SIM_EXPORT Result cuStreamGetCaptureInfo_ptsz(
    StreamHandle stream, StreamCaptureStatus* status, std::uint64_t* id);
KVSWAP_SIM_EXPORT Result cuStreamGetCaptureInfo_v2(
    StreamHandle stream, StreamCaptureStatus* status, std::uint64_t* id,
    GraphHandle* graph, const GraphNodeHandle** dependencies,
    std::size_t* dependency_count);
KVSWAP_SIM_EXPORT Result cuStreamGetCaptureInfo_v2_ptsz(
    StreamHandle stream, StreamCaptureStatus* status, std::uint64_t* id,
    GraphHandle* graph, const GraphNodeHandle** dependencies,
    std::size_t* dependency_count);
KVSWAP_SIM_EXPORT Result cuStreamGetCaptureInfo_v3(
    StreamHandle stream, StreamCaptureStatus* status, std::uint64_t* id,
    GraphHandle* graph, const GraphNodeHandle** dependencies,
    const GraphEdgeData** edge_data, std::size_t* dependency_count);
KVSWAP_SIM_EXPORT Result cuStreamGetCaptureInfo_v3_ptsz(
    StreamHandle stream, StreamCaptureStatus* status, std::uint64_t* id,
    GraphHandle* graph, const GraphNodeHandle** dependencies,
    const GraphEdgeData** edge_data, std::size_t* dependency_count);
KVSWAP_SIM_EXPORT Result cuThreadExchangeStreamCaptureMode(CaptureMode* mode);

// Modules and kernels
KVSWAP_SIM_EXPORT Result cuModuleLoadData(ModuleHandle* module,
                                          const void* image);
KVSWAP_SIM_EXPORT Result cuModuleUnload(ModuleHandle module);
KVSWAP_SIM_EXPORT Result cuModuleGetFunction(FunctionHandle* function,
                                             ModuleHandle module,
                                             const char* name);
KVSWAP_SIM_EXPORT Result cuFuncGetAttribute(int* value,
                                            FunctionAttribute attribute,
                                            FunctionHandle function);
KVSWAP_SIM_EXPORT Result cuFuncSetAttribute(FunctionHandle function,
                                            FunctionAttribute attribute,
                                            int value);
KVSWAP_SIM_EXPORT Result cuLaunchKernel(
    FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
    StreamHandle stream, void** parameters, void** extra);
KVSWAP_SIM_EXPORT Result cuLaunchKernel_ptsz(
    FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
    StreamHandle stream, void** parameters, void** extra);

// Graphs
KVSWAP_SIM_EXPORT Result cuGraphInstantiate_v2(GraphExecHandle* executable,
                                               GraphHandle graph,
                                               GraphNodeHandle* error_node,
                                               char* log, std::size_t log_size);
KVSWAP_SIM_EXPORT Result cuGraphInstantiateWithFlags(
    GraphExecHandle* executable, GraphHandle graph, unsigned long long flags);
KVSWAP_SIM_EXPORT Result
cuGraphInstantiateWithParams(GraphExecHandle* executable, GraphHandle graph,
                             GraphInstantiateParameters* parameters);
KVSWAP_SIM_EXPORT Result cuGraphInstantiateWithParams_ptsz(
    GraphExecHandle* executable, GraphHandle graph,
    GraphInstantiateParameters* parameters);
KVSWAP_SIM_EXPORT Result cuGraphLaunch(GraphExecHandle executable,
                                       StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuGraphLaunch_ptsz(GraphExecHandle executable,
                                            StreamHandle stream);
KVSWAP_SIM_EXPORT Result cuGraphGetNodes(GraphHandle graph,
                                         GraphNodeHandle* nodes,
                                         std::size_t* count);
KVSWAP_SIM_EXPORT Result cuGraphNodeGetType(GraphNodeHandle node,
                                            GraphNodeType* type);
KVSWAP_SIM_EXPORT Result cuGraphDestroy(GraphHandle graph);
KVSWAP_SIM_EXPORT Result cuGraphExecDestroy(GraphExecHandle executable);

}  // extern "C"

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_DRIVER_FUNCTIONS_H_
