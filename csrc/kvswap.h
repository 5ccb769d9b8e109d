/* kvswap: moves KV-cache blocks between GPU and host memory.
 *
 * The one public header: a C ABI (C99, C++11) in libkvswap.so, which links
 * nothing of CUDA. The CUDA driver is found and resolved at run time, once a
 * process, on the first call that needs it.
 *
 * Rules that hold for every function here
 *   - Functions that return `int` return a kvswap_status: 0 is success.
 *   - Structures begin with `struct_size`, which the caller sets to
 *     sizeof(structure), best by the KVSWAP_..._INIT macros. An older caller's
 *     shorter structure is understood; so is a newer caller's longer one if
 *     what this library does not know of it is zero. The library writes no byte
 *     beyond struct_size.
 *   - No function throws, aborts, initialises CUDA (cuInit) or creates a
 *     context. Where the host has not the memory that one needs, it returns
 *     KVSWAP_ERROR_OUT_OF_MEMORY, keeps nothing, and works again once there is
 *     memory. (Beyond it: in a thread that has never thrown a C++ exception,
 *     glibc ends the process where not even 16 bytes can be had for the first.)
 *   - All are safe to call from any thread. Arrays and structures that are
 *     passed may be changed once the call has returned, not during it.
 *   - KVSWAP_ERROR_INVALID_ARGUMENT is also for null pointers where the text
 *     allows none, and for a struct_size below that of the field itself.
 *   - Strings returned are UTF-8, constant and live as long as the process.
 *
 * The library stays compatible: functions, fields and enumerators are added,
 * never changed or removed. docs/versions.md has the rules.
 */

#ifndef KVSWAP_H_
#define KVSWAP_H_

#include <stddef.h>
#include <stdint.h>

#define KVSWAP_VERSION_MAJOR 0
#define KVSWAP_VERSION_MINOR 1
#define KVSWAP_VERSION_PATCH 0

#if defined(__GNUC__)
#define KVSWAP_API __attribute__((visibility("default")))
#else
#define KVSWAP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* "No descriptor": an index that names none. Never use it to index an array. */
#define KVSWAP_NO_INDEX ((size_t)-1)

/* What a call came to. */
typedef enum kvswap_status {
  KVSWAP_OK = 0,
  /* An argument or option is wrong. Nothing was submitted. */
  KVSWAP_ERROR_INVALID_ARGUMENT = 1,
  /* What was asked for cannot be honoured on this driver or stream: an engine
   * under KVSWAP_FLAG_STRICT, or source access DURING_API_CALL where the batch
   * engine cannot run (kvswap_result.unavailable says why); a ticket of copies
   * that a graph captures. Nothing was submitted. */
  KVSWAP_ERROR_UNSUPPORTED = 2,
  /* No usable CUDA driver: see kvswap_get_driver_info. */
  KVSWAP_ERROR_NO_DRIVER = 3,
  /* No CUDA context to work in: none is current and no device's primary context
   * is active. Nothing was submitted. */
  KVSWAP_ERROR_NO_CONTEXT = 4,
  /* A descriptor's source or destination is no memory, may not be read or
   * written, or runs past the end of its allocation. Nothing was submitted. */
  KVSWAP_ERROR_MEMORY = 5,
  /* The descriptors name the memory of two GPUs. Nothing was submitted. */
  KVSWAP_ERROR_DEVICES = 6,
  /* The stream's capture is invalid, or asking about it was refused because
   * another stream captures (CUDA error 906). Nothing was submitted, and the
   * other stream's capture is as it was. */
  KVSWAP_ERROR_CAPTURE = 7,
  /* The driver answered a call with an error: kvswap_result.cuda_error.
   * Descriptors before it are enqueued all the same: kvswap_result.submitted.
   */
  KVSWAP_ERROR_DRIVER = 8,
  /* The host ran out of memory. Nothing was submitted, registered or set. */
  KVSWAP_ERROR_OUT_OF_MEMORY = 9
} kvswap_status;

/* How copies are submitted. */
typedef enum kvswap_engine {
  KVSWAP_ENGINE_AUTO = 0,   /* kvswap chooses; never changes a result */
  KVSWAP_ENGINE_BATCH = 1,  /* cuMemcpyBatchAsync (driver >= 12.8), in chunks */
  KVSWAP_ENGINE_LOOP = 2,   /* cuMemcpyAsync for each descriptor */
  KVSWAP_ENGINE_KERNEL = 3, /* a copy kernel (driver >= 12.0), on any stream */
  /* The batch engine on a stream of kvswap's own that the legacy stream is
   * forked to and joined with by events. */
  KVSWAP_ENGINE_BRIDGE = 4
} kvswap_engine;

