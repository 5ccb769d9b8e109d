// Docstrings of kvswap._core's functions. Each begins with the signature in the
// form that CPython reads (`name(...)`, a line `--`), for inspect.signature.

#ifndef KVSWAP_BINDINGS_DOCSTRINGS_H_
#define KVSWAP_BINDINGS_DOCSTRINGS_H_

namespace kvswap::bindings {

inline constexpr char kSwapBlocksBatchDoc[] =
    R"(swap_blocks_batch(src_ptrs, dst_ptrs, sizes, *, stream=None,
                  engine='auto', src_access='stream',
                  max_batch=None, strict=False, priority='throughput',
                  policy=None, prefer_overlap=False)
--

Submits N independent copies: ``sizes[i]`` bytes from ``src_ptrs[i]`` to
``dst_ptrs[i]``.

The copies run in the stream's order as a whole, in no order among themselves,
and may run after this returns: what overlaps a destination may be no source and
no other destination of the call, which is not looked for. The three arrays may
be changed as soon as it has returned, and not by another thread before; the
memory that they point to must stay valid until the stream has passed the
copies. On a capturing stream the copies become nodes of the graph.
The GIL is released while the copies are submitted.

Args:
    src_ptrs: addresses to read. One-dimensional, contiguous int64 or uint64
        array of shape (N,) in host memory: a torch CPU tensor, a NumPy array or
        any object with the buffer protocol. Device, pinned, managed and
        pageable memory are accepted, in any mix.
    dst_ptrs: addresses to write; like src_ptrs.
    sizes: bytes to copy; like src_ptrs. Entries of zero copy nothing.
    stream: what the copies are ordered by: a ``torch.cuda.Stream``, an object
        with ``__cuda_stream__``, a CUstream or cudaStream_t as an int (0 and 1
        are the legacy default stream, 2 the per-thread one), or None. None is
        torch's current stream of the device that the pointers are on, where
        torch is imported and has initialised CUDA, and else the legacy default
        stream.
    engine: "auto" (kvswap chooses, by the policy), "batch"
        (cuMemcpyBatchAsync), "loop" (cuMemcpyAsync each), "kernel" (a copy
        kernel) or "bridge" (the batch engine for the legacy stream). An engine
        that cannot run gives way to one that can; the result says why. It
        changes the speed, never the outcome.
    src_access: when sources are read. "stream": in stream order, right for
        every use. "during_api_call": before this returns. "any": at any time,
        perhaps ahead of earlier work of the stream; wrong for a source that
        such work may still write, as a live KV cache.
    max_batch: most descriptors in one call into the driver; None for the
        default.
    strict: whether an engine asked for by name that cannot run is an error.
    priority: what the copies should spare. "throughput": nothing, most bytes a
        second. "compute": kernels that run beside them.
    policy: the rules of "auto" in this call, a kvswap.Policy; None for those of
        kvswap.set_policy, else the GPU family's own.
    prefer_overlap: whether the batch call has the driver's flag
        CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE.

Returns:
    SwapResult: the engine that ran, how many copies and bytes it submitted.

Raises:
    TypeError: an argument is of the wrong type, dtype or device.
    ValueError: an argument has a wrong value: unequal lengths, an array that is
        not contiguous, a negative size, a null pointer with a size, an unknown
        engine. Nothing was submitted.
    UnsupportedError: what was asked for cannot be honoured on this driver or
        stream. Nothing was submitted.
    SwapError: memory that cannot be copied, no driver, or an error of the
        driver; its attributes name the descriptor and what was submitted.)";

inline constexpr char kPlanDoc[] =
    R"(plan(src_ptrs, dst_ptrs, sizes, *, stream=None,
     engine='auto', src_access='stream',
     max_batch=None, strict=False, priority='throughput',
     policy=None, prefer_overlap=False)
--

Says what swap_blocks_batch would do now with the same arguments, and why.

Arguments are checked as there, and nothing is submitted.

Returns:
    Plan: the engine, the number of copies of each engine and of calls into the
        driver, and for each engine that would not run the reason.

Raises:
    What swap_blocks_batch raises before it submits anything.)";

inline constexpr char kDriverInfoDoc[] =
    R"(driver_info()
--

Describes the CUDA driver that this process uses.

The first call finds and loads it: the library that KVSWAP_LIBCUDA names, else
the system's. Never initialises CUDA.

Returns:
    DriverInfo: path, version, what was tried, and each function that was
        looked up in it. ``usable`` is False where there is no driver.)";

inline constexpr char kKernelInfoDoc[] =
    R"(kernel_info()
--

Describes the engine "kernel" in the current context.

Loads the copy kernels into the context if that has not been done. torch makes a
device's context current with its first use there.

Returns:
    KernelInfo: whether the engine is available, for which GPU, and why not.
        Without a driver or a current context it is not.)";

inline constexpr char kStatsDoc[] =
    R"(stats()
--

Counts what this process has submitted since its start.

Block pools and torch's operators count too. The counters only grow: what
happened meanwhile is ``kvswap.stats() - before``. A forked child goes on from
its parent's.

Returns:
    Statistics: calls, errors, calls of the driver; copies and bytes of each
        engine and direction; fallbacks by reason.)";

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_DOCSTRINGS_H_
