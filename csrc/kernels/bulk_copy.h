// The bulk copy kernel: one thread of a CTA moves chunks from global to shared
// to global memory by bulk-asynchronous copies, through a ring of stages.
//
// It holds few bytes in flight, no registers to speak of and one warp, so that
// kernels beside it lose little. Compute capability 9.0 and newer; addresses
// and sizes are multiples of kBulkAlignment. Source of the instructions: PTX
// ISA, "Data Movement and Conversion Instructions: Bulk copy" and "mbarrier".

#ifndef KVSWAP_KERNELS_BULK_COPY_H_
#define KVSWAP_KERNELS_BULK_COPY_H_

#include "csrc/kernels/chunks.h"

namespace kvswap::kernels {

__device__ __forceinline__ Number SharedAddress(const void* pointer) {
  return static_cast<Number>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void InitBarrier(Number barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier)
               : "memory");
}

// Starts the load of a chunk into a stage; the barrier completes a phase when
// its bytes have arrived.
__device__ __forceinline__ void StartLoad(const Chunk& chunk, Number stage,
                                          Number barrier) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
      "r"(chunk.size)
      : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1], %2, [%3];" ::"r"(stage),
      "l"(chunk.source), "r"(chunk.size), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ void WaitForLoad(Number barrier, Number phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(barrier),
      "r"(phase)
      : "memory");
}

__device__ __forceinline__ void StartStore(const Chunk& chunk, Number stage) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
          chunk.destination),
      "r"(stage), "r"(chunk.size)
      : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until the stages of all stores but the last `pending` ones were read.
template <int pending>
__device__ __forceinline__ void WaitForStages() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

// The loop of a CTA. A stage is loaded anew when the store out of it has been
// read, `pending` stores later.
template <int pending, typename Parameters>
__device__ __forceinline__ void RunRing(const Parameters& parameters,
                                        Number ring, Number barriers) {
  const Number stages = parameters.header.stages;
  const Number stage_bytes = parameters.header.stage_bytes;
  Chunks<Parameters> to_load(parameters, blockIdx.x, gridDim.x);
  Chunks<Parameters> to_store(parameters, blockIdx.x, gridDim.x);

  for (Number stage = 0; stage < stages; ++stage) {
    const Chunk chunk = to_load.Next();
    if (chunk.size == 0) break;
    StartLoad(chunk, ring + stage * stage_bytes, barriers + stage * 8);
  }
  Number stage = 0;
  Number phase = 0;
  Number refill = 0;
  for (Number stored = 0;; ++stored) {
    const Chunk chunk = to_store.Next();
    if (chunk.size == 0) break;
    WaitForLoad(barriers + stage * 8, phase);
    StartStore(chunk, ring + stage * stage_bytes);
    if (++stage == stages) {
      stage = 0;
      phase ^= 1;
    }
    if (stored < pending) continue;
    const Chunk next = to_load.Next();
    if (next.size == 0) continue;
    WaitForStages<pending>();
    StartLoad(next, ring + refill * stage_bytes, barriers + refill * 8);
    if (++refill == stages) refill = 0;
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

template <typename Parameters>
__device__ __forceinline__ void BulkCopy(const Parameters& parameters) {
  extern __shared__ __align__(kStageAlignment) unsigned char ring[];
  __shared__ __align__(8) Word8 barriers[kMaxStages];
  if (threadIdx.x != 0) return;
  const Number stages = parameters.header.stages;
  for (Number stage = 0; stage < stages; ++stage) {
    InitBarrier(SharedAddress(&barriers[stage]));
  }
  // The bulk copies must see the barriers.
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  const Number ring_address = SharedAddress(ring);
  const Number barriers_address = SharedAddress(barriers);
  if (stages >= 8) {
    RunRing<4>(parameters, ring_address, barriers_address);
  } else if (stages >= 4) {
    RunRing<2>(parameters, ring_address, barriers_address);
  } else {
    RunRing<1>(parameters, ring_address, barriers_address);
  }
}

}  // namespace kvswap::kernels

#endif  // KVSWAP_KERNELS_BULK_COPY_H_