/* Length of the arrays that an engine's number indexes. */
#define KVSWAP_ENGINE_SLOTS 8

/* Why an engine cannot run, or did not though it was asked for. */
typedef enum kvswap_reason {
  KVSWAP_REASON_NONE = 0,
  KVSWAP_REASON_NO_BATCH_SYMBOL = 1, /* driver older than 12.8, or lacks it */
  KVSWAP_REASON_LEGACY_STREAM = 2,   /* the driver refuses handles 0 and 1 */
  KVSWAP_REASON_CAPTURING = 3,       /* the batch call is missing from graphs */
  KVSWAP_REASON_SOURCE_ACCESS = 4,   /* cannot promise DURING_API_CALL */
  /* The driver does not say that a kernel on the stream's GPU may touch some of
   * the memory; those copies go to another engine. */
  KVSWAP_REASON_NOT_REACHABLE = 5,
  KVSWAP_REASON_NO_KERNEL_ENTRY = 6,   /* driver older than 12.0, or lacks it */
  KVSWAP_REASON_NO_KERNEL_IMAGE = 7,   /* no image that the driver would load */
  KVSWAP_REASON_LAUNCH_FAILED = 8,     /* the driver refused a launch */
  KVSWAP_REASON_NOT_LEGACY_STREAM = 9, /* nothing to bridge */
  KVSWAP_REASON_NO_BRIDGE = 10         /* its stream or events were refused */
} kvswap_reason;

/* Length of the arrays that a reason's number indexes. */
#define KVSWAP_REASON_SLOTS 16

/* When sources are read (CUmemcpySrcAccessOrder). Destinations are always
 * written in stream order. */
typedef enum kvswap_source_access {
  /* In stream order. Right for every use; the default. */
  KVSWAP_SOURCE_ACCESS_STREAM = 0,
  /* Before the call returns, perhaps ahead of earlier work of the stream. Only
   * the batch engine can promise it: KVSWAP_ERROR_UNSUPPORTED elsewhere. */
  KVSWAP_SOURCE_ACCESS_DURING_API_CALL = 1,
  /* At any time, perhaps ahead of earlier work of the stream. Wrong for a
   * source that earlier work may still be writing, as a live KV cache on the
   * GPU. */
  KVSWAP_SOURCE_ACCESS_ANY = 2
} kvswap_source_access;

/* What the copies of a call should spare. */
typedef enum kvswap_priority {
  KVSWAP_PRIORITY_THROUGHPUT =
      0,                      /* nothing: most bytes a second; the default */
  KVSWAP_PRIORITY_COMPUTE = 1 /* kernels that run beside them */
} kvswap_priority;

/* Between what a copy goes; managed memory counts as the device's. */
typedef enum kvswap_direction {
  KVSWAP_DIRECTION_HOST_TO_DEVICE = 0,
  KVSWAP_DIRECTION_DEVICE_TO_HOST = 1,
  KVSWAP_DIRECTION_DEVICE_TO_DEVICE = 2,
  KVSWAP_DIRECTION_HOST_TO_HOST = 3
} kvswap_direction;

/* Length of the arrays that a direction's number indexes. */
#define KVSWAP_DIRECTION_SLOTS 8

/* How the kernel engine copies. */
typedef enum kvswap_kernel {
  KVSWAP_KERNEL_NONE = 0,
  KVSWAP_KERNEL_PLAIN = 1, /* a warp for each block; every size and alignment */
  /* Bulk-asynchronous copies through shared memory (compute capability 9.0 and
   * newer), for copies whose addresses and sizes are multiples of 16 bytes;
   * other copies go by the plain kernel. */
  KVSWAP_KERNEL_BULK = 2
} kvswap_kernel;

/* What kind of stream a handle is. */
typedef enum kvswap_stream_kind {
  KVSWAP_STREAM_LEGACY = 0,     /* handles 0 and 1 (CU_STREAM_LEGACY) */
  KVSWAP_STREAM_PER_THREAD = 1, /* handle 2 (CU_STREAM_PER_THREAD) */
  KVSWAP_STREAM_CREATED = 2
} kvswap_stream_kind;

