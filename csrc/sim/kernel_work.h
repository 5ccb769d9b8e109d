// A launch of a kernel, as work of a stream or a node of a graph.

#ifndef KVSWAP_SIM_KERNEL_WORK_H_
#define KVSWAP_SIM_KERNEL_WORK_H_

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "csrc/sim/cuda_sim_kernel.h"
#include "csrc/sim/objects.h"
#include "csrc/sim/work.h"

namespace kvswap::sim {

struct LaunchShape {
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  unsigned shared_bytes;
};

class KernelWork final : public Work {
 public:
  KernelWork(std::shared_ptr<const Function> function,
             const cuda_sim_kernel* kernel, const LaunchShape& shape,
             std::vector<char> parameters)
      : function_(std::move(function)),
        kernel_(kernel),
        shape_(shape),
        parameters_(std::move(parameters)) {}

  GraphNodeType type() const override { return kGraphNodeKernel; }
  // What the kernel must not do ends its context.
  void Run(Driver& driver) const override;

 private:
  std::shared_ptr<const Function> function_;
  const cuda_sim_kernel* kernel_;
  LaunchShape shape_;
  // A copy: the caller's is free when the launch call returns.
  std::vector<char> parameters_;
};

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_KERNEL_WORK_H_
