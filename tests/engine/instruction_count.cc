// Counts the instructions a block of libkvswap.so's calls, on a driver that
// does nothing.
//
//   instruction_count --library=PATH --driver=PATH [--check] [--steps]
//
// Per block: the difference between calls of 8,192 and of 4,096 blocks, divided
// by 4,096, so that what a call costs once does not count. --check: only the
// rows that have a bound, and the exit status is 1 where one is above it.
// --steps: count by single steps even where the processor's counter is
// permitted.

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "csrc/kvswap.h"
#include "tests/engine/instruction_counter.h"
#include "tests/engine/noop_driver.h"

namespace kvswap::tests {
namespace {

// ---------------------------------------------------------------------------
// What is counted, and the bounds
// ---------------------------------------------------------------------------

enum class Function { kPlan, kSwap };

enum class Pattern {
  kScattered,  // blocks of a GPU in random order, of the host one after another
  kContiguous,  // both one after another
  kSized        // scattered, and no two neighbours of one size
};

struct Row {
  const char* name;
  Function function;
  Pattern pattern;
  std::size_t block_bytes;
  kvswap_engine engine;
  double bound;  // instructions a block at most; 0: none
};

constexpr std::size_t kKiB = 1024;

// clang-format off
constexpr Row kRows[] = {
    {"plan, 64 KiB, scattered",    Function::kPlan, Pattern::kScattered,  64 * kKiB, KVSWAP_ENGINE_AUTO,   90},
    {"plan, 4 KiB, scattered",     Function::kPlan, Pattern::kScattered,   4 * kKiB, KVSWAP_ENGINE_AUTO,   30},
    {"plan, 64 KiB, contiguous",   Function::kPlan, Pattern::kContiguous, 64 * kKiB, KVSWAP_ENGINE_AUTO,    0},
    {"plan, sizes differ",         Function::kPlan, Pattern::kSized,      64 * kKiB, KVSWAP_ENGINE_AUTO,    0},
    {"swap, auto, 64 KiB",         Function::kSwap, Pattern::kScattered,  64 * kKiB, KVSWAP_ENGINE_AUTO,    0},
    {"swap, auto, 4 KiB",          Function::kSwap, Pattern::kScattered,   4 * kKiB, KVSWAP_ENGINE_AUTO,   40},
    {"swap, batch",                Function::kSwap, Pattern::kScattered,  64 * kKiB, KVSWAP_ENGINE_BATCH,   0},
    {"swap, loop",                 Function::kSwap, Pattern::kScattered,  64 * kKiB, KVSWAP_ENGINE_LOOP,    0},
    {"swap, kernel",               Function::kSwap, Pattern::kScattered,  64 * kKiB, KVSWAP_ENGINE_KERNEL,  0},
    {"swap, kernel, sizes differ", Function::kSwap, Pattern::kSized,      64 * kKiB, KVSWAP_ENGINE_KERNEL,  0},
};
// clang-format on

constexpr std::size_t kFewBlocks = 4096;
constexpr std::size_t kManyBlocks = 8192;

// ---------------------------------------------------------------------------
// Calls
// ---------------------------------------------------------------------------

struct Library {
  decltype(&kvswap_plan_blocks_batch) plan;
  decltype(&kvswap_swap_blocks_batch) swap;
};

template <typename Symbol>
void Find(void* library, const char* name, Symbol* symbol) {
  *symbol = reinterpret_cast<Symbol>(dlsym(library, name));
  if (*symbol == nullptr) throw std::runtime_error(dlerror());
}

Library LoadLibrary(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  Library library = {};
  Find(handle, "kvswap_plan_blocks_batch", &library.plan);
  Find(handle, "kvswap_swap_blocks_batch", &library.swap);
  return library;
}

// Blocks of the host that go to blocks of the GPU.
class Blocks {
 public:
  Blocks(Pattern pattern, std::size_t block_bytes, std::size_t count) {
    std::vector<std::size_t> places(count);
    for (std::size_t i = 0; i < count; ++i) places[i] = i;
    if (pattern != Pattern::kContiguous) Shuffle(&places);
    for (std::size_t i = 0; i < count; ++i) {
      sources_.push_back(
          reinterpret_cast<void*>(kPinnedMemory + i * block_bytes));
      destinations_.push_back(
          reinterpret_cast<void*>(kDeviceMemory + places[i] * block_bytes));
      sizes_.push_back(pattern == Pattern::kSized && i % 2 == 1
                           ? block_bytes / 2
                           : block_bytes);
    }
  }