/* What a pointer points to. */
typedef enum kvswap_memory_kind {
  KVSWAP_MEMORY_UNKNOWN = 0,  /* not asked, or the driver would not say */
  KVSWAP_MEMORY_NONE = 1,     /* neither CUDA's nor readable host memory */
  KVSWAP_MEMORY_PAGEABLE = 2, /* host memory that CUDA does not know */
  KVSWAP_MEMORY_PINNED = 3,   /* host memory, page-locked or registered */
  KVSWAP_MEMORY_DEVICE = 4,
  KVSWAP_MEMORY_MANAGED = 5
} kvswap_memory_kind;

/* One side of a descriptor, as the driver describes it. */
typedef struct kvswap_memory {
  int32_t kind;         /* kvswap_memory_kind */
  int32_t device;       /* ordinal; -1 where there is none */
  uint64_t range_start; /* the allocation, registration or mapping, in bytes; */
  uint64_t range_size;  /* 0, 0 where it is not known (pageable memory) */
} kvswap_memory;

/* kvswap_options.flags */
/* An engine that was asked for by name and cannot run is an error
 * (KVSWAP_ERROR_UNSUPPORTED) instead of a fallback. */
#define KVSWAP_FLAG_STRICT 1u
/* Pool calls: two copies to one block, and a block that one pair reads and
 * another writes, are errors instead of undefined. */
#define KVSWAP_FLAG_CHECK 2u
/* Pool calls: copies are submitted layer by layer, in ascending order of their
 * numbers, and the ticket tells of each layer. */
#define KVSWAP_FLAG_LAYERS 4u

/* The batch call's flag CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE. */
#define KVSWAP_FLAG_PREFER_OVERLAP 8u

/* One rule of a policy: what submits copies of a kind. A rule is for the copies
 * that match all of its conditions. */
typedef struct kvswap_policy_rule {
  /* Conditions. */
  int32_t direction; /* kvswap_direction; -1: any */
  int32_t priority;  /* kvswap_priority; -1: any */
  /* The engine that the copy engines of the GPU would be used by: BATCH, BRIDGE
   * on the legacy stream, LOOP where neither can run, as under capture. AUTO:
   * any. */
  int32_t copy_engine;
  int32_t reserved; /* zero */
  size_t max_size;  /* bytes of a copy at most; 0: any */
  size_t min_count; /* copies of the direction in the call at least */
  /* What the rule says: KERNEL; LOOP; or BATCH, which means whichever of BATCH,
   * BRIDGE and LOOP the stream and the driver allow. */
  int32_t engine;
  /* Of rules for KERNEL. The bulk kernel is replaced by the plain one where the
   * GPU has none. */
  int32_t kernel;      /* kvswap_kernel */
  int32_t ctas;        /* cooperative thread arrays ("thread blocks") at most */
  int32_t threads;     /* of each, a multiple of 32; the bulk kernel: 32 */
  int32_t stages;      /* of the bulk kernel's ring, 2 to 32 */
  int32_t stage_bytes; /* of each stage, a multiple of 128 */
} kvswap_policy_rule;

/* A policy of the AUTO engine: the first rule that is for a copy decides. A
 * copy that no rule is for goes as under a rule for BATCH. */
typedef struct kvswap_policy {
  size_t struct_size;
  const kvswap_policy_rule* rules;
  size_t rule_count;
} kvswap_policy;

#define KVSWAP_POLICY_INIT {sizeof(kvswap_policy), NULL, 0}

/* Options of a call. All zero is the default. */
typedef struct kvswap_options {
  size_t struct_size;
  int32_t engine;        /* kvswap_engine; AUTO lets KVSWAP_ENGINE decide */
  int32_t source_access; /* kvswap_source_access */
  /* Most descriptors in one call of the driver's batch function. 0: what
   * KVSWAP_MAX_BATCH says, else the default. Values above
   * KVSWAP_MAX_BATCH_LIMIT mean that limit. */
  size_t max_batch;
  uint32_t flags;   /* KVSWAP_FLAG_... */
  int32_t priority; /* kvswap_priority */
  /* The policy of this call; NULL: that of kvswap_set_policy, else the GPU
   * family's own. Read before the call returns. */
  const kvswap_policy* policy;
} kvswap_options;

#define KVSWAP_OPTIONS_INIT {sizeof(kvswap_options), 0, 0, 0, 0, 0, NULL}

/* Descriptors in one driver call: the default, from the speed map in docs, and
 * the most that is ever sent, below the counts at which drivers were reported
 * to fail. */
