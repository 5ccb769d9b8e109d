/* Control of the simulated CUDA driver (libcuda_sim*.so).
 *
 * The library has the CUDA driver's own ABI; a program under test loads it in
 * the driver's place and knows nothing of this header. A test finds these
 * functions in the same library, with dlsym, and sets the stage: versions,
 * seeds, failures; and reads afterwards what the program did. Python has them
 * as kvswap_sim.Simulator. docs/simulated_driver.md is the guide.
 *
 * Rules that hold for every function here
 *   - All are safe to call from any thread, and do not count as driver calls:
 *     they run no pending work unless they say so, and are not in the trace.
 *   - `int` results are 0 for success and -1 for a bad argument, unless said
 *     otherwise.
 *   - Names of driver functions are as cuGetProcAddress takes them
 *     ("cuMemAlloc": all its versions) or as they are exported
 *     ("cuMemAlloc_v2": that function alone).
 *   - Text goes to the caller's buffer: the functions return the number of
 * bytes that the text needs, its final 0 included, and write only if `size` is
 *     enough.
 */

#ifndef KVSWAP_SIM_CUDA_SIM_H_
#define KVSWAP_SIM_CUDA_SIM_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CUDA_SIM_API __attribute__((visibility("default")))
#else
#define CUDA_SIM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Counts incompatible changes of this header. */
#define CUDA_SIM_CONTROL_VERSION 1
CUDA_SIM_API int cuda_sim_control_version(void);

/* Back to the state after loading: all objects and memory are gone, the
 * environment is read anew. No other thread may be in a driver call. */
CUDA_SIM_API void cuda_sim_reset(void);

/* The version that cuDriverGetVersion reports, as 12080 for CUDA 12.8. Setting
 * one that the library's exported symbols do not fit is refused. */
CUDA_SIM_API int cuda_sim_driver_version(void);
CUDA_SIM_API int cuda_sim_set_driver_version(int version);

/* Whether a captured cuMemcpyBatchAsync becomes graph nodes (1) or is refused
 * with error 900 (0, what drivers up to 13.0 do; the preset). */
CUDA_SIM_API void cuda_sim_set_batch_capture(int enabled);

/* Overrides what cuDeviceGetAttribute answers for a device. Attribute 91
 * (CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) set to 0 on any device gives memory
 * that is registered from then on a device address of its own. */
CUDA_SIM_API int cuda_sim_set_device_attribute(int device, int attribute,
                                               int value);

/* Makes a device one of a compute capability, 90 for 9.0: attributes 75, 76 and
 * 97 (shared memory that a kernel can have). The preset is 9.0. */
CUDA_SIM_API int cuda_sim_set_compute_capability(int device, int capability);

/* ---- Scheduling ---------------------------------------------------------- */

/* The seed of the generator that decides what runs when. Setting it begins its
 * sequence anew. */
CUDA_SIM_API uint64_t cuda_sim_seed(void);
CUDA_SIM_API void cuda_sim_set_seed(uint64_t seed);

/* 1: from now on only what synchronisation needs runs. 0: as the seed has it.
 */
CUDA_SIM_API void cuda_sim_hold(int hold);

/* Operations (copies, fills, halves of copies) submitted and not run yet. */
CUDA_SIM_API size_t cuda_sim_pending(void);

/* Runs up to `count` pending operations; returns how many ran. */
CUDA_SIM_API size_t cuda_sim_run(size_t count);

/* ---- Memory ---------------------------------------------------------------
 */

/* Copies between a host buffer and any memory that the driver knows, device
 * memory above all, now and past all pending work. -1 where [address, address +
 * size) is not all known. */
CUDA_SIM_API int cuda_sim_peek(uint64_t address, void* to, size_t size);
CUDA_SIM_API int cuda_sim_poke(uint64_t address, const void* from, size_t size);

/* ---- Record of calls ------------------------------------------------------
 */

/* The record, one JSON object a line, of calls whose "sequence" is `first` or
 * more. Members: sequence (from 1), thread (as the system numbers it), name,
 * version and symbol of the function entered, arguments (as received; arrays of
 * up to 4096 elements as arrays), outputs, result (null: the process died in
 * the call), note. The latest 200,000 calls are kept. */
CUDA_SIM_API size_t cuda_sim_trace(uint64_t first, char* buffer, size_t size);
CUDA_SIM_API void cuda_sim_clear_trace(void);

/* Time that has passed inside of driver calls, of all threads together, in
 * nanoseconds since the library was loaded. What a program spends beside it is
 * its own. */
CUDA_SIM_API uint64_t cuda_sim_nanoseconds_in_calls(void);

/* Mistakes of the program that its driver calls could not report (work on
 * memory freed meanwhile, handles that are no streams), one a line. */
CUDA_SIM_API size_t cuda_sim_violations(char* buffer, size_t size);
CUDA_SIM_API void cuda_sim_clear_violations(void);

/* How many there are of: "contexts" (made by cuCtxCreate), "primary_contexts"
 * (active), "primary_retained" (retains not released), "context_stack"
 * (contexts on the calling thread's stack), "streams", "events", "captures"
 * (not ended), "graphs", "graph_executables", "modules", "device_allocations",
 * "pool_allocations", "managed_allocations", "host_allocations",
 * "registrations", "reservations", "mappings", "physical_allocations",
 * "pending". -1 for another name. */
CUDA_SIM_API int64_t cuda_sim_live(const char* kind);

/* ---- Failures on demand ---------------------------------------------------
 */

/* "No failed index" for cuda_sim_fail. */
#define CUDA_SIM_NO_INDEX ((size_t)-2)

/* "Every call from now on" for cuda_sim_fail. */
#define CUDA_SIM_EVERY_CALL ((uint64_t)-1)

/* Lets call number `call` (the next is 1), or every one, of a function return
 * `code`; instead of working, or with `after` 1 after it. `failed_index` is
 * what cuMemcpyBatchAsync reports, or CUDA_SIM_NO_INDEX. */
CUDA_SIM_API int cuda_sim_fail(const char* function, uint64_t call, int code,
                               size_t failed_index, int after);

/* Lets cuMemcpyBatchAsync fail with `code` when it is called with more than
 * `count` copies. */
CUDA_SIM_API int cuda_sim_limit_batch(size_t count, int code);

/* Makes cuGetProcAddress answer wrongly about a name. `lie` is "code" (an error
 * code, with a valid pointer and status 0), "null" (a null pointer with code 0
 * and status 0), "status" (status 1 with a valid pointer and code 0). */
CUDA_SIM_API int cuda_sim_lookup(const char* name, const char* lie);

/* Makes cuGetProcAddress answer "not found" about a name. */
CUDA_SIM_API int cuda_sim_leave_out(const char* name);

/* Takes back everything of this section, also what the environment asked for.
 */
CUDA_SIM_API void cuda_sim_clear_faults(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KVSWAP_SIM_CUDA_SIM_H_ */
