// The copy kernels, as host code.

#ifndef KVSWAP_SIM_KERNELS_HOST_KERNELS_H_
#define KVSWAP_SIM_KERNELS_HOST_KERNELS_H_

#include <algorithm>
#include <string>
#include <vector>

#include "csrc/kernels/chunks.h"
#include "csrc/kernels/kernel_parameters.h"
#include "csrc/kernels/plain_copy.h"
#include "csrc/sim/cuda_sim_kernel.h"
#include "csrc/sim/kernels/host_memory_access.h"

namespace kvswap::kernels {

// CUresult
inline constexpr int kMisalignedAddress = 716;
inline constexpr int kLaunchFailed = 719;

// What a kernel is given.
template <typename Parameters>
const Parameters& ParametersOf(const cuda_sim_launch& launch) {
  return *static_cast<const Parameters*>(launch.parameters);
}

// Whether the items are where the parameters are. A GPU reads what lies behind.
template <typename Parameters>
bool CheckCount(const Parameters& parameters, HostMemoryAccess* memory) {
  if (parameters.header.count <= Parameters::kCapacity) return true;
  memory->Fail(kLaunchFailed, std::to_string(parameters.header.count) +
                                  " items, and the parameters have room for " +
                                  std::to_string(Parameters::kCapacity));
  return false;
}

// The memory of the plain kernel: words are aligned, as a GPU demands.
class WordMemory {
 public:
  explicit WordMemory(HostMemoryAccess* memory) : memory_(memory) {}

  template <typename Word>
  Word Load(Address address) const {
    Word word = {};
    if (CheckAlignment(address, sizeof word)) {
      memory_->Read(address, &word, sizeof word);
    }
    return word;
  }
  template <typename Word>
  void Store(Address address, Word word) const {
    if (CheckAlignment(address, sizeof word)) {
      memory_->Write(address, &word, sizeof word);
    }
  }

 private:
  bool CheckAlignment(Address address, std::size_t size) const {
    if (address % size == 0) return true;
    memory_->Fail(kMisalignedAddress, "a word of " + std::to_string(size) +
                                          " bytes at an address that is no "
                                          "multiple of it");
    return false;
  }

  HostMemoryAccess* const memory_;
};

// Every thread of every CTA, one after the other.
template <typename Parameters>
void RunPlain(const cuda_sim_launch* launch) {
  const Parameters& parameters = ParametersOf<Parameters>(*launch);
  HostMemoryAccess memory(*launch);
  if (!CheckCount(parameters, &memory)) return;
  const WordMemory words(&memory);
  for (Number cta = 0; cta < launch->grid[0]; ++cta) {
    for (Number index = 0; index < launch->block[0]; ++index) {
      PlainCopy(parameters,
                Thread{index, launch->block[0], cta, launch->grid[0]}, words);
      if (memory.ended()) return;
    }
  }
}

// What the bulk kernel's ring needs. A GPU would overwrite other memory, or
// stop.
inline bool CheckRing(const CopyHeader& header, unsigned shared_bytes,
                      HostMemoryAccess* memory) {
  const Size ring = Size{header.stages} * header.stage_bytes;
  if (header.stages >= kMinStages && header.stages <= kMaxStages &&
      header.stage_bytes != 0 && header.stage_bytes % kStageAlignment == 0 &&
      ring <= shared_bytes) {
    return true;
  }
  memory->Fail(kLaunchFailed, std::to_string(header.stages) + " stages of " +
                                  std::to_string(header.stage_bytes) +
                                  " bytes in " + std::to_string(shared_bytes) +
                                  " bytes of shared memory");
  return false;
}

inline bool CheckChunk(const Chunk& chunk, HostMemoryAccess* memory) {
  if ((chunk.source | chunk.destination | chunk.size) % kBulkAlignment == 0) {
    return true;
  }
  memory->Fail(
      kMisalignedAddress,
      "a bulk copy whose addresses and size are not all multiples of " +
          std::to_string(kBulkAlignment));
  return false;
}

// Every CTA, one after the other: its chunks, through a stage each.
template <typename Parameters>
void RunBulk(const cuda_sim_launch* launch) {
  const Parameters& parameters = ParametersOf<Parameters>(*launch);
  HostMemoryAccess memory(*launch);
  if (!CheckCount(parameters, &memory) ||
      !CheckRing(parameters.header, launch->shared_bytes, &memory)) {
    return;
  }
  std::vector<char> stage(parameters.header.stage_bytes);
  for (Number cta = 0; cta < launch->grid[0]; ++cta) {
    Chunks<Parameters> chunks(parameters, cta, launch->grid[0]);
    for (Chunk chunk = chunks.Next(); chunk.size != 0; chunk = chunks.Next()) {
      if (!CheckChunk(chunk, &memory)) return;
      memory.Read(chunk.source, stage.data(), chunk.size);
      memory.Write(chunk.destination, stage.data(), chunk.size);
      if (memory.ended()) return;
    }
  }
}

}  // namespace kvswap::kernels

#endif  // KVSWAP_SIM_KERNELS_HOST_KERNELS_H_