#define KVSWAP_MAX_BATCH_DEFAULT ((size_t)128)
#define KVSWAP_MAX_BATCH_LIMIT ((size_t)32768)

#define KVSWAP_MESSAGE_SIZE 1024

/* The outcome of a call. All indices are positions in the caller's arrays:
 * descriptors, or of a pool call pairs. */
typedef struct kvswap_result {
  size_t struct_size;
  int32_t code;       /* kvswap_status */
  int32_t cuda_error; /* CUresult; 0 where the driver reported none */
  size_t index;       /* the first descriptor at fault, or KVSWAP_NO_INDEX */
  /* Descriptors in driver calls that succeeded, the `dropped` ones not counted.
   * Of a batch call that was refused, the driver may have enqueued the copies
   * ahead of the one at fault all the same (seen on driver 580): after an
   * error, treat every destination of the call as undefined until it is written
   * again. */
  size_t submitted;
  uint64_t submitted_bytes;
  size_t dropped; /* descriptors of size zero: nothing to copy */
  /* The engine that ran, or would have; of several, the one with most copies.
   */
  int32_t engine;
  int32_t device; /* ordinal of the device whose context was used; -1: none */
  /* Per kvswap_engine: descriptors that it submitted, and why it did not run
   * (kvswap_reason), or not for all copies, where it was asked for or
   * preferred.
   */
  uint64_t copies[KVSWAP_ENGINE_SLOTS];
  int32_t unavailable[KVSWAP_ENGINE_SLOTS];
  /* The descriptor at `index`, where there is one. */
  const void* source;
  const void* destination;
  size_t size;
  kvswap_memory source_memory;
  kvswap_memory destination_memory;
  /* What happened, to which descriptor, what to do; empty on success. */
  char message[KVSWAP_MESSAGE_SIZE];
  size_t region; /* of a pool call, at fault; else KVSWAP_NO_INDEX */
  /* Copies of which a side is host memory that is not pinned: the driver may
   * stage them, and run them before the call returns. */
  size_t pageable;
} kvswap_result;

#define KVSWAP_RESULT_INIT \
  {sizeof(kvswap_result),  \
   0,                      \
   0,                      \
   0,                      \
   0,                      \
   0,                      \
   0,                      \
   0,                      \
   0,                      \
   {0},                    \
   {0},                    \
   NULL,                   \
   NULL,                   \
   0,                      \
   {0, 0, 0, 0},           \
   {0, 0, 0, 0},           \
   {0},                    \
   0,                      \
   0}

/* Submits `count` independent copies: sizes[i] bytes from src_ptrs[i] to
 * dst_ptrs[i].
 *
 * src_ptrs, dst_ptrs and sizes are arrays of `count` in host memory, read
 * before the call returns. Pointers are to device, pinned, managed or pageable
 * memory, both sides in any mix; sizes are in bytes. Descriptors of size 0 do
 * nothing, and neither does a `count` of 0. Copies of one call run in no order
 * among themselves, and neighbours may be made as one. So what a destination
 * gets is undefined if another copy's destination overlaps it, or any copy's
 * source does, its own too: make a call for each, in one stream. This is not
 * looked for.
 *
 * `stream` is a CUstream or cudaStream_t. NULL and 1 are the legacy default
 * stream, 2 the per-thread default stream; other numbers below 65536 are no
 * handles (KVSWAP_ERROR_INVALID_ARGUMENT). A stream that was destroyed must not
 * be passed: drivers follow its handle to no memory. A created stream's own
 * context is
 * used. Handles 0, 1 and 2 mean the current context if it belongs to the device
 * that the pointers are on, else that device's primary context if it is active.
 *
 * `options` may be NULL: the defaults. `result` may be NULL; it is written on
 * success too.
 *
 * The copies run in the stream's order as a whole and may run after the call
 * has returned: memory must stay valid until the stream has passed them. On a
 * capturing stream they become nodes of the graph. The current context of the
 * thread is the same after the call as before.
 *
 * Every descriptor is checked before anything is submitted: null pointers,
 * address overflow, memory that is neither CUDA's nor accessible host memory,
 * ranges that run past their allocation, memory of two GPUs. Whether the stream
 * captures is asked before any call that could disturb a capture. If the driver
 * refuses a call midway, the rest is not submitted and nothing is retried.
 */
KVSWAP_API int kvswap_swap_blocks_batch(const void* const* src_ptrs,
                                        void* const* dst_ptrs,
                                        const size_t* sizes, size_t count,
                                        void* stream,
                                        const kvswap_options* options,
                                        kvswap_result* result);

