#include "csrc/engine/advice.h"

namespace kvswap::engine {
namespace {

// In which calls a row holds.
enum class Asked {
  kAny,
  kAuto,  // the engine auto was asked for
  kIt,    // the very engine that did not run
};

struct Row {
  int reason;
  Asked asked;
  bool only_without_loop;  // what ran instead is as fast
  Advice advice;
};

constexpr char kUpdateForKernels[] =
    "Update the NVIDIA driver to one for CUDA 12.0 or newer, best 12.8";
constexpr char kUpdateForBatch[] =
    "Update the NVIDIA driver to one for CUDA 12.8 or newer";

// The first row that holds is the advice. The last of a reason holds always.
constexpr Row kTable[] = {
    {KVSWAP_REASON_NO_BATCH_SYMBOL,
     Asked::kAny,
     false,
     {KVSWAP_LOG_WARNING, kUpdateForBatch}},
    {KVSWAP_REASON_LEGACY_STREAM,
     Asked::kAny,
     true,
     {KVSWAP_LOG_INFO, "The bridge is as fast: nothing needs to be done"}},
    {KVSWAP_REASON_LEGACY_STREAM,
     Asked::kIt,
     false,
     {KVSWAP_LOG_WARNING,
      "Pass a created stream (in torch: torch.cuda.Stream()), or leave the "
      "engine to auto"}},
    {KVSWAP_REASON_LEGACY_STREAM,
     Asked::kAny,
     false,
     {KVSWAP_LOG_WARNING,
      "Pass a created stream (in torch: torch.cuda.Stream())"}},
    {KVSWAP_REASON_CAPTURING,
     Asked::kIt,
     false,
     {KVSWAP_LOG_INFO,
      "Leave the engine to auto, or ask for kernel: copy kernels can be "
      "captured"}},
    {KVSWAP_REASON_CAPTURING,
     Asked::kAuto,
     false,
     {KVSWAP_LOG_INFO,
      "Nothing needs to be done: these copies are nodes of the graph"}},
    {KVSWAP_REASON_CAPTURING,
     Asked::kAny,
     false,
     {KVSWAP_LOG_INFO,
      "These copies are nodes of the graph; another line says what stood "
      "against the engine that was asked for"}},
    {KVSWAP_REASON_SOURCE_ACCESS,
     Asked::kAny,
     false,
     {KVSWAP_LOG_INFO, "Use stream access"}},
    {KVSWAP_REASON_NOT_REACHABLE,
     Asked::kAny,
     false,
     {KVSWAP_LOG_WARNING,
      "Pin or register host memory; enable peer access between GPUs"}},
    {KVSWAP_REASON_NO_KERNEL_ENTRY,
     Asked::kAny,
     false,
     {KVSWAP_LOG_WARNING, kUpdateForKernels}},
    {KVSWAP_REASON_NO_KERNEL_IMAGE,
     Asked::kAny,
     false,
     // Of which the line on the GPU warns.
     {KVSWAP_LOG_INFO,
      "The report on copy kernels says what to do (kvswap.kernel_info() in "
      "Python, kvswap_get_kernel_info() in C)"}},
    {KVSWAP_REASON_LAUNCH_FAILED,
     Asked::kAny,
     false,
     {KVSWAP_LOG_WARNING,
      "If calls go on like this, ask for the engine batch"}},
    {KVSWAP_REASON_NOT_LEGACY_STREAM,
     Asked::kAny,
     false,
     {KVSWAP_LOG_INFO, "Leave the engine to auto, or ask for batch"}},
    {KVSWAP_REASON_NO_BRIDGE,
     Asked::kAny,
     false,
     {KVSWAP_LOG_WARNING,
      "Pass a created stream (in torch: torch.cuda.Stream())"}},
    // Of reasons that this table lacks.
    {KVSWAP_REASON_NONE,
     Asked::kAny,
     false,
     {KVSWAP_LOG_INFO, "Leave the engine to auto"}},
};
constexpr std::size_t kRows = sizeof(kTable) / sizeof(kTable[0]);
static_assert(kRows <= kMostAdvices);

constexpr bool HasRow(int reason) {
  for (const Row& row : kTable) {
    if (row.reason == reason && row.asked == Asked::kAny &&
        !row.only_without_loop) {
      return true;
    }
  }
  return false;
}

constexpr bool HasAllRows() {
  for (int reason = KVSWAP_REASON_NONE; reason <= KVSWAP_REASON_NO_BRIDGE;
       ++reason) {
    if (!HasRow(reason)) return false;
  }
  return true;
}
static_assert(HasAllRows());

bool Holds(const Row& row, int engine, int asked_for, bool uses_loop) {
  if (row.only_without_loop && uses_loop) return false;
  switch (row.asked) {
    case Asked::kAuto:
      return asked_for == KVSWAP_ENGINE_AUTO;
    case Asked::kIt:
      return asked_for == engine;
    case Asked::kAny:
      break;
  }
  return true;
}

}  // namespace

const Advice& AdviceOn(int reason, int engine, int asked_for, bool uses_loop) {
  for (const Row& row : kTable) {
    if (row.reason == reason && Holds(row, engine, asked_for, uses_loop)) {
      return row.advice;
    }
  }
  return kTable[kRows - 1].advice;
}

std::size_t PositionOf(const Advice& advice) {
  for (std::size_t i = 0; i < kRows; ++i) {
    if (&kTable[i].advice == &advice) return i;
  }
  return 0;
}

}  // namespace kvswap::engine
