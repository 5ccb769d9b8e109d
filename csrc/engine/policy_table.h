// The policies of GPU families: measured thresholds, as data.
//
// docs/engines.md tells what they were measured on, and how to measure others.

#ifndef KVSWAP_ENGINE_POLICY_TABLE_H_
#define KVSWAP_ENGINE_POLICY_TABLE_H_

#include <cstddef>

#include "csrc/kvswap.h"

namespace kvswap::engine {

inline constexpr std::size_t kKiB = 1024;

constexpr kvswap_policy_rule CopyEngineRule(int direction, int priority,
                                            std::size_t max_size,
                                            std::size_t min_count) {
  return {direction,
          priority,
          KVSWAP_ENGINE_AUTO,
          0,
          max_size,
          min_count,
          KVSWAP_ENGINE_BATCH,
          KVSWAP_KERNEL_NONE,
          0,
          0,
          0,
          0};
}

constexpr kvswap_policy_rule LoopRule(int direction, std::size_t max_size,
                                      std::size_t min_count) {
  return {direction,
          -1,
          KVSWAP_ENGINE_AUTO,
          0,
          max_size,
          min_count,
          KVSWAP_ENGINE_LOOP,
          KVSWAP_KERNEL_NONE,
          0,
          0,
          0,
          0};
}

constexpr kvswap_policy_rule PlainRule(int direction, int priority,
                                       int copy_engine, std::size_t max_size,
                                       std::size_t min_count, int ctas,
                                       int threads) {
  return {direction,
          priority,
          copy_engine,
          0,
          max_size,
          min_count,
          KVSWAP_ENGINE_KERNEL,
          KVSWAP_KERNEL_PLAIN,
          ctas,
          threads,
          0,
          0};
}

constexpr kvswap_policy_rule BulkRule(int direction, int priority,
                                      int copy_engine, std::size_t max_size,
                                      std::size_t min_count, int ctas,
                                      int stages, int stage_bytes) {
  return {direction,
          priority,
          copy_engine,
          0,
          max_size,
          min_count,
          KVSWAP_ENGINE_KERNEL,
          KVSWAP_KERNEL_BULK,
          ctas,
          32,
          stages,
          stage_bytes};
}

inline constexpr int kH2D = KVSWAP_DIRECTION_HOST_TO_DEVICE;
inline constexpr int kD2H = KVSWAP_DIRECTION_DEVICE_TO_HOST;
inline constexpr int kD2D = KVSWAP_DIRECTION_DEVICE_TO_DEVICE;
inline constexpr int kH2H = KVSWAP_DIRECTION_HOST_TO_HOST;
inline constexpr int kThroughput = KVSWAP_PRIORITY_THROUGHPUT;
inline constexpr int kCompute = KVSWAP_PRIORITY_COMPUTE;
inline constexpr int kAny = -1;

// Measured on an H200 (PCIe 5 x16, driver 580). Rules are read from the top.
inline constexpr kvswap_policy_rule kHopperRules[] = {
    // Host to host is no work for a GPU's kernel.
    CopyEngineRule(kH2H, kAny, 0, 0),
    // Beside computation: few CTAs, or the copy engines.
    BulkRule(kD2H, kCompute, KVSWAP_ENGINE_AUTO, 48 * kKiB, 4, 2, 8, 8192),
    PlainRule(kH2D, kCompute, KVSWAP_ENGINE_AUTO, 12 * kKiB, 4, 1, 1024),
    CopyEngineRule(kAny, kCompute, 0, 5),
    // A few copies: a call for each is the quickest.
    PlainRule(kH2D, kThroughput, KVSWAP_ENGINE_AUTO, 48 * kKiB, 4, 16, 1024),
    PlainRule(kD2H, kThroughput, KVSWAP_ENGINE_AUTO, 96 * kKiB, 4, 16, 1024),
    PlainRule(kD2D, kThroughput, KVSWAP_ENGINE_AUTO, 1024 * kKiB, 4, 528, 1024),
    PlainRule(kAny, kThroughput, KVSWAP_ENGINE_LOOP, 1024 * kKiB, 4, 16, 1024),
    CopyEngineRule(kAny, kAny, 0, 5),
    LoopRule(kAny, 0, 0),
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_POLICY_TABLE_H_