/* What a call with the same arguments would do now, and why. */
typedef struct kvswap_plan {
  size_t struct_size;
  int32_t engine;      /* kvswap_engine that would run, as in kvswap_result */
  int32_t stream_kind; /* kvswap_stream_kind */
  int32_t capturing;   /* 1: the stream captures; copies would become nodes */
  int32_t device;      /* ordinal; -1: none */
  size_t copies;       /* descriptors to submit */
  size_t dropped;      /* descriptors of size zero */
  uint64_t bytes;      /* of all copies */
  size_t driver_calls; /* copy calls and launches */
  size_t max_batch;    /* descriptors in one batch call at most */
  int32_t unavailable[KVSWAP_ENGINE_SLOTS];    /* as in kvswap_result */
  uint64_t engine_copies[KVSWAP_ENGINE_SLOTS]; /* descriptors, per engine */
  /* Descriptors that copy engines get together with a neighbour, since they are
   * contiguous with it on both sides inside one allocation. */
  size_t coalesced;
} kvswap_plan;

#define KVSWAP_PLAN_INIT \
  {sizeof(kvswap_plan), 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, {0}, 0}

/* Checks and plans like kvswap_swap_blocks_batch and submits nothing. */
KVSWAP_API int kvswap_plan_blocks_batch(
    const void* const* src_ptrs, void* const* dst_ptrs, const size_t* sizes,
    size_t count, void* stream, const kvswap_options* options,
    kvswap_plan* plan, kvswap_result* result);

/* Writes the ordinal of the device that the descriptors' memory is on to
 * `*device`; -1 where no descriptor names device memory, or without a driver.
 * For callers that choose a stream by device. Only the first descriptor with
 * device memory is looked at, and nothing is checked. On an error `*device` is
 * -1 as well. */
KVSWAP_API int kvswap_find_device(const void* const* src_ptrs,
                                  void* const* dst_ptrs, const size_t* sizes,
                                  size_t count, int32_t* device);

/* ---- Block pools ---------------------------------------------------------
 */

/* A part of every block of a pool: the part of block i is the `block_bytes`
 * bytes from base + i * stride on. A pool is a set of regions: one for each
 * layer's tensor, or for K and V each; of a layout that keeps all layers of a
 * block together, one for each layer, `stride` apart. */
typedef struct kvswap_region {
  void* base;
  size_t stride;      /* bytes from a block to the next; block_bytes at least */
  size_t block_bytes; /* above zero */
  int32_t layer;      /* for KVSWAP_FLAG_LAYERS; not below zero */
  int32_t reserved;   /* zero */
} kvswap_region;

/* A paged cache. A description only: nothing is registered or kept. */
typedef struct kvswap_pool {
  size_t struct_size;
  const kvswap_region* regions;
  size_t region_count; /* above zero */
  size_t block_count;  /* in each region */
} kvswap_pool;

#define KVSWAP_POOL_INIT {sizeof(kvswap_pool), NULL, 0, 0}

/* Tells when copies are done. Made by kvswap_swap_pools. */
typedef struct kvswap_ticket kvswap_ticket;

/* Submits a copy of each region of each pair of blocks: of block pairs[2 * i]
 * of `source` to block pairs[2 * i + 1] of `destination`, for `pair_count`
 * pairs.
 *
 * Region r of the one pool corresponds to region r of the other. Their blocks
 * are of one size, or those of one pool are k times those of the other, with
 * one k for all regions. Ids then count blocks of the smaller size on both
 * sides: id i of the pool with the larger blocks is, in each region, the bytes
 *   base + (i / k) * stride + (i % k) * (block_bytes / k)
 * and as many on as the other pool's block has.
 *
 * Ids are checked against both pools. What the regions point to is checked as
 * in kvswap_swap_blocks_batch, for whole regions where that is possible.
 * `stream`, `options` and `result` are as there; result->index is the pair at
 * fault, result->region the region.
 *
 * `ticket` may be NULL. Else it receives a ticket for these copies, or NULL
 * where the call fails. A capturing stream cannot give one, since its copies
 * run when the graph is launched: KVSWAP_ERROR_UNSUPPORTED. */
KVSWAP_API int kvswap_swap_pools(const kvswap_pool* source,
                                 const kvswap_pool* destination,
                                 const int64_t* pairs, size_t pair_count,
                                 void* stream, const kvswap_options* options,
                                 kvswap_ticket** ticket, kvswap_result* result);

