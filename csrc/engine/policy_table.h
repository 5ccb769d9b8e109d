// The policies of GPU families: measured thresholds, as data.
//
// docs/engines.md tells what they were measured on, and how to measure others.

#ifndef KVSWAP_ENGINE_POLICY_TABLE_H_
#define KVSWAP_ENGINE_POLICY_TABLE_H_

#include <cstddef>
#include <iterator>

#include "csrc/kvswap.h"

namespace kvswap::engine {

// ---------------------------------------------------------------------------
// What the rows below are written in
// ---------------------------------------------------------------------------

inline constexpr int kH2D = KVSWAP_DIRECTION_HOST_TO_DEVICE;
inline constexpr int kD2H = KVSWAP_DIRECTION_DEVICE_TO_HOST;
inline constexpr int kD2D = KVSWAP_DIRECTION_DEVICE_TO_DEVICE;
inline constexpr int kH2H = KVSWAP_DIRECTION_HOST_TO_HOST;
inline constexpr int kThroughput = KVSWAP_PRIORITY_THROUGHPUT;
inline constexpr int kCompute = KVSWAP_PRIORITY_COMPUTE;
inline constexpr int kBatch = KVSWAP_ENGINE_BATCH;
inline constexpr int kBridge = KVSWAP_ENGINE_BRIDGE;
inline constexpr int kLoop = KVSWAP_ENGINE_LOOP;
// For every direction, priority or copy engine; of any size.
inline constexpr int kAny = -1;
inline constexpr std::size_t kAnySize = 0;
inline constexpr std::size_t kKiB = 1024;

// What a rule says.
struct Action {
  int engine;
  int kernel = KVSWAP_KERNEL_NONE;
  int ctas = 0;
  int threads = 0;
  int stages = 0;
  int stage_bytes = 0;
};

inline constexpr Action kCopyEngines = {KVSWAP_ENGINE_BATCH};
inline constexpr Action kLoopEngine = {KVSWAP_ENGINE_LOOP};

constexpr Action Plain(int ctas, int threads) {
  return {KVSWAP_ENGINE_KERNEL, KVSWAP_KERNEL_PLAIN, ctas, threads};
}

constexpr Action Bulk(int ctas, int stages, int stage_bytes) {
  return {KVSWAP_ENGINE_KERNEL, KVSWAP_KERNEL_BULK, ctas, 32, stages,
          stage_bytes};
}

constexpr kvswap_policy_rule Rule(int direction, int priority, int copy_engine,
                                  std::size_t max_size, std::size_t min_count,
                                  Action action) {
  return {direction,
          priority,
          copy_engine == kAny ? KVSWAP_ENGINE_AUTO : copy_engine,
          0,
          max_size,
          min_count,
          action.engine,
          action.kernel,
          action.ctas,
          action.threads,
          action.stages,
          action.stage_bytes};
}

// ---------------------------------------------------------------------------
// The rules. The first one that is for a copy decides.
// ---------------------------------------------------------------------------

// clang-format off

// Compute capability 9, measured on an H200 (PCIe 5 x16, driver 580).
inline constexpr kvswap_policy_rule kHopperRules[] = {
    //   direction priority copy engine  max size min count, then what to do
    // Host to host is no work for a GPU's kernel.
    Rule(kH2H, kAny,        kAny,        kAnySize,    2, kCopyEngines),
    // Beside computation: few CTAs, or the copy engines.
    Rule(kD2H, kCompute,    kAny,       12 * kKiB,    8, Plain(2, 768)),
    Rule(kD2H, kCompute,    kAny,       48 * kKiB,    8, Bulk(2, 10, 8192)),
    Rule(kH2D, kCompute,    kAny,       48 * kKiB,    4, Plain(2, 1024)),
    Rule(kAny, kCompute,    kAny,        kAnySize,    2, kCopyEngines),
    // Many small copies: the kernel.
    Rule(kH2D, kThroughput, kAny,        1 * kKiB,    4, Plain(16, 1024)),
    Rule(kH2D, kThroughput, kAny,       16 * kKiB,    4, Bulk(16, 8, 4096)),
    Rule(kH2D, kThroughput, kBatch,      8 * kKiB,    2, kLoopEngine),
    Rule(kH2D, kThroughput, kBatch,     16 * kKiB,    2, Bulk(16, 8, 4096)),
    Rule(kH2D, kThroughput, kAny,       32 * kKiB,   12, Bulk(16, 8, 4096)),
    Rule(kH2D, kThroughput, kBatch,     64 * kKiB, 2048, kCopyEngines),
    Rule(kH2D, kThroughput, kBridge,    64 * kKiB, 2048, kCopyEngines),
    Rule(kH2D, kThroughput, kBatch,    128 * kKiB, 1024, kCopyEngines),
    Rule(kH2D, kThroughput, kBridge,   128 * kKiB, 1024, kCopyEngines),
    Rule(kH2D, kThroughput, kAny,       64 * kKiB,   16, Bulk(16, 8, 4096)),
    Rule(kH2D, kThroughput, kAny,      128 * kKiB,   32, Bulk(16, 8, 4096)),
    Rule(kD2H, kThroughput, kAny,        1 * kKiB,    8, Plain(16, 1024)),
    Rule(kD2H, kThroughput, kAny,        8 * kKiB,    8, Bulk(16, 8, 4096)),
    Rule(kD2H, kThroughput, kAny,      128 * kKiB,   12, Bulk(16, 8, 4096)),
    // Many larger ones go by the copy engines: a little behind the kernel, and
    // with copies in the other direction at the same time far ahead of it.
    Rule(kD2H, kThroughput, kBatch,    256 * kKiB,  128, kCopyEngines),
    Rule(kD2H, kThroughput, kBatch,    256 * kKiB,   48, Bulk(16, 8, 4096)),
    Rule(kD2D, kThroughput, kAny,      512 * kKiB,    2, Bulk(264, 8, 8192)),
    Rule(kD2D, kThroughput, kAny,     1024 * kKiB,    4, Bulk(264, 8, 8192)),
    Rule(kD2D, kThroughput, kAny,     8192 * kKiB,    8, Bulk(264, 8, 8192)),
    // Where the alternative is a call for each.
    Rule(kAny, kThroughput, kLoop,     128 * kKiB,    2, Bulk(16, 8, 4096)),
    Rule(kAny, kThroughput, kLoop,     512 * kKiB,    8, Bulk(16, 8, 4096)),
    Rule(kAny, kThroughput, kLoop,    1024 * kKiB,   16, Bulk(16, 8, 4096)),
    Rule(kAny, kAny,        kAny,        kAnySize,    2, kCopyEngines),
    // One copy: a call for it is the quickest.
    Rule(kAny, kAny,        kAny,        kAnySize,    0, kLoopEngine),
};

// Other GPUs: not measured. The plain kernel with the numbers that it has on an
// H200.
inline constexpr kvswap_policy_rule kOtherRules[] = {
    Rule(kH2H, kAny,        kAny,        kAnySize,    2, kCopyEngines),
    Rule(kD2H, kCompute,    kAny,       48 * kKiB,    8, Plain(2, 512)),
    Rule(kH2D, kCompute,    kAny,       48 * kKiB,    4, Plain(2, 1024)),
    Rule(kAny, kCompute,    kAny,        kAnySize,    2, kCopyEngines),
    Rule(kH2D, kThroughput, kAny,       16 * kKiB,    4, Plain(16, 1024)),
    Rule(kH2D, kThroughput, kAny,       32 * kKiB,    8, Plain(16, 1024)),
    Rule(kD2H, kThroughput, kAny,       64 * kKiB,    8, Plain(16, 1024)),
    Rule(kD2D, kThroughput, kAny,      512 * kKiB,    2, Plain(528, 128)),
    Rule(kD2D, kThroughput, kAny,     1024 * kKiB,    4, Plain(528, 128)),
    Rule(kAny, kThroughput, kLoop,     512 * kKiB,    8, Plain(16, 1024)),
    Rule(kAny, kAny,        kAny,        kAnySize,    2, kCopyEngines),
    Rule(kAny, kAny,        kAny,        kAnySize,    0, kLoopEngine),
};

// clang-format on

// The rules of a GPU family.
struct FamilyPolicy {
  int major;  // of the compute capability; kAny: every other GPU
  const kvswap_policy_rule* rules;
  std::size_t rule_count;
};

// The first one that is for a GPU. One for every other GPU comes last.
inline constexpr FamilyPolicy kFamilyPolicies[] = {
    {9, kHopperRules, std::size(kHopperRules)},
    {kAny, kOtherRules, std::size(kOtherRules)},
};

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_POLICY_TABLE_H_
