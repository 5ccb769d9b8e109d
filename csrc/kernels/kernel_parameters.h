// The parameters of the copy kernels: read by the device, written by the kernel
// engine, understood by the simulated driver's host build of the kernels.
//
// The descriptors ride in the launch parameters themselves. No buffer has to be
// filled, kept or synchronised with, a captured launch keeps its own copy, and
// the caller's arrays are free when the launch call returns.

#ifndef KVSWAP_KERNELS_KERNEL_PARAMETERS_H_
#define KVSWAP_KERNELS_KERNEL_PARAMETERS_H_

namespace kvswap::kernels {

// NVRTC has no <cstdint>.
using Address = unsigned long long;
using Size = unsigned long long;
using Number = unsigned int;

// Most bytes of parameters that a kernel can have: since CUDA 12.1 (compute
// capability 7.0 and newer), and before. Source: CUDA C++ Programming Guide,
// "Function Parameters" of __global__ functions.
inline constexpr Number kLargeParameterBytes = 32764;
inline constexpr Number kSmallParameterBytes = 4096;

struct CopyHeader {
  // Of compact items, which have offsets in units of 1 << unit_shift bytes.
  Address source_base;
  Address destination_base;
  Size size;     // of every compact item, in bytes
  Number count;  // of items
  Number unit_shift;
  Number stages;       // the bulk kernel's ring
  Number stage_bytes;  // of a stage
  Number reserved[2];
};

// A copy of the size in the header, inside windows of 2^32 units from the bases
// on: a third of the bytes of a sized item, and the bytes of the parameters are
// what a launch costs.
struct CompactCopy {
  Number source;
  Number destination;
};

struct SizedCopy {
  Address source;
  Address destination;
  Size size;
};

// The parameter of a kernel with room for `parameter_bytes`.
template <typename Item, Number parameter_bytes>
struct CopyParameters {
  static constexpr Number kCapacity =
      (parameter_bytes - sizeof(CopyHeader)) / sizeof(Item);

  CopyHeader header;
  Item items[kCapacity];
};

static_assert(sizeof(CopyHeader) == 48);
static_assert(CopyParameters<CompactCopy, kLargeParameterBytes>::kCapacity ==
              4089);
static_assert(CopyParameters<SizedCopy, kLargeParameterBytes>::kCapacity ==
              1363);

// The bulk kernel's ring.
inline constexpr Number kMinStages = 2;
inline constexpr Number kMaxStages = 32;
inline constexpr Number kStageAlignment = 128;
// Most bytes of all stages: what a CTA can have of shared memory on the GPU
// that has most (compute capability 9.0 and 10.0, 227 KiB), less a barrier of 8
// bytes for each stage. Source: CUDA C++ Programming Guide, "Compute
// Capabilities".
inline constexpr Number kMaxRingBytes = 227 * 1024 - 8 * kMaxStages;
// What cp.async.bulk demands of addresses and sizes. Source: PTX ISA,
// "cp.async.bulk".
inline constexpr Number kBulkAlignment = 16;

// KERNEL(name, Item, parameter_bytes): every kernel, by the name that it has in
// the images. Kernels of one size of parameters share an image.
#define KVSWAP_PLAIN_KERNELS(KERNEL, suffix, parameter_bytes)         \
  KERNEL(kvswap_plain_compact_##suffix, CompactCopy, parameter_bytes) \
  KERNEL(kvswap_plain_sized_##suffix, SizedCopy, parameter_bytes)
#define KVSWAP_BULK_KERNELS(KERNEL, suffix, parameter_bytes)         \
  KERNEL(kvswap_bulk_compact_##suffix, CompactCopy, parameter_bytes) \
  KERNEL(kvswap_bulk_sized_##suffix, SizedCopy, parameter_bytes)

}  // namespace kvswap::kernels

#endif  // KVSWAP_KERNELS_KERNEL_PARAMETERS_H_