/* In place of a layer's number: all copies of a ticket. */
#define KVSWAP_ALL_LAYERS ((int32_t)-1)

/* Functions of tickets. `layer` is a layer's number, under KVSWAP_FLAG_LAYERS,
 * or KVSWAP_ALL_LAYERS; layers are done in ascending order. `result` may be
 * NULL. Any thread may call them, and none disturbs a stream's capture. The
 * context that the copies ran in must still be there. */

/* Writes to `*done` whether the copies are done: 1 or 0. Does not wait. */
KVSWAP_API int kvswap_ticket_query(const kvswap_ticket* ticket, int32_t layer,
                                   int32_t* done, kvswap_result* result);

/* Waits for the copies. */
KVSWAP_API int kvswap_ticket_wait(const kvswap_ticket* ticket, int32_t layer,
                                  kvswap_result* result);

/* Makes later work of `stream` wait for the copies; returns at once. Handles 0,
 * 1 and 2 mean the current context's streams if it belongs to the device that
 * the copies ran on, else that device's primary context's. A stream that
 * captures cannot wait for work outside its graph: KVSWAP_ERROR_CAPTURE. */
KVSWAP_API int kvswap_ticket_wait_stream(const kvswap_ticket* ticket,
                                         int32_t layer, void* stream,
                                         kvswap_result* result);

/* Gives a ticket back; the copies are not waited for. NULL does nothing. No
 * other thread may be using it, or use it again. */
KVSWAP_API void kvswap_ticket_destroy(kvswap_ticket* ticket);

/* ---- Host memory ----------------------------------------------------------
 */

/* kvswap_registration_options.flags */
/* The memory may only be read, as that of a file mapped for reading. Not every
 * device can register such memory: KVSWAP_ERROR_UNSUPPORTED. */
#define KVSWAP_REGISTER_READ_ONLY 1u

/* What to register. All zero is the default. */
typedef struct kvswap_registration_options {
  size_t struct_size;
  /* Bytes of a block, from the first byte on: borders between chunks fall on
   * borders of blocks, since the driver refuses a copy across. 0: anywhere. */
  size_t block_bytes;
  size_t max_chunk_bytes; /* of one chunk; 0: 64 GiB */
  uint32_t flags;         /* KVSWAP_REGISTER_... */
  uint32_t reserved;      /* zero */
} kvswap_registration_options;

#define KVSWAP_REGISTRATION_OPTIONS_INIT \
  {sizeof(kvswap_registration_options), 0, 0, 0, 0}

/* Host memory that is registered with the driver. */
typedef struct kvswap_registration kvswap_registration;

/* Registers (page-locks) `size` bytes of the caller's host memory from
 * `address` on, for all devices, in the current context if it belongs to
 * `device`, else in the device's primary context if it is active; with `device`
 * -1 in the current context. In chunks, all or none: where one fails, those
 * before it are taken back. Disturbs no stream's capture. `*registration` is
 * NULL where the call fails. The memory stays the caller's, and must stay
 * mapped until it is unregistered. */
KVSWAP_API int kvswap_register_host_memory(
    void* address, size_t size, int32_t device,
    const kvswap_registration_options* options,
    kvswap_registration** registration, kvswap_result* result);

/* How many chunks it consists of; 0 of NULL. */
KVSWAP_API size_t
kvswap_registration_chunk_count(const kvswap_registration* registration);

/* Takes a registration back; copies that use the memory must be done. NULL does
 * nothing. `registration` is gone after it, also where the driver refuses: then
 * some of the memory may stay registered, and must stay mapped until the
 * process ends. */
KVSWAP_API int kvswap_unregister_host_memory(kvswap_registration* registration,
                                             kvswap_result* result);

/* ---- The driver ----------------------------------------------------------
 */

/* The driver, as it was found. */
typedef struct kvswap_driver_info {
  size_t struct_size;
  int32_t usable;          /* 1: a driver with every required entry */
  int32_t driver_version;  /* as 12080 for CUDA 12.8; 0: no driver */
  int32_t batch_available; /* 1: cuMemcpyBatchAsync, 9 arguments, resolved */
  /* CUDA_VERSION of the toolkit whose <cuda.h> this build was checked against;
   * 0: built without one. The binaries do not differ otherwise. */
  int32_t toolkit_version;
  size_t entry_count;  /* for kvswap_get_driver_entry */
  const char* path;    /* the library that was loaded; "" where none was */
  const char* message; /* why it is not usable; "" where it is */
  const char* tried; /* a line for each library tried: its name, the outcome */
} kvswap_driver_info;

