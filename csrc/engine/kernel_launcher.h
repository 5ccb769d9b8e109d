// The kernel engine: packs copies into launch parameters and launches.

#ifndef KVSWAP_ENGINE_KERNEL_LAUNCHER_H_
#define KVSWAP_ENGINE_KERNEL_LAUNCHER_H_

#include <cstddef>
#include <cstdint>

#include "csrc/abi/cuda_driver_types.h"
#include "csrc/driver/driver_table.h"
#include "csrc/engine/copies.h"
#include "csrc/engine/kernel_module.h"
#include "csrc/engine/span.h"
#include "csrc/kernels/kernel_parameters.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// How a kernel is launched: the part of a policy's rule that says so.
struct LaunchShape {
  kvswap_kernel kernel = KVSWAP_KERNEL_PLAIN;
  unsigned ctas = 16;
  unsigned threads = 1024;
  unsigned stages = 0;
  unsigned stage_bytes = 0;

  bool operator==(const LaunchShape& other) const {
    return kernel == other.kernel && ctas == other.ctas &&
           threads == other.threads && stages == other.stages &&
           stage_bytes == other.stage_bytes;
  }
};

// Launches for one call. Every launch holds as many copies as its parameters
// have room for.
class KernelLauncher {
 public:
  // `launches` is false to count them only.
  KernelLauncher(const driver::DriverTable& table, const KernelModule& module,
                 abi::Stream stream, bool launches);

  // Begins a group of `count` copies, of which `span` tells, with one shape.
  void Begin(const LaunchShape& shape, const CopySpan& span, std::size_t count);

  // Adds copies of the group from the first of `copies` on, launching whenever
  // the parameters are full. The CUresult of a launch that was refused.
  int Add(const Descriptors& copies);

  // Launches what is left of the group.
  int Flush();

  // Copies of the group, from the first on, that are wholly in launches that
  // were accepted.
  std::size_t accepted() const { return accepted_; }
  // Launches of all groups.
  std::size_t launch_count() const { return launch_count_; }

 private:
  template <kernels::Number parameter_bytes>
  struct Form {
    using Compact =
        kernels::CopyParameters<kernels::CompactCopy, parameter_bytes>;
    using Sized = kernels::CopyParameters<kernels::SizedCopy, parameter_bytes>;
  };
  using Small = Form<kernels::kSmallParameterBytes>;
  using Large = Form<kernels::kLargeParameterBytes>;

  // The parameters of the launch that is being filled. Forms begin alike: with
  // the header, then the items.
  union Parameters {
    Large::Compact compact;
    Large::Sized sized;
  };

  int AddWhole(const Descriptors& copies);
  int AddInPieces(const Descriptors& copies);
  int AddPiece(std::uint64_t source, std::uint64_t destination,
               std::size_t size);
  int Launch();

  const driver::DriverTable& table_;
  const KernelModule& module_;
  const abi::Stream stream_;
  const bool launches_;

  LaunchShape shape_;
  bool is_compact_ = false;
  bool is_bulk_ = false;
  kernels::CopyHeader header_ = {};
  std::size_t piece_bytes_ = 0;  // longer copies are made in pieces; 0: none is
  std::size_t capacity_ = 0;     // items of a launch
  std::size_t small_capacity_ = 0;
  std::size_t room_ = 0;  // items of the launch that is being filled
  std::size_t filled_ = 0;
  std::size_t added_ = 0;  // copies of the group, wholly in items
  std::size_t accepted_ = 0;
  std::size_t launch_count_ = 0;
  Parameters parameters_;  // 32 KB, of which no more is touched than is filled
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_KERNEL_LAUNCHER_H_