  void Call(const Library& library, const Row& row) const {
    // Any handle that no default stream has.
    static int stream;
    kvswap_options options = KVSWAP_OPTIONS_INIT;
    options.engine = row.engine;
    int status;
    if (row.function == Function::kPlan) {
      kvswap_plan plan = KVSWAP_PLAN_INIT;
      status =
          library.plan(sources_.data(), destinations_.data(), sizes_.data(),
                       sizes_.size(), &stream, &options, &plan, nullptr);
    } else {
      status =
          library.swap(sources_.data(), destinations_.data(), sizes_.data(),
                       sizes_.size(), &stream, &options, nullptr);
    }
    if (status != KVSWAP_OK) {
      throw std::runtime_error(std::string(row.name) + ": status " +
                               std::to_string(status));
    }
  }

 private:
  // Always the same order.
  static void Shuffle(std::vector<std::size_t>* places) {
    std::uint64_t random = 1;
    for (std::size_t i = places->size() - 1; i > 0; --i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      std::swap((*places)[i], (*places)[(random >> 33) % (i + 1)]);
    }
  }

  std::vector<const void*> sources_;
  std::vector<void*> destinations_;
  std::vector<std::size_t> sizes_;
};

// The quickest of many calls.
double Nanoseconds(const Library& library, const Row& row,
                   const Blocks& blocks) {
  constexpr int kRounds = 500;
  double least = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    blocks.Call(library, row);
    const std::chrono::duration<double, std::nano> time =
        std::chrono::steady_clock::now() - begin;
    if (round == 0 || time.count() < least) least = time.count();
  }
  return least;
}

// ---------------------------------------------------------------------------
// The program
// ---------------------------------------------------------------------------

struct Flags {
  std::string library;
  std::string driver;
  bool check = false;
  bool steps = false;
};

Flags ParseFlags(int argument_count, char** arguments) {
  Flags flags;
  for (int i = 1; i < argument_count; ++i) {
    const std::string argument = arguments[i];
    const auto value_of = [&](const char* flag) {
      return argument.compare(0, std::strlen(flag), flag) == 0
                 ? argument.substr(std::strlen(flag))
                 : std::string();
    };
    if (!value_of("--library=").empty()) {
      flags.library = value_of("--library=");
    } else if (!value_of("--driver=").empty()) {
      flags.driver = value_of("--driver=");
    } else if (argument == "--check") {
      flags.check = true;
    } else if (argument == "--steps") {
      flags.steps = true;
    } else {
      throw std::invalid_argument("unknown argument " + argument);
    }
  }
  if (flags.library.empty() || flags.driver.empty()) {
    throw std::invalid_argument("--library and --driver are needed");
  }
  return flags;
}

// Whether every row that has a bound is within it.
bool PrintRows(const Library& library, InstructionCounter* counter,
               bool only_bounded) {
  std::printf("counted by %s\n\n%-28s %12s %8s %10s\n", counter->name(), "call",
              "instructions", "bound", "ns");
  bool is_within = true;
  constexpr double kBlocks = kManyBlocks - kFewBlocks;
  for (const Row& row : kRows) {
    if (only_bounded && row.bound == 0) continue;
    std::int64_t instructions = 0;
    double nanoseconds = 0;
    for (const std::size_t count : {kFewBlocks, kManyBlocks}) {
      const Blocks blocks(row.pattern, row.block_bytes, count);
      const int sign = count == kManyBlocks ? 1 : -1;
      // The first calls fill what is kept from call to call.
      nanoseconds += sign * Nanoseconds(library, row, blocks);
      instructions += sign * counter->Count([&] { blocks.Call(library, row); });
    }
    const double per_block = static_cast<double>(instructions) / kBlocks;
    std::printf(
        "%-28s %12.1f %8s %10.2f", row.name, per_block,
        row.bound == 0 ? "-" : std::to_string(row.bound).substr(0, 4).c_str(),
        nanoseconds / kBlocks);
    if (per_block <= 0) {
      throw std::runtime_error("counted nothing: the counter does not work");
    }
    if (row.bound != 0 && per_block > row.bound) {
      std::printf("  above its bound");
      is_within = false;
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return is_within;
}

int Run(int argument_count, char** arguments) {
  const Flags flags = ParseFlags(argument_count, arguments);
  setenv("KVSWAP_LIBCUDA", flags.driver.c_str(), 1);
  const Library library = LoadLibrary(flags.library);
  std::unique_ptr<InstructionCounter> counter;
  if (!flags.steps) counter = MakePerfCounter();
  if (counter == nullptr) counter = MakeStepCounter();
  const bool is_within = PrintRows(library, counter.get(), flags.check);
  return is_within || !flags.check ? 0 : 1;
}

}  // namespace
}  // namespace kvswap::tests

int main(int argument_count, char** arguments) {
  try {
    return kvswap::tests::Run(argument_count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "instruction_count: %s\n", error.what());
    return 2;
  }
}