#define KVSWAP_DRIVER_INFO_INIT \
  {sizeof(kvswap_driver_info), 0, 0, 0, 0, 0, NULL, NULL, NULL}

/* Finds and resolves the driver on the first call, never calls cuInit. Succeeds
 * without a driver too: info->usable. */
KVSWAP_API int kvswap_get_driver_info(kvswap_driver_info* info);

/* One entry of the driver table. */
typedef struct kvswap_driver_entry {
  size_t struct_size;
  const char* name;     /* as cuGetProcAddress was asked for it */
  int32_t version;      /* the version it was asked for */
  int32_t required;     /* 1: no copy can be made without it */
  int32_t present;      /* 1: resolved */
  int32_t cuda_error;   /* what cuGetProcAddress returned */
  int32_t query_status; /* CUdriverProcAddressQueryResult; -1: not told */
  const char* message;  /* why it is missing; "" where it is present */
} kvswap_driver_entry;

#define KVSWAP_DRIVER_ENTRY_INIT \
  {sizeof(kvswap_driver_entry), NULL, 0, 0, 0, 0, 0, NULL}

/* Entry `position` (0 ... entry_count - 1) of the driver table;
 * KVSWAP_ERROR_INVALID_ARGUMENT for any other. Without a driver there are none.
 */
KVSWAP_API int kvswap_get_driver_entry(size_t position,
                                       kvswap_driver_entry* entry);

/* The kernel engine of a context. */
typedef struct kvswap_kernel_info {
  size_t struct_size;
  int32_t available;
  int32_t reason;             /* kvswap_reason; NONE where it is available */
  int32_t device;             /* ordinal; -1: no context is current */
  int32_t compute_capability; /* as 90 for 9.0 */
  int32_t bulk;               /* 1: the bulk kernel is available */
  int32_t parameter_bytes;    /* of a launch at most: 4096 or 32764 */
  char image[128];            /* the image that was loaded; "" where none was */
  char message[512];          /* why it is not available; "" where it is */
} kvswap_kernel_info;

#define KVSWAP_KERNEL_INFO_INIT \
  {sizeof(kvswap_kernel_info), 0, 0, 0, 0, 0, 0, {0}, {0}}

/* Tells of the current context's kernel engine, and loads its image if that has
 * not been done. */
KVSWAP_API int kvswap_get_kernel_info(kvswap_kernel_info* info);

/* Sets the process's policy for all GPUs; NULL: back to each GPU family's own.
 * The rules are copied. Calls that run meanwhile use the one or the other.
 * Where a rule is wrong, result->message tells which and why, and the policy
 * stays as it was. */
KVSWAP_API int kvswap_set_policy(const kvswap_policy* policy,
                                 kvswap_result* result);

/* Writes to `rules` (room for `capacity`; may be NULL with 0) the rules in
 * force for a GPU of a compute capability (as 90 for 9.0), and to `*count` how
 * many there are, also where that is more than `capacity`. */
KVSWAP_API int kvswap_get_policy(int32_t compute_capability,
                                 kvswap_policy_rule* rules, size_t capacity,
                                 size_t* count);

/* Counters of this process since its start, over all threads. They only grow:
 * what happened between two readings is their difference. A forked child goes
 * on from its parent's. A call counts when it ends, and one that failed midway
 * counts what the driver had accepted. */
typedef struct kvswap_statistics {
  size_t struct_size;
  uint64_t calls;   /* of kvswap_swap_blocks_batch and kvswap_swap_pools */
  uint64_t errors;  /* of those, how many did not return KVSWAP_OK */
  uint64_t dropped; /* descriptors of size zero */
  uint64_t copies[KVSWAP_ENGINE_SLOTS]; /* descriptors submitted, per engine */
  uint64_t bytes[KVSWAP_ENGINE_SLOTS];
  /* Calls in which an engine that was asked for or preferred did not run, per
   * kvswap_reason. */
  uint64_t fallbacks[KVSWAP_REASON_SLOTS];
  /* Copies that another engine submitted in such calls, per kvswap_reason. */
  uint64_t fallback_copies[KVSWAP_REASON_SLOTS];
  uint64_t driver_calls; /* copy calls and launches that were accepted */
  /* Copies that a copy engine got together with a neighbour. */
  uint64_t coalesced;
  uint64_t direction_copies[KVSWAP_DIRECTION_SLOTS]; /* per direction */
  uint64_t direction_bytes[KVSWAP_DIRECTION_SLOTS];
} kvswap_statistics;

