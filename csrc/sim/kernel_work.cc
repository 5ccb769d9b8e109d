#include "csrc/sim/kernel_work.h"

#include <cstdint>
#include <string>

#include "csrc/sim/driver.h"
#include "csrc/sim/host_memory.h"
#include "csrc/sim/reach.h"
#include "csrc/sim/report.h"

namespace kvswap::sim {
namespace {

// What a running kernel may touch, and how it ended.
class Execution {
 public:
  Execution(Driver& driver, const Context& context)
      : driver_(driver), context_(context) {}

  Result failure() const { return failure_; }
  const std::string& why() const { return why_; }

  void Fail(Result code, std::string why) {
    if (failure_ != abi::kSuccess) return;
    failure_ = code;
    why_ = std::move(why);
  }

  void* Reach(std::uint64_t address, Access access, std::size_t* size) {
    // After its first mistake a kernel reaches nothing any more.
    if (failure_ != abi::kSuccess) return nullptr;
    const std::string refusal = Refusal(address, access);
    if (!refusal.empty()) {
      Fail(abi::kErrorIllegalAddress,
           (access == Access::kRead ? "it read " : "it wrote ") +
               Hexadecimal(address) + ", " + refusal);
      return nullptr;
    }
    const Piece piece = driver_.addresses.PieceAt(address, SIZE_MAX - address);
    if (piece.kind == Piece::Kind::kUser &&
        !host_memory_.Accessible(reinterpret_cast<std::uint64_t>(piece.data),
                                 piece.size, access)) {
      DieBySegmentationFault(
          "registered host memory went away while a kernel used it: " +
          Hexadecimal(address));
    }
    *size = piece.size;
    return piece.data;
  }

 private:
  // Why the kernel may not touch an address; empty where it may.
  std::string Refusal(std::uint64_t address, Access access) {
    const Range* range = driver_.addresses.Find(address);
    if (range == nullptr) return "which is no memory of the driver's";
    if (range->device_base != range->base && address >= range->base &&
        address < range->end()) {
      return "a host address that the device does not have: its own address "
             "of this registration is another one";
    }
    const Mapping* mapping = range->FindMapping(address);
    if (range->kind == RangeKind::kReservation && mapping == nullptr) {
      return "which is reserved and not mapped";
    }
    if (!Reaches(context_, *range, mapping)) {
      return "memory that device " + std::to_string(context_.device) +
             " has no access to";
    }
    if (access == Access::kRead) return "";
    if (mapping != nullptr &&
        mapping->AccessOf(context_.device) != kMemAccessReadWrite) {
      return "a mapping for reading only";
    }
    if (range->kind == RangeKind::kRegistered &&
        (range->flags & kHostRegisterReadOnly) != 0) {
      return "which is registered for reading only";
    }
    return "";
  }

  Driver& driver_;
  const Context& context_;
  HostMemoryMap host_memory_;
  Result failure_ = abi::kSuccess;
  std::string why_;
};

void* Reach(void* execution, std::uint64_t address, int writes,
            std::size_t* size) {
  return static_cast<Execution*>(execution)->Reach(
      address, writes != 0 ? Access::kWrite : Access::kRead, size);
}

void Fail(void* execution, int code, const char* why) {
  static_cast<Execution*>(execution)->Fail(static_cast<Result>(code), why);
}

}  // namespace

void KernelWork::Run(Driver& driver) const {
  const std::string& name = function_->kernel.name;
  const std::shared_ptr<Context> context = function_->module->context;
  if (context == nullptr) {
    driver.Violation("a launch of " + name +
                     " was to run after its module had been unloaded");
    return;
  }
  if (context->failure != abi::kSuccess) return;
  Execution execution(driver, *context);
  cuda_sim_launch launch = {};
  for (std::size_t i = 0; i < shape_.grid.size(); ++i) {
    launch.grid[i] = shape_.grid[i];
    launch.block[i] = shape_.block[i];
  }
  launch.shared_bytes = shape_.shared_bytes;
  launch.parameters = parameters_.data();
  launch.reach = &Reach;
  launch.fail = &Fail;
  launch.context = &execution;
  kernel_->run(&launch);
  if (execution.failure() == abi::kSuccess) return;
  context->failure = execution.failure();
  Report("kernel " + name + " ended with error " +
         std::to_string(static_cast<int>(execution.failure())) + ": " +
         execution.why() + "; its context answers with it from now on (seed " +
         std::to_string(driver.scheduler.seed()) + ")");
}

}  // namespace kvswap::sim