#define KVSWAP_STATISTICS_INIT \
  {sizeof(kvswap_statistics), 0, 0, 0, {0}, {0}, {0}, {0}, 0, 0, {0}, {0}}

KVSWAP_API int kvswap_get_statistics(kvswap_statistics* statistics);

/* ---- The log -------------------------------------------------------------
 */

/* How much a line of the log matters, and what is logged: lines of a level and
 * of those before it. */
typedef enum kvswap_log_level {
  KVSWAP_LOG_OFF = 0, /* nothing */
  KVSWAP_LOG_ERROR = 1,
  /* What makes calls slower than they could be and was not asked for, each kind
   * once a process. */
  KVSWAP_LOG_WARNING = 2,
  /* What was found and chosen, each once a process: the driver, engines that
   * gave way to others. */
  KVSWAP_LOG_INFO = 3,
  KVSWAP_LOG_DEBUG = 4 /* a line for each call */
} kvswap_log_level;

/* In place of a level: that of the environment variable KVSWAP_LOG ("off",
 * "error", "warning", "info" or "debug"), else KVSWAP_LOG_WARNING. */
#define KVSWAP_LOG_FROM_ENVIRONMENT ((int32_t)-1)

/* Takes a line: UTF-8, without a line feed, valid until the callback returns.
 *
 * It is called by the thread that makes the call which has something to say, by
 * several at once where there are several, in that thread's CUDA context. No
 * lock of kvswap is held: it may call any function here, also those that copy,
 * and what calls of its own have to say is left out. It throws nothing. */
typedef void (*kvswap_log_callback)(void* user_data, int32_t level,
                                    const char* message);

/* Gives lines up to `level` (kvswap_log_level, or KVSWAP_LOG_FROM_ENVIRONMENT)
 * to `callback`, with `user_data`; without a callback (NULL), which is how a
 * process starts, they go to stderr: "kvswap: warning: what happened". May be
 * called at any time, also before anything else; (NULL, NULL,
 * KVSWAP_LOG_FROM_ENVIRONMENT) is how a process starts. Calls that run
 * meanwhile on other threads may still call the former callback until they
 * return: until then `user_data` and the callback have to be there.
 * KVSWAP_ERROR_INVALID_ARGUMENT: the level is none, and all is as it was. */
KVSWAP_API int kvswap_set_log(kvswap_log_callback callback, void* user_data,
                              int32_t level);

/* Version of this library: as "1.2.3", and major * 10000 + minor * 100 + patch.
 */
KVSWAP_API const char* kvswap_version_string(void);
KVSWAP_API int32_t kvswap_version_number(void);

/* Names of enumerators, as Python and the environment spell them: "batch",
 * "legacy_stream", "during_api_call". "unknown" for a number without a name. */
KVSWAP_API const char* kvswap_status_name(int32_t status);
KVSWAP_API const char* kvswap_engine_name(int32_t engine);
KVSWAP_API const char* kvswap_reason_name(int32_t reason);
KVSWAP_API const char* kvswap_source_access_name(int32_t source_access);
KVSWAP_API const char* kvswap_stream_kind_name(int32_t stream_kind);
KVSWAP_API const char* kvswap_memory_kind_name(int32_t memory_kind);
KVSWAP_API const char* kvswap_priority_name(int32_t priority);
KVSWAP_API const char* kvswap_direction_name(int32_t direction);
KVSWAP_API const char* kvswap_kernel_name(int32_t kernel);
KVSWAP_API const char* kvswap_log_level_name(int32_t level);

/* The number of a name; -1 where there is none of that name. */
KVSWAP_API int32_t kvswap_engine_from_name(const char* name);
KVSWAP_API int32_t kvswap_source_access_from_name(const char* name);
KVSWAP_API int32_t kvswap_priority_from_name(const char* name);
KVSWAP_API int32_t kvswap_direction_from_name(const char* name);
KVSWAP_API int32_t kvswap_kernel_from_name(const char* name);
KVSWAP_API int32_t kvswap_log_level_from_name(const char* name);

/* One sentence on a reason, for people. */
KVSWAP_API const char* kvswap_reason_text(int32_t reason);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KVSWAP_H_ */
